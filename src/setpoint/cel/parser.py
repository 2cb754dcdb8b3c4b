"""The parser: turns tokens into a syntax tree with expanded macros."""

from __future__ import annotations

import contextlib
import math
from typing import Any, Final

from setpoint.cel.errors import CompileError, Issue
from setpoint.cel.lexer import RESERVED, BadLiteral, Token, tokens, unquoted, unquoted_bytes
from setpoint.cel.macros import MacroError, Maker, expand
from setpoint.cel.nodes import Call, Entry, Ident, ListLiteral, Literal, MapLiteral, Node, Select, StructLiteral
from setpoint.cel.values import MAX_INT, MAX_UINT, MIN_INT, UInt

MAX_SIZE: Final = 100_000
"""The maximum number of characters in an expression."""
MAX_DEPTH: Final = 90
"""The maximum depth of nesting. The reference implementation allows 250, which is too deep for Python's
stack.
"""
MAX_CHAIN: Final = 250
"""The maximum length of a chain of binary operators (``&&`` and ``||`` don't count), or of a chain of selections,
indexes and method calls.
"""

_BINARY: Final = {
    "<": 1, "<=": 1, ">": 1, ">=": 1, "==": 1, "!=": 1, "in": 1,
    "+": 2, "-": 2,
    "*": 3, "/": 3, "%": 3,
}  # fmt: skip
_STARTS: Final = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
_CONSTANTS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}


class _Stop(Exception):
    """The parser stops here: the rest of the text can't be parsed."""


def parse(source: str) -> Node:
    """The syntax tree of an expression. Raises CompileError for a syntax error, or if the expression is too long or
    nested too deeply.
    """
    if len(source) > MAX_SIZE:
        text = f"expression code point size exceeds limit: size: {len(source)}, limit {MAX_SIZE}"
        raise CompileError(source[:80], [Issue(0, text)])
    lexemes, issues = tokens(source)
    parser = _Parser(lexemes, issues)
    node = None
    with contextlib.suppress(_Stop):
        node = parser.whole()
    if issues or node is None:
        raise CompileError(source, issues)
    return node


