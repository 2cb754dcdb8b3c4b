"""JSON patch (RFC 6902) with JSON pointers (RFC 6901), as in API servers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from setpoint.meta.numbers import NumberError, parse_int
from setpoint.schema.values import copy_json, json_equal
from setpoint.slices import pace, spend

__all__ = ["MAX_OPERATIONS", "PatchError", "TestFailed", "TooManyOperations", "apply", "parse_pointer"]

MAX_OPERATIONS: Final = 10_000
_MAX_COPIED_BYTES: Final = 3 * 1024 * 1024
_MAX_SHIFTED: Final = 1 << 26
"""The maximum number of list items that a patch may shift. Shifting this many takes about 50 ms, and is enough to
remove all items of a list of 10,000, one by one, from the front.
"""
_OPERATION: Final = 1 << 9
"""The cost of an operation, in the unit of `setpoint.slices.spend`."""
_MISSING: Final = object()
_END: Final = "-"
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


class PatchError(ValueError):
    """A patch cannot be applied. ``index`` is the operation's index in the patch, or -1 for the patch as a whole."""

    def __init__(self, message: str, index: int = -1, path: str = "") -> None:
        where = f"operation {index} ({path!r}): " if index >= 0 else ""
        super().__init__(where + message)
        self.message = message
        self.index = index
        self.path = path


class TestFailed(PatchError):
    """A ``test`` operation found a different value, or the object does not have the tested member."""

    __test__ = False  # not a test class for pytest


class TooManyOperations(PatchError):
    """The patch has more than `MAX_OPERATIONS` operations; API servers answer with 413."""


def parse_pointer(pointer: str) -> list[str]:
    """The reference tokens of a JSON pointer, without escapes; an empty list for ``""``, which stands for the whole
    document. Raises ValueError if any other pointer does not start with ``/``.
    """
    if pointer == "":
        return []
    if not pointer.startswith("/"):
        raise ValueError(f"JSON pointer {pointer!r} must be empty or start with '/'")
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/")]


def apply(document: Any, operations: Sequence[Mapping[str, Any]], *, max_copied_bytes: int = _MAX_COPIED_BYTES) -> Any:
    """``document`` after all operations. The argument itself is never changed, and if an operation fails, none takes
    effect.

    API servers extend the RFC: a negative array index counts from the end (``-1`` is the last item), a ``test`` of a
    missing object member against null succeeds, and ``copy`` operations may add at most ``max_copied_bytes``. The
    number of list items that the patch shifts is limited, too.

    Raises TestFailed, TooManyOperations or another PatchError.
    """
    if not isinstance(operations, Sequence) or isinstance(operations, str | bytes):
        raise PatchError("a JSON patch must be a list of operations")
    if len(operations) > MAX_OPERATIONS:
        raise TooManyOperations(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        )
    run = _Run(document, max_copied_bytes)
    for index, operation in enumerate(pace(operations)):
        path = operation.get("path") if isinstance(operation, Mapping) else None
        try:
            spend(_OPERATION)
            run.step(operation)
        except PatchError as error:
            raise type(error)(error.message, index, str(path)) from None
        except ValueError as error:
            raise PatchError(str(error), index, str(path)) from None
    return run.document


