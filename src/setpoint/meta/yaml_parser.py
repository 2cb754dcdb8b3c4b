"""Parses YAML from untrusted clients event by event, so that depth, size and the expansion of aliases can be limited
while parsing.

A loader that builds all nodes first can check limits only when it is too late: forty lines of merge keys can expand
until memory runs out, and a few thousand brackets keep the parser itself busy for minutes.
"""

from __future__ import annotations

import json
import math
from base64 import b64decode
from collections.abc import Callable
from typing import Any, Final, TypeVar

import yaml

from setpoint.meta.duplicate_key import RepeatedKey
from setpoint.meta.yaml_scalars import resolve

T = TypeVar("T")

_MAX_DEPTH: Final = 500
"""The maximum number of nested lists and maps. It limits the parser's work, which examines all open brackets for each
token.
"""
_MAX_NODES: Final = 300_000
_TOO_DEEP: Final = f"exceeded max depth of {_MAX_DEPTH}"
_DEEP_FOR_LIBYAML: Final = "exceeded maximum nesting depth"
"""The error from newer versions of libyaml, which have a limit of their own. A document may reach it before
`_MAX_DEPTH`, because libyaml reads ahead of the current event.
"""
_MAX_DIRECTIVES: Final = 100
"""The maximum number of directives, because each is compared with all earlier ones."""
_MAX_COPIES: Final = 100_000
"""The maximum number of nodes that aliases and merge keys may add."""
_TAG: Final = "tag:yaml.org,2002:"
_TEXTS: Final = frozenset({"str", "timestamp", "value", "set"})
_NAMES: Final = {str: "str", bool: "bool", int: "int", float: "float", type(None): "null"}

_Loader: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_yaml(body: bytes) -> tuple[Any, list[str]]:
    """The value of the first document in ``body``, with JSON types only, and the keys that occur more than once.

    Scalars are resolved as in API servers (`setpoint.meta.yaml_scalars`); keys become strings. The value of an empty
    body is None; what follows the first document is not read.

    Raises:
        ValueError: the body is malformed, too large, too deep or has too many aliases; the message says where.
    """
    return _read(body, _Reader.document)


def parse_yaml_documents(body: bytes) -> list[Any]:
    """The values of all documents in ``body``, each parsed as by `parse_yaml`. Raises ValueError."""
    return _read(body, _Reader.documents)[0]


def _read(body: bytes, read: Callable[[_Reader], T]) -> tuple[T, list[str]]:
    try:
        text = body.decode("utf-8")
        if text.count("\n%", 0, text.find("\n---")) >= _MAX_DIRECTIVES:
            raise ValueError(f"yaml: more than {_MAX_DIRECTIVES} directives")
        loader = _Loader(text)
        try:
            reader = _Reader(loader)
            return read(reader), reader.duplicates
        finally:
            loader.dispose()
    except UnicodeDecodeError as problem:
        raise ValueError(f"yaml: invalid UTF-8 at byte {problem.start}") from None
    except yaml.MarkedYAMLError as problem:
        # Go's reader counts lines so: it omits the first one, and counts from 0 for errors of the grammar.
        line = problem.problem_mark.line if problem.problem_mark else 0
        if line and type(problem).__name__ != "ParserError":
            line += 1
        message = _TOO_DEEP if problem.problem == _DEEP_FOR_LIBYAML else problem.problem
        raise ValueError(f"yaml: {_line(line)}{message}") from None
    except yaml.reader.ReaderError:
        raise ValueError("yaml: control characters are not allowed") from None


class _Open:
    """A list or map that has not ended yet."""

    __slots__ = ("anchor", "key", "line", "size", "value")

    def __init__(self, value: dict[str, Any] | list[Any], anchor: str | None) -> None:
        self.value = value
        self.anchor = anchor
        self.key: str | _Merge | None = None
        self.line = 0
        """The line of the key, counted from 1."""
        self.size = 1
        """The number of nodes in the list or map, including itself."""


class _Merge:
    """The merge key ``<<``."""


_MERGE: Final = _Merge()


