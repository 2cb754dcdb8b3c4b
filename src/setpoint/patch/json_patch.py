"""JSON patch (RFC 6902) as API servers apply it, whose library is evanphx/json-patch v4.

That library deviates from the RFC: ``replace`` adds a missing member, ``copy`` of a missing member adds null, a missing
``value`` is null, a pointer needs a slash somewhere and loses what precedes the first one, indexes may be negative, and
``test`` compares strings and numbers by their JSON text, so that 1.0 is not 1.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from setpoint.meta.go_integers import NumberError, parse_int
from setpoint.meta.json_values import copy_json, format_json_number
from setpoint.schema.json_body import go_syntax_error, parse_json

from .go_text import go_kind

MAX_OPERATIONS: Final = 10_000
_MAX_COPIED_BYTES: Final = 3 * 1024 * 1024
_MAX_SHIFTED: Final = 1 << 26
"""The maximum number of list items that a patch may shift. Shifting this many takes about 50 ms, and is enough to
remove all items of a list of 10,000, one by one, from the front.
"""
_UNQUOTED: Final = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)
"""Characters of strings that Go's encoder escapes and Python's does not."""
_NULL: Final = msgspec.Raw(b"null")
_encode: Final = msgspec.json.Encoder().encode
_decode_operations: Final = msgspec.json.Decoder(list[dict[str, msgspec.Raw] | None] | None).decode
_decode_object: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_list: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode

Operation: TypeAlias = Mapping[str, Any]
"""An operation. Its ``value`` is a JSON value, or a `msgspec.Raw` with its text."""


class PatchError(ValueError):
    """A patch cannot be applied; the message is that of an API server's library."""


class TestFailed(PatchError):
    """A ``test`` operation found a different value, or a missing member that should have a value."""

    __test__ = False  # not a test class for pytest


class TooCostly(PatchError):
    """The patch exceeds a limit that API servers do not have."""


class TooManyOperations(PatchError):
    """The patch has more than `MAX_OPERATIONS` operations; API servers answer with 413."""


def decode(text: bytes | str) -> list[Operation]:
    """The operations of the JSON patch ``text``. Their values are left as text, because ``test`` compares texts.

    Raises:
        ValueError: ``text`` is not JSON, or not a list of objects; the message is that of Go's decoder.
    """
    try:
        operations = _decode_operations(text)
    except msgspec.DecodeError:
        try:
            return list(_operations(parse_json(text)[0]))  # which reads unpaired surrogates, too
        except json.JSONDecodeError as error:
            raise PatchError(go_syntax_error(error, place=False)) from None
    return [
        {name: value if name == "value" else parse_json(bytes(value))[0] for name, value in (operation or {}).items()}
        for operation in operations or ()
    ]


def apply(document: Any, operations: Sequence[Operation], *, max_copied_bytes: int = _MAX_COPIED_BYTES) -> Any:
    """``document`` after all operations. The argument itself is never changed, and if an operation fails, none takes
    effect.

    The document must be an object or a list. ``copy`` operations may add at most ``max_copied_bytes``; the number of
    list items that the patch shifts is limited, too.

    Raises TestFailed, TooManyOperations or another PatchError.
    """
    operations = _operations(operations)
    if len(operations) > MAX_OPERATIONS:
        raise TooManyOperations(
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        )
    run = _Run(document, max_copied_bytes)
    for operation in operations:
        run.step(operation or {})
    return run.result()


def _operations(document: Any) -> Sequence[Operation]:
    """``document``, or an empty list for null. Raises PatchError if it is not a list of objects."""
    if document is None:
        return []
    if not isinstance(document, Sequence) or isinstance(document, str | bytes):
        raise PatchError(f"json: cannot unmarshal {go_kind(document)} into Go value of type jsonpatch.Patch")
    for operation in document:
        if operation is not None and not isinstance(operation, Mapping):
            raise PatchError(f"json: cannot unmarshal {go_kind(operation)} into Go value of type jsonpatch.Operation")
    return document


