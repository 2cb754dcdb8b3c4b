"""The requirements that selectors consist of. Their text is parsed as API servers parse it, with the same error
messages.

https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors describes the grammar; the
rules for escapes in field selectors are those of apimachinery's ``fields`` package.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple

from setpoint.meta.go_integers import NumberError, parse_int
from setpoint.meta.names import label_value, qualified_name
from setpoint.meta.text_escaping import quote

Operator = Literal["=", "!=", "in", "notin", "exists", "!", ">", "<"]
_TOKEN: Final = re.compile(r"[ \t\r\n]*(?:(?P<symbol>!=|==|[=!(),<>])|(?P<word>[^=!(),<> \t\r\n]+))")
_BINARY: Final = "in, notin, =, ==, !=, gt, lt"
_OPERATORS: Final[dict[str, Operator]] = {
    "=": "=",
    "==": "=",
    "!=": "!=",
    ">": ">",
    "<": "<",
    "in": "in",
    "notin": "notin",
}
_END: Final = ""
"""The token after the last one."""
_FIELD: Final = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)
_FIELD_TERM: Final = re.compile(r"((?:\\.|[^\\,])*\\?)(?:,|$)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(.?)|[,=]", re.DOTALL)


class SelectorError(ValueError):
    """A selector can't be parsed; the message says which part is wrong, and why."""


class Requirement(NamedTuple):
    """A requirement on one label key."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "=" | "in":
                return value in self.values
            case "!=" | "notin":
                return value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
            case ">" | "<":
                return _compares(value, self.operator, next(iter(self.values)))

    def __str__(self) -> str:
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({','.join(sorted(self.values))})"
            case _:
                return f"{self.key}{self.operator}{next(iter(self.values))}"


def _compares(value: str | None, operator: Operator, bound: str) -> bool:
    try:
        number = parse_int(value or "")
    except NumberError:
        return False
    return number > parse_int(bound) if operator == ">" else number < parse_int(bound)


class FieldRequirement(NamedTuple):
    """A requirement on one field: that its value equals, or does not equal, a given value."""

    field: str
    equal: bool
    value: str


def parse_labels(text: str) -> list[Requirement]:
    """The requirements of a label selector, such as ``app=web,tier!=db,env in (a,b),!legacy,gen>3``.

    Raises:
        SelectorError: the syntax, a key or a value is not valid.
    """
    return _Labels(text).terms()


class _Labels:
    """Parses one label selector."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, bool]] = []
        """The tokens, each with a flag: whether it is a word, which may be a key, an operator or a value."""
        at = 0
        while match := _TOKEN.match(text, at):
            self._tokens.append((match["symbol"] or match["word"], match["word"] is not None))
            at = match.end()
        self._tokens.append((_END, False))
        self._at = 0

    def terms(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while True:
            symbol, word = self._ahead()
            if not word and symbol == _END:
                return requirements
            if not word and symbol != "!":
                raise SelectorError(f"found '{symbol}', expected: !, identifier, or 'end of string'")
            try:
                requirements.append(self._term())
            except SelectorError as problem:
                raise SelectorError(f"unable to parse requirement: {problem}") from None
            symbol, _ = self._next()
            if symbol == _END:
                return requirements
            if symbol != ",":
                raise SelectorError(f"found '{symbol}', expected: ',' or 'end of string'")
            symbol, word = self._ahead()
            if not word and symbol != "!":
                raise SelectorError(f"found '{symbol}', expected: identifier after ','")

    def _ahead(self) -> tuple[str, bool]:
        return self._tokens[self._at]

    def _next(self) -> tuple[str, bool]:
        self._at += 1
        return self._tokens[self._at - 1]

    def _term(self) -> Requirement:
        key, word = self._next()
        negated = key == "!" and not word
        if negated:
            key, word = self._next()
        if not word:
            raise SelectorError(f"found '{key}', expected: identifier")
        if problems := qualified_name(key):
            raise SelectorError(_invalid("<nil>", key, problems))
        if negated or self._ahead()[0] in (_END, ","):
            return checked(key, "!" if negated else "exists", ())
        symbol, _ = self._next()
        operator = _OPERATORS.get(symbol)
        if operator is None:
            raise SelectorError(f"found '{symbol}', expected: {_BINARY}")
        return checked(key, operator, self._set() if operator in ("in", "notin") else (self._value(),))

    def _value(self) -> str:
        if self._ahead()[0] in (_END, ","):
            return ""
        symbol, word = self._next()
        if not word:
            raise SelectorError(f"found '{symbol}', expected: identifier")
        return symbol

    def _set(self) -> set[str]:
        symbol, _ = self._next()
        if symbol != "(":
            raise SelectorError(f"found '{symbol}' expected: '('")
        symbol, word = self._ahead()
        if symbol == ")":
            self._next()
            return {""}
        if not word and symbol != ",":
            raise SelectorError(f"found '{symbol}', expected: ',', ')' or identifier")
        values: set[str] = set()
        while True:
            symbol, word = self._next()
            if not word and symbol != ",":
                raise SelectorError(f"found '{symbol}', expected: ',', or identifier")
            after, _ = self._ahead()
            if word:
                values.add(symbol)
                if after not in (",", ")"):
                    raise SelectorError(f"found '{after}', expected: ',' or ')'")
            elif not values or after in (",", ")"):
                values.add("")
            if after == ")":
                self._next()
                return values


def checked(key: str, operator: Operator, values: Iterable[str]) -> Requirement:
    """The requirement with this key, operator and values.

    Raises:
        SelectorError: the key or a value is not valid.
    """
    ordered = sorted(values)
    problems: list[str] = []
    if wrong := qualified_name(key):
        problems.append(_invalid("key", key, wrong))
    if operator in (">", "<"):
        for index, value in enumerate(ordered):
            try:
                parse_int(value)
            except NumberError:
                reason = "for 'Gt', 'Lt' operators, the value must be an integer"
                problems.append(_invalid(f"values[{index}]", value, (reason,)))
    for index, value in enumerate(ordered):
        if wrong := label_value(value):
            problems.append(_invalid(f"values[{index}][{key}]", value, wrong))
    if problems:
        raise SelectorError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    return Requirement(key, operator, frozenset(ordered))


def _invalid(path: str, value: str, problems: Iterable[str]) -> str:
    return f"{path}: Invalid value: {quote(value)}: {'; '.join(problems)}"


def parse_fields(text: str) -> list[FieldRequirement]:
    """The requirements of a field selector, such as ``metadata.name=web,status.phase!=Running``; values may contain
    ``\\,``, ``\\=`` and ``\\\\``.

    Raises:
        SelectorError: a part has no operator, or an escape is missing or not valid.
    """
    requirements: list[FieldRequirement] = []
    for part in sorted(_FIELD_TERM.findall(text)):
        if not part:
            continue
        match = _FIELD.fullmatch(part)
        if match is None:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{part}'")
        requirements.append(FieldRequirement(match[1], match[2] != "!=", _ESCAPE.sub(_unescaped, match[3])))
    return requirements


def _unescaped(match: re.Match[str]) -> str:
    if match[1] is None:
        raise SelectorError(f"invalid field selector: unescaped character in value: {ord(match[0])}")
    if match[1] not in ("\\", ",", "="):
        raise SelectorError(f"invalid field selector: invalid escape sequence: {match[0]}")
    return match[1]