class _Reader:
    __slots__ = ("anchors", "copies", "duplicates", "loader", "nodes")

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self.duplicates: list[str] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.nodes = self.copies = 0

    def document(self) -> Any:
        loader = self.loader
        loader.get_event()  # the stream's start
        if loader.check_event(yaml.StreamEndEvent):
            return None
        loader.get_event()  # the document's start
        return self.value()

    def documents(self) -> list[Any]:
        loader = self.loader
        loader.get_event()  # the stream's start
        documents = []
        while not loader.check_event(yaml.StreamEndEvent):
            loader.get_event()  # the document's start
            self.anchors.clear()
            self.nodes = self.copies = 0
            documents.append(self.value())
            loader.get_event()
        return documents

    def value(self) -> Any:
        """The value of the next node, with everything in it."""
        stack: list[_Open] = []
        while True:
            event = self.loader.get_event()
            kind = type(event)
            size = 1
            if kind is yaml.ScalarEvent:
                value = self.scalar(event)
                if event.anchor:
                    self.anchors[event.anchor] = (value, 1)
            elif kind is yaml.AliasEvent:
                value, size = self.alias(event)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                if len(stack) >= _MAX_DEPTH:
                    raise _problem(event, _TOO_DEEP)
                if event.anchor:
                    self.anchors.pop(event.anchor, None)
                stack.append(_Open({} if kind is yaml.MappingStartEvent else [], event.anchor))
                self.count(event)
                continue
            else:
                collection = stack.pop()
                value, size = collection.value, collection.size
                if collection.anchor:
                    self.anchors[collection.anchor] = (value, size)
            if kind is yaml.ScalarEvent:
                self.count(event)
            if not stack:
                _check_finite(value, event)
                return "<<" if value is _MERGE else value
            self.add(stack[-1], value, size, event)

    def add(self, into: _Open, value: Any, size: int, event: Any) -> None:
        into.size += size
        if isinstance(into.value, list):
            _check_finite(value, event)
            into.value.append("<<" if value is _MERGE else value)
        elif into.key is None:
            into.key = value if value is _MERGE else _key(value, event)
            into.line = event.start_mark.line + 1
        else:
            key, into.key = into.key, None
            if value is _MERGE:
                value = "<<"
            _check_finite(value, event)
            if isinstance(key, _Merge):
                self.merge(into, value, event)
            else:
                self.put(into, key, value)

    def put(self, into: _Open, key: str, value: Any) -> None:
        content: Any = into.value
        if key in content:
            self.duplicates.append(RepeatedKey(f'line {into.line}: key "{key}" already set in map'))
        content[key] = value

    def merge(self, into: _Open, value: Any, event: Any) -> None:
        """Adds the keys of the maps named by ``<<``, in place of equal keys that stand before it in the map, as Go's
        reader does; if several of the maps have a key, its value comes from the first one.
        """
        for source in reversed(value) if isinstance(value, list) else [value]:
            if not isinstance(source, dict):
                raise _problem(event, "map merge requires map or sequence of maps as the value")
            for key, item in source.items():
                copied, size = self.copy(item, event)
                self.put(into, key, copied)
                into.size += size + 1

    def alias(self, event: Any) -> tuple[Any, int]:
        if event.anchor not in self.anchors:
            raise _problem(event, f"unknown anchor {event.anchor!r} referenced, or one whose value contains itself")
        value, size = self.anchors[event.anchor]
        self.charge(size, event)
        return _copied(value), size

    def copy(self, value: Any, event: Any) -> tuple[Any, int]:
        size = _size(value)
        self.charge(size, event)
        return _copied(value), size

    def charge(self, size: int, event: Any) -> None:
        self.copies += size
        if self.copies > _MAX_COPIES:
            raise _problem(event, "document contains excessive aliasing")

    def count(self, event: Any) -> None:
        self.nodes += 1
        if self.nodes > _MAX_NODES:
            raise _problem(event, f"document has more than {_MAX_NODES} values")

    def scalar(self, event: Any) -> Any:
        text: str = event.value
        explicit = event.tag not in (None, "!")
        if not explicit and (not event.implicit[0] or event.tag == "!"):
            return text
        wanted = event.tag.removeprefix(_TAG) if explicit else ""
        if explicit and (wanted in _TEXTS or not event.tag.startswith(_TAG)):
            return text
        if wanted == "binary":
            try:
                return b64decode(text, validate=True).decode(errors="replace")
            except ValueError:
                raise ValueError("yaml: !!binary value contains invalid base64 data") from None
        if text == "<<" and wanted in ("", "merge"):
            return _MERGE
        value = resolve(text)
        name = _NAMES[type(value)]
        if wanted not in ("", name) and (wanted, name) != ("float", "int"):
            raise _problem(event, f"cannot decode !!{name} `{text[:40]}` as a !!{wanted}")
        return value


def _key(value: Any, event: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        raise _problem(event, "invalid map key: only texts, numbers and booleans can be one")
    if value is None or (isinstance(value, int) and value >= 1 << 63):
        kind = "%!s(<nil>), key: <nil>" if value is None else f"uint64, key: {hex(value)}"
        raise ValueError(f"yaml: unsupported map key of type: {kind}")
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: ".inf", -math.inf: "-.inf"}.get(value, ".nan")
    return json.dumps(value)


def _check_finite(value: Any, event: Any) -> None:
    if type(value) is float and not math.isfinite(value):
        raise _problem(event, f"json: unsupported value: {event.value}")


def _size(value: Any) -> int:
    count, stack = 0, [value]
    while stack:
        node = stack.pop()
        count += 1
        if isinstance(node, dict):
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
    return count


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value


def _problem(event: Any, text: str) -> ValueError:
    return ValueError(f"yaml: {_line(event.start_mark.line + 1)}{text}")


def _line(number: int) -> str:
    return f"line {number}: " if number else ""
