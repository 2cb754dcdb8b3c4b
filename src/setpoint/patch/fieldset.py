"""Sets of fields: the fields of an object that a manager owns, and their JSON form ``FieldsV1``.

A path is a tuple of elements in the notation of FieldsV1:

* ``f:name`` a field of an object,
* ``k:{"name":"x"}`` the list item with these keys (names sorted, compact JSON),
* ``v:"x"`` the list item with this value,
* ``i:0`` the list item at this index.

Semantics are those of structured-merge-diff's ``fieldpath``: the members are paths, and a parent is a member only if it
was added itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from setpoint.meta.go_integers import NumberError, parse_int
from setpoint.schema.errors import format_value

Path: TypeAlias = tuple[str, ...]

_encode: Final = msgspec.json.Encoder(order="sorted").encode
_decode: Final = msgspec.json.decode
_KINDS: Final = frozenset("fkvi")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:-]*").fullmatch
# Elements that have only one written form.
_CANONICAL: Final = re.compile(
    r'v:"[A-Za-z0-9_./:-]*"|k:\{"\w+":(?:"[A-Za-z0-9_./:-]*"|0|[1-9][0-9]*)\}', re.ASCII
).fullmatch


def field(name: str) -> str:
    """The path element for a field of an object."""
    return "f:" + name


def key(keys: Mapping[str, Any]) -> str:
    """The path element for a list item that is identified by some of its fields."""
    if len(keys) == 1:
        ((name, item),) = keys.items()
        if isinstance(item, str) and _PLAIN(item):
            return f'k:{{"{name}":"{item}"}}'
    return "k:" + _json(keys)


def value(item: Any) -> str:
    """The path element for a list item that is identified by its whole (scalar) value."""
    return f'v:"{item}"' if isinstance(item, str) and _PLAIN(item) else "v:" + _json(item)


def index(position: int) -> str:
    """The path element for a list item that is identified by its index."""
    return f"i:{position}"


def path_text(path: Iterable[str]) -> str:
    """A path in the form in which servers report it in conflicts: ``.spec.containers[name="x"].image``."""
    return "".join(_element_text(element) for element in path)


class FieldSet:
    """A set of paths, kept as a tree. Treat it as immutable except while building it with `add`."""

    __slots__ = ("children", "members")

    def __init__(self, members: set[str] | None = None, children: dict[str, FieldSet] | None = None) -> None:
        self.members: set[str] = set() if members is None else members
        self.children: dict[str, FieldSet] = {} if children is None else children

    @classmethod
    def of(cls, *paths: Path) -> FieldSet:
        result = cls()
        for path in paths:
            result.add(path)
        return result

    @classmethod
    def from_fields_v1(cls, fields: Mapping[str, Any]) -> FieldSet:
        """Parses the JSON form. Raises ValueError if it is malformed."""
        if not isinstance(fields, dict):
            raise ValueError(f"managed fields: an object is needed, not {fields!r}")
        result = cls()
        members, children = result.members, result.children
        for element, inner in fields.items():
            if element == ".":
                continue
            if not element.startswith("f:") and _CANONICAL(element) is None:
                element = _canonical(element)
            if not isinstance(inner, dict):
                raise ValueError(f"managed fields: {element!r} must hold an object, not {inner!r}")
            if not inner:
                members.add(element)
                continue
            if "." in inner:
                members.add(element)
            child = cls.from_fields_v1(inner)
            if child.members or child:
                children[element] = child
        return result

    def to_fields_v1(self) -> dict[str, Any]:
        """The JSON form, in the order of API servers."""
        result: dict[str, Any] = {}
        members, children = self.members, self.children
        for element in sorted(members | children.keys() if children else members):
            child = children.get(element)
            if child is None:
                result[element] = {}
            else:
                result[element] = {".": {}, **child.to_fields_v1()} if element in members else child.to_fields_v1()
        return result

    def add(self, path: Path) -> None:
        """Adds one path, without its parents. The empty path (the whole object) is never tracked."""
        if not path:
            return
        node = self
        for element in path[:-1]:
            node = node.child(element)
        node.members.add(path[-1])

    def child(self, element: str) -> FieldSet:
        """The subtree below ``element``, which is created if missing; for building a set."""
        node = self.children.get(element)
        if node is None:
            node = self.children[element] = FieldSet()
        return node

    def has(self, path: Path) -> bool:
        """Whether exactly this path is a member."""
        node: FieldSet | None = self
        for element in path[:-1]:
            node = node.children.get(element) if node is not None else None
        return bool(path) and node is not None and path[-1] in node.members

    __contains__ = has

    def __bool__(self) -> bool:
        if self.members or not self.children:
            return bool(self.members)
        pending = list(self.children.values())
        while pending:
            node = pending.pop()
            if node.members:
                return True
            pending += node.children.values()
        return False

    def __len__(self) -> int:
        count = 0
        pending: list[FieldSet] = [self]
        while pending:
            node = pending.pop()
            count += len(node.members)
            pending += node.children.values()
        return count

    def __iter__(self) -> Iterator[Path]:
        """All members in the order in which servers report them: the set's own elements first, then the paths below
        them.
        """
        for element in sorted(self.members):
            yield (element,)
        for element in sorted(self.children):
            for path in self.children[element]:
                yield (element, *path)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FieldSet):
            return NotImplemented
        pairs: list[tuple[FieldSet, FieldSet]] = [(self, other)]
        while pairs:
            left, right = pairs.pop()
            if left is right:
                continue
            if left.members != right.members:
                return False
            for element in left.children.keys() | right.children.keys():  # an empty child equals a missing one
                pairs.append((left.children.get(element, EMPTY), right.children.get(element, EMPTY)))
        return True

    __hash__ = None  # type: ignore[assignment]

    def __or__(self, other: FieldSet) -> FieldSet:
        """The union of both sets."""
        if not (other.members or other):
            return self
        if not (self.members or self):
            return other
        children = dict(self.children)
        for element, right in other.children.items():
            left = children.get(element)
            children[element] = right if left is None else left | right
        return FieldSet(self.members | other.members, children)

    @classmethod
    def union(cls, sets: Collection[FieldSet]) -> FieldSet:
        """The union of all sets."""
        result = cls()
        for field_set in sets:
            result._put_in(field_set)
        return result

    def _put_in(self, other: FieldSet) -> None:
        self.members |= other.members
        for element, below in other.children.items():
            self.child(element)._put_in(below)

    def __and__(self, other: FieldSet) -> FieldSet:
        """The intersection of both sets."""
        children: dict[str, FieldSet] = {}
        for element, left in self.children.items():
            right = other.children.get(element)
            if right is not None:
                common = left & right
                if common.members or common:
                    children[element] = common
        return FieldSet(self.members & other.members, children)

    def __sub__(self, other: FieldSet) -> FieldSet:
        """The difference by exact path: removing a parent keeps the paths below it, and vice versa."""
        if not (other.members or other):
            return self
        children: dict[str, FieldSet] = {}
        for element, left in self.children.items():
            right = other.children.get(element)
            rest = left if right is None else left - right
            if rest.members or rest:
                children[element] = rest
        return FieldSet(self.members - other.members, children)

    def without(self, other: FieldSet) -> FieldSet:
        """The paths that are neither in ``other`` nor below one of its members."""
        if not (other.members or other) or not (self.members or self.children):
            return self
        children: dict[str, FieldSet] = {}
        for element, left in self.children.items():
            if element in other.members:
                continue
            right = other.children.get(element)
            rest = left if right is None else left.without(right)
            if rest.members or rest:
                children[element] = rest
        return FieldSet(self.members - other.members, children)

    def __repr__(self) -> str:
        return f"FieldSet({', '.join(path_text(path) for path in self)})"


EMPTY: Final = FieldSet()
"""The empty set; never add to it."""


def _json(item: Any) -> str:
    text = _encode(item).decode()
    if "&" in text or "<" in text or ">" in text:  # as Go's encoder writes them, so that the same item has one name
        text = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return text


def _canonical(element: str) -> str:
    kind, separator, rest = element.partition(":")
    if not separator or kind not in _KINDS:
        raise ValueError(f"managed fields: {element!r} is not a path element")
    if kind == "i":
        try:
            return f"i:{parse_int(rest)}"
        except NumberError as problem:
            raise ValueError(f"managed fields: {element[:100]!r}: {problem}") from None
    try:
        item = _decode(rest)
    except msgspec.DecodeError as error:
        raise ValueError(f"managed fields: {element!r}: {error}") from None
    if kind == "k" and not isinstance(item, dict):
        raise ValueError(f"managed fields: {element!r} must hold an object")
    return f"{kind}:{_json(item)}"


def _element_text(element: str) -> str:
    kind, _, rest = element.partition(":")
    if kind == "f":
        return "." + rest
    if kind == "k":
        return "[" + ",".join(f"{name}={format_value(item)}" for name, item in _decode(rest).items()) + "]"
    if kind == "v":
        return f"[={format_value(_decode(rest))}]"
    return f"[{rest}]"