class _Parser:
    def __init__(self, lexemes: list[Token], issues: list[Issue]) -> None:
        self._tokens = lexemes
        self._issues = issues
        self._at = 0
        self._depth = 0
        self._make = Maker()

    def whole(self) -> Node:
        node = self._expression()
        if self._now.kind != "end":
            raise self._unexpected("<EOF>", "extraneous input '{}' expecting {}")
        return node

    # -- tokens -------------------------------------------------------------------------------------------------------

    @property
    def _now(self) -> Token:
        return self._tokens[self._at]

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at += token.kind != "end"
        return token

    def _accept(self, kind: str) -> Token | None:
        return self._next() if self._now.kind == kind else None

    def _expect(self, kind: str) -> Token:
        if self._now.kind != kind:
            raise self._unexpected(f"'{kind}'" if kind != "name" else "IDENTIFIER")
        return self._next()

    def _unexpected(self, wanted: str, form: str = "mismatched input '{}' expecting {}") -> _Stop:
        text = form.format(self._now.text, wanted)
        self._issues.append(Issue(self._now.offset, f"Syntax error: {text}"))
        return _Stop()

    def _wrong(self, offset: int, message: str) -> None:
        self._issues.append(Issue(offset, message))

    def _count(self, links: int, offset: int) -> None:
        if links > MAX_CHAIN:
            self._wrong(offset, f"expression recursion limit exceeded: {MAX_CHAIN}")
            raise _Stop

    # -- expressions --------------------------------------------------------------------------------------------------

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self._wrong(self._now.offset, f"expression recursion limit exceeded: {MAX_DEPTH}")
            raise _Stop
        condition = self._logic("||")
        if operator := self._accept("?"):
            yes = self._logic("||")
            self._expect(":")
            no = self._expression()
            condition = Call(self._make.id(), operator.offset, "_?_:_", None, [condition, yes, no])
        self._depth -= 1
        return condition

    def _logic(self, operator: str) -> Node:
        """Parses terms joined by ``||``, or by ``&&``, into one call, so long chains don't become deep trees."""
        terms = [self._logic("&&") if operator == "||" else self._binary(1)]
        offset = self._now.offset
        while self._accept(operator):
            terms.append(self._logic("&&") if operator == "||" else self._binary(1))
        if len(terms) == 1:
            return terms[0]
        return Call(self._make.id(), offset, f"_{operator}_", None, terms)

    def _binary(self, least: int) -> Node:
        left = self._unary()
        links = 0
        while (strength := _BINARY.get(self._now.kind, 0)) >= least:
            operator = self._next()
            self._count(links := links + 1, operator.offset)
            right = self._binary(strength + 1)
            name = "@in" if operator.kind == "in" else f"_{operator.kind}_"
            left = Call(self._make.id(), operator.offset, name, None, [left, right])
        return left

    def _unary(self) -> Node:
        start = self._now
        if start.kind == "-" and self._tokens[self._at + 1].kind in ("int", "float"):
            return self._member()
        if start.kind not in ("!", "-"):
            return self._member()
        times = 0
        while self._accept(start.kind):
            times += 1
        operand = self._member()
        if times % 2 == 0:
            return operand
        return Call(self._make.id(), start.offset, f"{start.kind}_", None, [operand])

    def _member(self) -> Node:
        node = self._primary()
        links = 0
        while self._now.kind in (".", "["):
            operator = self._next()
            self._count(links := links + 1, operator.offset)
            optional = self._accept("?")
            if operator.kind == "[":
                index = self._expression()
                self._expect("]")
                name = "_[?_]" if optional else "_[_]"
                node = Call(self._make.id(), operator.offset, name, None, [node, index])
                continue
            field = self._field()
            if optional:
                literal = Literal(self._make.id(), field.offset, field.text)
                node = Call(self._make.id(), operator.offset, "_?._", None, [node, literal])
            elif field.kind == "name" and self._now.kind == "(":
                opening = self._next()
                node = self._called(opening.offset, field.text, node, self._arguments())
            else:
                node = Select(self._make.id(), operator.offset, node, field.text)
        return node

    def _field(self) -> Token:
        if self._now.kind == "escaped":
            self._wrong(self._now.offset, "unsupported syntax: '`'")
            return self._next()
        return self._expect("name")

    def _primary(self) -> Node:
        token = self._now
        match token.kind:
            case "name" | ".":
                return self._named()
            case "(":
                self._next()
                node = self._expression()
                self._expect(")")
                return node
            case "[":
                return self._list()
            case "{":
                self._next()
                entries = self._entries(fields=False)
                return MapLiteral(self._make.id(), token.offset, entries)
            case "-" | "int" | "float" | "uint" | "string" | "bytes" | "true" | "false" | "null":
                return self._literal()
        raise self._unexpected(_STARTS)

    def _named(self) -> Node:
        start = self._now
        dot = "." if self._accept(".") else ""
        token = self._expect("name")
        if self._now.kind == "{" or self._is_struct():
            name = dot + token.text
            while self._accept("."):
                name += f".{self._expect('name').text}"
            brace = self._expect("{")
            return StructLiteral(self._make.id(), brace.offset, name, self._entries(fields=True))
        if token.text in RESERVED:
            self._wrong(start.offset, f"reserved identifier: {token.text}")
        if self._now.kind == "(":
            opening = self._next()
            return self._called(opening.offset, dot + token.text, None, self._arguments())
        return Ident(self._make.id(), token.offset, dot + token.text)

    def _is_struct(self) -> bool:
        """Whether at least one dot with a name follows, and then an opening brace."""
        at = self._at
        while self._tokens[at].kind == "." and self._tokens[at + 1].kind == "name":
            at += 2
        return at > self._at and self._tokens[at].kind == "{"

    def _arguments(self) -> list[Node]:
        arguments: list[Node] = []
        if self._now.kind != ")":
            arguments.append(self._expression())
            while self._accept(","):
                arguments.append(self._expression())
        self._expect(")")
        return arguments

    def _called(self, offset: int, name: str, target: Node | None, arguments: list[Node]) -> Node:
        try:
            expanded = expand(self._make.at(offset), name, target, arguments)
        except MacroError as problem:
            self._wrong(problem.offset, problem.message)
            return Literal(self._make.id(), offset, None)
        return expanded or Call(self._make.id(), offset, name, target, arguments)

    def _list(self) -> Node:
        start = self._next()
        items: list[Node] = []
        optional: set[int] = set()
        while self._now.kind != "]":
            if self._accept("?"):
                optional.add(len(items))
            items.append(self._expression())
            if not self._accept(","):
                break
        self._expect("]")
        return ListLiteral(self._make.id(), start.offset, items, frozenset(optional))

    def _entries(self, *, fields: bool) -> list[Entry]:
        entries: list[Entry] = []
        while self._now.kind != "}":
            optional = self._accept("?") is not None
            key: Any = self._field().text if fields else self._expression()
            colon = self._expect(":")
            entries.append(Entry(self._make.id(), colon.offset, key, self._expression(), optional))
            if not self._accept(","):
                break
        self._expect("}")
        return entries

    def _literal(self) -> Node:
        start = self._now
        sign = "-" if self._accept("-") else ""
        token = self._next()
        value: Any = None
        try:
            match token.kind:
                case "int":
                    value = _integer(sign + token.text, MIN_INT, MAX_INT, "int")
                case "uint":
                    value = UInt(_integer(token.text[:-1], 0, MAX_UINT, "uint"))
                case "float":
                    value = float(sign + token.text)
                    if math.isinf(value):
                        raise BadLiteral("invalid double literal")
                case "string":
                    value = unquoted(token.text)
                case "bytes":
                    value = unquoted_bytes(token.text)
                case _:
                    value = _CONSTANTS[token.kind]
        except BadLiteral as problem:
            self._wrong(start.offset, str(problem))
        return Literal(self._make.id(), start.offset, value)


def _integer(text: str, low: int, high: int, name: str) -> int:
    if len(text) > 100:  # leading zeros included
        raise BadLiteral(f"invalid {name} literal")
    value = int(text, 16 if "0x" in text else 10)
    if not low <= value <= high:
        raise BadLiteral(f"invalid {name} literal")
    return value
