"""The tokens of an expression's text, and the values of literals.

Grammar: https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from setpoint.cel.errors import Issue

RESERVED: Final = frozenset(
    (
        *("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop"),
        *("namespace", "null", "package", "return", "true", "var", "void", "while"),
    )
)
"""Reserved words, which can't be names of variables."""

_STRING: Final = (
    r'[rR]"""(?:.|\n)*?"""' r"|[rR]'''(?:.|\n)*?'''" r'|[rR]"[^"\n\r]*"' r"|[rR]'[^'\n\r]*'"
    r'|"""(?:\\(?:.|\n)|[^\\])*?"""' r"|'''(?:\\(?:.|\n)|[^\\])*?'''"
    r'|"(?:\\.|[^\\"\n\r])*"' r"|'(?:\\.|[^\\'\n\r])*'"
)  # fmt: skip
_TOKEN: Final = re.compile(
    r"(?P<space>[\t \r\n\f]+|//[^\n]*)"
    r"|(?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)"
    r"|(?P<uint>0x[0-9a-fA-F]+[uU]|\d+[uU])"
    r"|(?P<int>0x[0-9a-fA-F]+|\d+)"
    rf"|(?P<bytes>[bB](?:{_STRING}))"
    rf"|(?P<string>{_STRING})"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<escaped>`[A-Za-z0-9_.\-/ ]+`)"
    r"|(?P<operator>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])",
    re.ASCII,
)
_SIMPLE: Final = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip
_ESCAPE: Final = re.compile(
    r"\\(?:(?P<simple>[abfnrtv\\'\"`?])|[xX](?P<byte>[0-9a-fA-F]{2})|u(?P<short>[0-9a-fA-F]{4})"
    r"|U(?P<long>[0-9a-fA-F]{8})|(?P<octal>[0-3][0-7]{2}))"
)


class Token(NamedTuple):
    """One token. ``kind`` is the type of a literal (such as ``int``), ``name``, ``escaped`` (a name in backquotes),
    ``end``, or the text of the operator or keyword.
    """

    kind: str
    text: str
    offset: int


class BadLiteral(ValueError):
    """A literal has the right form but an invalid value."""


def tokens(source: str) -> tuple[list[Token], list[Issue]]:
    """The tokens, with ``end`` as the last one, and an issue for each piece of text that is not a token."""
    found_tokens: list[Token] = []
    issues: list[Issue] = []
    position = 0
    while position < len(source):
        match = _TOKEN.match(source, position)
        if match is None:
            length = 1
            if source[position] in "\"'":  # an unterminated string
                length = len(source[position:].split("\n", 1)[0])
            text = source[position : position + length]
            issues.append(Issue(position, f"Syntax error: token recognition error at: '{text}'"))
            position += length
            continue
        kind = match.lastgroup or ""
        text = match[0]
        if kind == "operator" or (kind == "name" and text in ("true", "false", "null", "in")):
            kind = text
        if kind != "space":
            found_tokens.append(Token(kind, text, position))
        position = match.end()
    found_tokens.append(Token("end", "<EOF>", len(source)))
    return found_tokens, issues


def unquoted(text: str) -> str:
    """The value of a string literal. Raises BadLiteral for an invalid escape sequence."""
    inner, raw = _inner(text)
    if raw or "\\" not in inner:
        return inner

    def char(match: re.Match[str]) -> str:
        if match["simple"]:
            return _SIMPLE[match["simple"]]
        digits = match["byte"] or match["short"] or match["long"]
        code = int(digits, 16) if digits else int(match["octal"], 8)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise BadLiteral("invalid unicode code point")
        return chr(code)

    return _replaced(inner, char)


def unquoted_bytes(text: str) -> bytes:
    """The value of a bytes literal (with its ``b``). Raises BadLiteral for an invalid escape sequence."""
    inner, raw = _inner(text[1:])
    if raw or "\\" not in inner:
        return inner.encode()

    def char(match: re.Match[str]) -> str:
        if match["simple"]:
            return _SIMPLE[match["simple"]]
        if match["short"] or match["long"]:
            raise BadLiteral("unable to unescape string")
        code = int(match["byte"], 16) if match["byte"] else int(match["octal"], 8)
        # Bytes that are not ASCII are lone surrogates in the text.
        return chr(code) if code < 0x80 else chr(0xDC00 + code)

    return _replaced(inner, char).encode("utf-8", "surrogateescape")


def _inner(text: str) -> tuple[str, bool]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    text = text[1:] if raw else text
    quotes = 3 if text[:3] in ('"""', "'''") and len(text) >= 6 else 1
    return text[quotes:-quotes], raw


def _replaced(inner: str, char: Callable[[re.Match[str]], str]) -> str:
    parts: list[str] = []
    position = 0
    while (start := inner.find("\\", position)) >= 0:
        match = _ESCAPE.match(inner, start)
        if match is None:
            raise BadLiteral("unable to unescape string")
        parts += (inner[position:start], char(match))
        position = match.end()
    return "".join((*parts, inner[position:]))
