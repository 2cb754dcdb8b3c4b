"""Label and field selectors: parsed once, matched often."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from msgspec import Struct, field

from setpoint.meta.names import label_value, qualified_name
from setpoint.meta.numbers import NumberError, parse_int

Operator = Literal["=", "!=", "in", "notin", "exists", "!", ">", "<"]
_SET = re.compile(r"^(?P<key>[^\s!=<>(),]+)\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)$")
_EQUALITY = re.compile(r"^(?P<key>[^\s!=<>(),]+)\s*(?P<op>==|=|!=|>|<)\s*(?P<value>[^\s!=<>(),]*)$")
_EXISTS = re.compile(r"^(?P<no>!?)\s*(?P<key>[^\s!=<>(),]+)$")


class SelectorError(ValueError):
    """A selector can't be parsed; the message says which part and why."""


class LabelSelectorRequirement(Struct, kw_only=True, omit_defaults=True):
    """One of ``matchExpressions``: operator ``In``, ``NotIn``, ``Exists`` or ``DoesNotExist``."""

    key: str
    operator: str
    values: list[str] = []


class LabelSelector(Struct, kw_only=True, omit_defaults=True):
    """A label selector in an object's spec. An empty one selects everything; requirements are ANDed."""

    match_labels: dict[str, str] = field(name="matchLabels", default={})
    match_expressions: list[LabelSelectorRequirement] = field(name="matchExpressions", default=[])


class Requirement(NamedTuple):
    """One requirement on one label key."""

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


class Selector:
    """Requirements on labels, all of which must hold. The empty selector matches everything.

    Equal selectors (after sorting) compare and hash equal, so they can name a shared informer.
    """

    __slots__ = ("requirements",)

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        self.requirements = tuple(sorted(requirements, key=str))

    @classmethod
    def parse(cls, text: str) -> Selector:
        """Parses kubectl's form: ``app=web,tier!=db,env in (a,b),!legacy,gen>3``.

        Raises:
            SelectorError: the syntax, a key or a value is not valid.
        """
        return cls(_parse_requirement(part) for part in _split(text))

    @classmethod
    def of(cls, selector: str | Mapping[str, str] | LabelSelector | Selector | None) -> Selector:
        """Parses any form that users write: a string, a mapping of equal labels, a `LabelSelector`; None is empty.

        Raises:
            SelectorError: the selector is not valid.
        """
        if selector is None:
            return EVERYTHING
        if isinstance(selector, Selector):
            return selector
        if isinstance(selector, str):
            return cls.parse(selector)
        if isinstance(selector, LabelSelector):
            return cls.from_label_selector(selector)
        return cls(_checked(Requirement(key, "=", frozenset((value,)))) for key, value in selector.items())

    @classmethod
    def from_label_selector(cls, selector: LabelSelector) -> Selector:
        requirements = [
            _checked(Requirement(key, "=", frozenset((value,)))) for key, value in selector.match_labels.items()
        ]
        for expression in selector.match_expressions:
            values = frozenset(expression.values)
            operators: dict[str, Operator] = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
            operator = operators.get(expression.operator)
            if operator is None:
                raise SelectorError(f"{expression.operator!r} is not a valid label selector operator")
            if (operator in ("in", "notin")) != bool(values):
                raise SelectorError(f"values of {expression.key!r} must be given for In and NotIn and only for them")
            requirements.append(_checked(Requirement(expression.key, operator, values)))
        return cls(requirements)

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        labels = labels or {}
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __bool__(self) -> bool:
        return bool(self.requirements)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Selector) and self.requirements == other.requirements

    def __hash__(self) -> int:
        return hash(self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"Selector.parse({str(self)!r})"


EVERYTHING = Selector()


def _split(text: str) -> list[str]:
    """Splits at the commas that are not inside parentheses."""
    parts, depth, start = [], 0, 0
    for place, character in enumerate(text):
        if character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    parts.append(text[start:])
    stripped = [part.strip() for part in parts]
    if stripped == [""]:
        return []
    if "" in stripped:
        raise SelectorError(f"unable to parse requirement: found ',' without a requirement beside it in {text!r}")
    return stripped


def _parse_requirement(text: str) -> Requirement:
    if found := _SET.match(text):
        values = frozenset(value.strip() for value in found["values"].split(","))
        return _checked(Requirement(found["key"], "in" if found["op"] == "in" else "notin", values))
    if found := _EXISTS.match(text):
        return _checked(Requirement(found["key"], "!" if found["no"] else "exists"))
    if found := _EQUALITY.match(text):
        operator: Operator
        match found["op"]:
            case "!=":
                operator = "!="
            case ">":
                operator = ">"
            case "<":
                operator = "<"
            case _:
                operator = "="
        return _checked(Requirement(found["key"], operator, frozenset((found["value"],))))
    raise SelectorError(
        f"unable to parse requirement: {text!r} is not KEY, !KEY, KEY=VALUE, KEY!=VALUE or KEY in (A,B)"
    )


def _checked(requirement: Requirement) -> Requirement:
    problems = [f"key {requirement.key!r}: {problem}" for problem in qualified_name(requirement.key)]
    if requirement.operator in (">", "<"):
        bound = next(iter(requirement.values))
        try:
            parse_int(bound)
        except NumberError:
            problems.append(f"for '>' and '<' the value must be an integer, not {bound!r}")
    else:
        for value in sorted(requirement.values):
            problems += [f"value {value!r} of {requirement.key!r}: {problem}" for problem in label_value(value)]
    if problems:
        raise SelectorError("unable to parse requirement: " + "; ".join(problems))
    return requirement


class FieldRequirement(NamedTuple):
    field: str
    equal: bool
    value: str


class FieldSelector:
    """Requirements on fields: ``metadata.name=web,status.phase!=Running``. The kind determines the fields."""

    __slots__ = ("requirements",)

    def __init__(self, requirements: Iterable[FieldRequirement] = ()) -> None:
        self.requirements = tuple(sorted(requirements))

    @classmethod
    def parse(cls, text: str) -> FieldSelector:
        """Parses ``metadata.name=web``; values may contain ``\\,``, ``\\=`` and ``\\\\``.

        Raises:
            SelectorError: a part has no operator.
        """
        return cls(_parse_field(part) for part in re.split(r"(?<!\\),", text) if part)

    @classmethod
    def of(cls, selector: str | Mapping[str, str] | FieldSelector | None) -> FieldSelector:
        if isinstance(selector, FieldSelector):
            return selector
        if selector is None or isinstance(selector, str):
            return cls.parse(selector or "")
        return cls(FieldRequirement(name, True, value) for name, value in selector.items())

    def matches(self, fields: Mapping[str, str]) -> bool:
        return all((fields.get(name, "") == value) is equal for name, equal, value in self.requirements)

    def __bool__(self) -> bool:
        return bool(self.requirements)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSelector) and self.requirements == other.requirements

    def __hash__(self) -> int:
        return hash(self.requirements)

    def __str__(self) -> str:
        return ",".join(f"{name}{'=' if equal else '!='}{_escape(value)}" for name, equal, value in self.requirements)


def _escape(value: str) -> str:
    return re.sub(r"([\\,=])", r"\\\1", value)


def _parse_field(part: str) -> FieldRequirement:
    found = re.match(r"^\s*([^!=\s]+)\s*(==|=|!=)((?:\\.|[^=\\])*)$", part)
    if not found:
        raise SelectorError(f"invalid field selector {part!r}: want FIELD=VALUE or FIELD!=VALUE")
    return FieldRequirement(found[1], found[2] != "!=", re.sub(r"\\(.)", r"\1", found[3].strip()))