class _Run:
    """One application of a patch. A container is copied when it is first changed; only containers on the path are
    copied. Values of the patch stay `msgspec.Raw` inside them until an operation needs a part of the value, or the run
    ends.
    """

    __slots__ = ("copied", "document", "limit", "owned", "shifted")

    def __init__(self, document: Any, limit: int) -> None:
        self.document = document
        self.limit = limit
        self.copied = self.shifted = 0
        self.owned: dict[int, Any] = {}

    def step(self, operation: Operation) -> None:
        match operation.get("op"):
            case "add":
                path = _pointer(operation, "add", "path", always_missing=True)
                parent, key = self.parent(path, 'add operation does not apply: doc is missing path: "{}"')
                self.add(parent, key, operation.get("value"), f"error in add for path: '{path}'")
            case "remove":
                path = _pointer(operation, "remove", "path", always_missing=True)
                parent, key = self.parent(path, 'remove operation does not apply: doc is missing path: "{}"')
                self.remove(parent, key, f"error in remove for path: '{path}'")
            case "replace":
                self.replace(operation)
            case "move":
                self.move(operation)
            case "copy":
                self.copy(operation)
            case "test":
                self.test(operation)
            case kind:
                raise PatchError(f"Unexpected kind: {kind if isinstance(kind, str) else 'unknown'}")

    def result(self) -> Any:
        for container in self.owned.values():
            for key, value in container.items() if isinstance(container, dict) else enumerate(container):
                if type(value) is msgspec.Raw:
                    container[key] = _value(value)
        return self.document

    def replace(self, operation: Operation) -> None:
        path = _pointer(operation, "replace", "path")
        value = operation.get("value")
        if not path:
            value = _value(value)
            if not isinstance(value, dict | list):
                raise PatchError("replace operation value must be object or array: %!w(<nil>)")
            self.document = value
            return
        parent, key = self.parent(path, "replace operation does not apply: doc is missing path: {}")
        if isinstance(parent, dict):
            parent[key] = value
            return
        try:
            parent[_index(key, len(parent))] = value
        except PatchError:
            text = f"replace operation does not apply: doc is missing key: {path}: missing value"
            raise PatchError(text) from None

    def move(self, operation: Operation) -> None:
        source = _pointer(operation, "move", "from")
        parent, key = self.parent(source, "move operation does not apply: doc is missing from path: {}")
        value = _get(parent, key, f"error in move for path: '{key}'")
        self.remove(parent, key, f"error in move for path: '{key}'")
        path = _pointer(operation, "move", "path")
        parent, key = self.parent(path, "move operation does not apply: doc is missing destination path: {}")
        self.add(parent, key, value, f"error in move for path: '{path}'")

    def copy(self, operation: Operation) -> None:
        source = _pointer(operation, "copy", "from")
        parent, key = self.parent(source, "copy operation does not apply: doc is missing from path: {}")
        value = _get(parent, key, f"error in copy for from: '{source}'")
        path = _pointer(operation, "copy", "path", always_missing=True)
        parent, key = self.parent(path, "copy operation does not apply: doc is missing destination path: {}")
        try:
            value, size = self.copied_value(value)
        except RecursionError:
            raise TooCostly("the patch copies a value that is nested too deeply") from None
        self.copied += size
        if self.copied > self.limit:
            raise PatchError(
                f"Unable to complete the copy, the accumulated size increase of copy is {self.copied}, exceeding the "
                f"limit {self.limit}"
            )
        self.add(parent, key, value, "error while adding value during copy")

    def copied_value(self, value: Any) -> tuple[Any, int]:
        """A copy that shares nothing, and its size in bytes; null, which takes no space, for a missing member."""
        if value is None:
            return None, 0
        if type(value) is msgspec.Raw:
            text = msgspec.json.format(bytes(value), indent=-1).decode().translate(_UNQUOTED)
            return msgspec.Raw(text.encode()), len(text.encode())
        plain = self.resolved(value)
        try:
            encoded = _encode(plain)
        except (OverflowError, UnicodeEncodeError):  # numbers and strings that the fast encoder does not support
            return copy_json(plain), len(json.dumps(plain, separators=(",", ":")))
        escaped = 5 * sum(encoded.count(character) for character in (b"<", b">", b"&"))
        return msgspec.json.decode(encoded), len(encoded) + escaped

    def resolved(self, value: Any) -> Any:
        """The value without `msgspec.Raw` in the containers that belong to this run."""
        if id(value) not in self.owned:
            return _value(value)
        if isinstance(value, dict):
            return {key: self.resolved(item) for key, item in value.items()}
        return [self.resolved(item) for item in value]

    def test(self, operation: Operation) -> None:
        path = _pointer(operation, "test", "path")
        wanted = operation.get("value")
        if not path:
            actual = self.document
        else:
            parent, key = self.parent(path, "test operation does not apply: is missing path: {}")
            actual = _get(parent, key, f"error in test for path: '{path}'")
        try:
            equal = _equal(actual, wanted)
        except RecursionError:
            raise TooCostly("the patch tests a value that is nested too deeply") from None
        if not equal:
            raise TestFailed(f"testing value {path} failed: test failed")

    def add(self, parent: dict[str, Any] | list[Any], key: str, value: Any, problem: str) -> None:
        if isinstance(parent, dict):
            parent[key] = value
            return
        length = len(parent)
        if key == "-":
            parent.append(value)
            return
        try:
            index = _index(key, length + 1)
        except PatchError as error:
            words = f"value was not a proper array index: '{key}': " if "Atoi" in str(error) else ""
            raise PatchError(f"{problem}: {words}{error}") from None
        self.shift(length - index)
        parent.insert(index, value)

    def remove(self, parent: dict[str, Any] | list[Any], key: str, problem: str) -> None:
        if isinstance(parent, dict):
            if key not in parent:
                raise PatchError(f"{problem}: Unable to remove nonexistent key: {key}: missing value")
            del parent[key]
            return
        try:
            index = _index(key, len(parent))
        except PatchError as error:
            raise PatchError(f"{problem}: {error}") from None
        self.shift(len(parent) - index)
        del parent[index]

    def shift(self, items: int) -> None:
        self.shifted += items
        if self.shifted > _MAX_SHIFTED:
            raise TooCostly(f"the patch shifts more than {_MAX_SHIFTED} list items")

    def parent(self, pointer: str, problem: str) -> tuple[dict[str, Any] | list[Any], str]:
        """The container of what ``pointer`` names, and the last token. The container is copied together with every
        container above it, so this run may change it.

        Raises PatchError: ``problem``, with the pointer in its place, if there is no container.
        """
        tokens = [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]
        if not tokens:
            raise PatchError(f"{problem.format(pointer)}: missing value")
        self.document = node = self.own(self.document)
        for token in tokens[:-1]:
            try:
                place = token if isinstance(node, dict) else _index(token, len(node))
            except PatchError:
                raise PatchError(f"{problem.format(pointer)}: missing value") from None
            inner = self.own(node.get(place) if isinstance(node, dict) else node[place])
            if inner is None:
                raise PatchError(f"{problem.format(pointer)}: missing value")
            node[place] = node = inner
        return node, tokens[-1]

    def own(self, node: Any) -> Any:
        """The container ``node``, as a copy unless it belongs to this run; None for any other value."""
        if id(node) in self.owned:
            return node
        node = _opened(node) if type(node) is msgspec.Raw else node.copy() if isinstance(node, dict | list) else None
        if isinstance(node, dict | list):
            self.owned[id(node)] = node
            return node
        return None


