"""Parses ``shardSelector``, the part of a collection that a list or a watch asks for (KEP-5866)."""

from __future__ import annotations

from typing import Any, Final, cast

from setpoint.apiserver.errors import bad_request
from setpoint.cel.errors import CompileError
from setpoint.cel.nodes import Call, Comprehension, Ident, ListLiteral, Literal, MapLiteral, Node, Select, StructLiteral
from setpoint.cel.parser import parse
from setpoint.cel.values import UInt
from setpoint.meta.shard_ranges import HASHES, Field, ShardRanges
from setpoint.meta.text_escaping import quote

_FIELDS: Final = {"object.metadata.uid": "uid", "object.metadata.namespace": "namespace"}
_KINDS: Final[dict[type[Any], int]] = {
    Call: 1, Comprehension: 2, Ident: 3, ListLiteral: 4, Literal: 5, MapLiteral: 6, Select: 7, StructLiteral: 8
}  # fmt: skip
"""The numbers of kinds of nodes in upstream's messages."""
_GO_TYPES: Final[dict[type[Any], str]] = {
    bool: "bool", int: "int64", UInt: "uint64", float: "float64", bytes: "[]uint8", type(None): "structpb.NullValue"
}  # fmt: skip


class _Invalid(Exception):
    pass


def parse_shards(text: str) -> ShardRanges:
    """The ranges that a selector names: one or more calls of ``shardRange``, combined by ``||``.

    Raises ApiStatusError (400) if the selector is not valid. This is the response of Kubernetes 1.38; 1.36 and 1.37
    respond 500 with the same message.
    """
    try:
        return _parsed(text)
    except _Invalid as problem:
        raise bad_request(f"invalid shard selector: {problem}") from None


def _parsed(text: str) -> ShardRanges:
    if not text.strip():
        raise _Invalid("empty shard selector is not allowed; omit the parameter for unfiltered lists")
    try:
        calls = list(_calls(parse(text.strip())))
    except CompileError as problem:
        raise _Invalid(f"CEL parse error: {problem.issues[0].message}") from None
    ranges = [_range(call) for call in calls]
    first = ranges[0][0]
    for path, _, _ in ranges:
        if path != first:
            raise _Invalid(f"all shard ranges must use the same field, got {quote(first)} and {quote(path)}")
    return ShardRanges(cast("Field", _FIELDS[first]), [(start, end) for _, start, end in ranges])


def _calls(node: Node) -> list[Call]:
    """The calls of ``shardRange`` in an expression, from left to right."""
    if not isinstance(node, Call):
        raise _Invalid(f"unexpected expression kind {_KINDS[type(node)]}; expected shardRange() call or || operator")
    if node.function == "_||_":
        return [call for operand in node.arguments for call in _calls(operand)]
    if node.function != "shardRange":
        raise _Invalid(f"unsupported function {quote(node.function)}; only shardRange() and || are allowed")
    return [node]


def _range(call: Call) -> tuple[str, int, int]:
    """The path of the field, the start and the end."""
    if len(call.arguments) != 3:
        raise _Invalid(f"shardRange() requires exactly 3 arguments, got {len(call.arguments)}")
    path = _path(call.arguments[0])
    if path not in _FIELDS:
        raise _Invalid(f"unsupported field path {quote(path)}; supported: {', '.join(_FIELDS)}")
    start, end = _hex(call.arguments[1], "hexStart"), _hex(call.arguments[2], "hexEnd")
    if start >= end:
        raise _Invalid(f"shard range start {start:#018x} must be less than end {end:#018x}")
    return path, start, end


def _path(node: Node) -> str:
    names: list[str] = []
    while isinstance(node, Select) and not node.test:
        names.insert(0, node.field)
        node = node.operand
    if not isinstance(node, Ident):
        kind = 1 if isinstance(node, Select) else _KINDS[type(node)]  # has() is a call to upstream
        raise _Invalid(
            f"shardRange() first argument: expected field path (e.g. object.metadata.uid), got expression kind {kind}"
        )
    return ".".join((node.name, *names))


def _hex(node: Node, name: str) -> int:
    if not isinstance(node, Literal):
        kind = _KINDS[type(node)]
        raise _Invalid(f"{name} must be a string literal (e.g. '0xff'), got expression kind {kind}")
    text = node.value
    if not isinstance(text, str):
        raise _Invalid(f"{name} must be a string literal, got {_GO_TYPES[type(text)]}")
    if not text.startswith("0x"):
        raise _Invalid(f"{name} must have '0x' prefix, got {quote(text)}")
    digits = text[2:]
    if not digits:
        raise _Invalid(f"{name}: hex value is required after '0x'")
    length = len(digits.encode(errors="surrogatepass"))
    if length > 17:
        raise _Invalid(f"{name}: hex value too long ({length} chars, max 17): {quote(digits)}")
    for character in digits:
        if character not in "0123456789abcdef":
            raise _Invalid(f"{name}: invalid hex character {quote(character)} in {quote(text)}")
    number = int(digits, 16)
    if length == 17:
        if number != HASHES:
            raise _Invalid(f"{name}: 17-digit hex value must be '{HASHES:#x}' (2^64), got {quote(text)}")
    elif length != 16:
        padded = quote(f"{number:#018x}")
        raise _Invalid(f"{name} must be a 0x-prefixed 16-digit hex value, got {quote(text)} (did you mean {padded}?)")
    return number