class _Run:
    """One application of a patch. A container is copied when it is first changed; only containers on the path are
    copied.
    """

    __slots__ = ("copied", "document", "limit", "owned", "shifted")

    def __init__(self, document: Any, limit: int) -> None:
        self.document = document
        self.limit = limit
        self.copied = self.shifted = 0
        self.owned: dict[int, Any] = {}

    def step(self, operation: Mapping[str, Any]) -> None:
        if not isinstance(operation, Mapping):
            raise PatchError("an operation must be an object")
        kind = operation.get("op")
        path = _pointer(operation, "path")
        if kind == "add":
            self.add(path, _value(operation))
        elif kind == "remove":
            self.remove(path)
        elif kind == "replace":
            value = _value(operation)
            if path:
                self.get(path)
            self.put(path, value)
        elif kind == "move":
            source = _pointer(operation, "from")
            if len(path) > len(source) and path[: len(source)] == source:
                raise PatchError("a value can't be moved into itself")
            value = self.get(source)
            if path != source:
                self.remove(source)
                self.add(path, value)
        elif kind == "copy":
            try:
                value = self.copy(self.get(_pointer(operation, "from")))
            except RecursionError:
                raise PatchError("the patch copies a value that is nested too deeply") from None
            self.add(path, value)
        elif kind == "test":
            self.test(path, operation)
        else:
            raise PatchError(f"unexpected operation {kind!r}: use add, remove, replace, move, copy or test")

    def copy(self, value: Any) -> Any:
        if not isinstance(value, (dict, list)):
            self.charge(len(json.dumps(value)))
            return value
        try:
            encoded = _encode(value)
        except (OverflowError, UnicodeEncodeError):  # numbers and strings that the fast encoder does not support
            self.charge(len(json.dumps(value, separators=(",", ":"))))
            return copy_json(value)
        self.charge(len(encoded))
        return _decode(encoded)

    def charge(self, size: int) -> None:
        self.copied += size
        if self.copied > self.limit:
            raise PatchError(f"the patch copies more than {self.limit} bytes")

    def shift(self, items: int) -> None:
        self.shifted += items
        if self.shifted > _MAX_SHIFTED:
            raise PatchError(f"the patch shifts more than {_MAX_SHIFTED} list items")

    def get(self, path: list[str]) -> Any:
        value = self.document
        for depth, token in enumerate(path):
            value = _child(value, token)
            if value is _MISSING:
                raise PatchError(f"nothing at {_join(path[: depth + 1])!r}")
        return value

    def test(self, path: list[str], operation: Mapping[str, Any]) -> None:
        wanted = operation.get("value")
        actual = self.document
        for depth, token in enumerate(path):
            inner = _child(actual, token)
            if inner is _MISSING:
                if wanted is None and depth == len(path) - 1 and isinstance(actual, dict):
                    return
                if depth == len(path) - 1 and isinstance(actual, dict):
                    raise TestFailed("testing value failed: it is missing")
                raise PatchError(f"nothing at {_join(path[: depth + 1])!r}")
            actual = inner
        try:
            equal = json_equal(actual, wanted)
        except RecursionError:
            raise PatchError("the patch tests a value that is nested too deeply") from None
        if not equal:
            raise TestFailed("testing value failed: it is another")

    def add(self, path: list[str], value: Any) -> None:
        if not path:
            self.document = value
            return
        parent = self.parent(path)
        token = path[-1]
        if isinstance(parent, dict):
            parent[token] = value
        else:
            length = len(parent)
            index = length if token == _END else _index(token, length + 1)
            self.shift(length - index)
            parent.insert(index, value)

    def put(self, path: list[str], value: Any) -> None:
        if not path:
            self.document = value
            return
        parent = self.parent(path)
        if isinstance(parent, dict):
            parent[path[-1]] = value
        else:
            parent[_index(path[-1], len(parent))] = value

    def remove(self, path: list[str]) -> None:
        if not path:
            raise PatchError("the whole document can't be removed")
        parent = self.parent(path)
        token = path[-1]
        if isinstance(parent, dict):
            if token not in parent:
                raise PatchError(f"Unable to remove nonexistent key: {token}")
            del parent[token]
        else:
            index = _index(token, len(parent))
            self.shift(len(parent) - index)
            del parent[index]

    def parent(self, path: list[str]) -> dict[str, Any] | list[Any]:
        """The container of ``path``. It is copied together with every container above it, so this run may change it."""
        self.document = node = self.own(self.document, path, 0)
        for depth, token in enumerate(path[:-1], 1):
            inner = _child(node, token)
            if inner is _MISSING:
                raise PatchError(f"doc is missing path {_join(path[:depth])!r}")
            inner = self.own(inner, path, depth)
            if isinstance(node, dict):
                node[token] = inner
            else:
                node[_index(token, len(node))] = inner
            node = inner
        return node

    def own(self, node: Any, path: list[str], depth: int) -> dict[str, Any] | list[Any]:
        if id(node) in self.owned:
            return node  # type: ignore[no-any-return]
        if not isinstance(node, (dict, list)):
            raise PatchError(f"{_join(path[:depth])!r} is neither an object nor a list")
        copy: dict[str, Any] | list[Any] = node.copy()
        self.owned[id(copy)] = copy
        return copy


def _child(node: Any, token: str) -> Any:
    if isinstance(node, dict):
        return node.get(token, _MISSING)
    if isinstance(node, list):
        return node[_index(token, len(node))]
    return _MISSING


def _index(token: str, length: int) -> int:
    digits = token.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or (digits[0] == "0" and len(token) > 1):
        raise PatchError(f"{token[:100]!r} is not an array index")
    try:
        index = parse_int(token)
    except NumberError:
        raise PatchError(f"Unable to access invalid index: {token[:100]}") from None
    if not -length <= index < length:
        raise PatchError(f"Unable to access invalid index: {token}")
    return index + length if index < 0 else index


def _join(tokens: Sequence[str]) -> str:
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in tokens)


def _pointer(operation: Mapping[str, Any], name: str) -> list[str]:
    pointer = operation.get(name)
    if not isinstance(pointer, str):
        raise PatchError(f"operation, missing {name} field")
    return parse_pointer(pointer)


def _value(operation: Mapping[str, Any]) -> Any:
    if "value" not in operation:
        raise PatchError("operation, missing value field")
    return operation["value"]