def _opened(raw: msgspec.Raw) -> Any:
    """The object or list in ``raw`` with its members as `msgspec.Raw`, or None for null; ``raw`` for any other text."""
    text = bytes(raw)
    match text[:1]:
        case b"{":
            members = _decode_object(text)
            return {key: None if item == _NULL else item for key, item in members.items()}
        case b"[":
            return [None if item == _NULL else item for item in _decode_list(text)]
    return raw


def _value(value: Any) -> Any:
    return parse_json(bytes(value))[0] if type(value) is msgspec.Raw else value


def _get(parent: dict[str, Any] | list[Any], key: str, problem: str) -> Any:
    if isinstance(parent, dict):
        return parent.get(key)
    try:
        return parent[_index(key, len(parent))]
    except PatchError as error:
        raise PatchError(f"{problem}: {error}") from None


def _equal(left: Any, right: Any) -> bool:
    """Whether the values are equal for a ``test``: objects and lists by their members, other values by their texts."""
    left, right = (_opened(value) if type(value) is msgspec.Raw else value for value in (left, right))
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and left.keys() == right.keys()
            and all(_equal(item, right[key]) for key, item in left.items())
        )
    if isinstance(left, list):
        return (
            isinstance(right, list)
            and len(left) == len(right)
            and all(_equal(first, second) for first, second in zip(left, right, strict=True))
        )
    return not isinstance(right, dict | list) and _text(left) == _text(right)


def _text(value: Any) -> bytes:
    """The JSON of a scalar as Go writes it, or as the patch has it."""
    if type(value) is msgspec.Raw:
        return bytes(value)
    if isinstance(value, float):
        return format_json_number(value).encode()
    return json.dumps(value, ensure_ascii=False).translate(_UNQUOTED).encode(errors="replace")


def _index(token: str, length: int) -> int:
    try:
        index = parse_int(token)
    except NumberError as error:
        raise PatchError(str(error).replace("ParseInt", "Atoi", 1)) from None
    if not -length <= index < length:
        raise PatchError(f"Unable to access invalid index: {index}: invalid index referenced")
    return index + length if index < 0 else index


def _pointer(operation: Operation, kind: str, name: str, *, always_missing: bool = False) -> str:
    pointer = operation.get(name)
    if isinstance(pointer, str):
        return pointer
    reason = f"operation{',' if name == 'from' else ''} missing {name} field: missing value"
    if pointer is not None:
        reason = f"json: cannot unmarshal {go_kind(pointer)} into Go value of type string"
    raise PatchError(f"{kind} operation failed to decode {name}: {'missing value' if always_missing else reason}")
