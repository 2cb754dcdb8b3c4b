"""Paths in an object, such as ``spec.ports[].number``, and a copy of a document in which values are moved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

JSON = Any
EACH: Final = "[]"
"""The step into each item of a list."""
ENTRY: Final = "*"
"""The step into each value of a map."""
Steps = tuple[str, ...]
Place = tuple[str | int, ...]
"""The index or key for each `EACH` and `ENTRY` in a path, which together identify one value."""


class _Missing:
    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
"""Stands for a value that does not exist, where None would be JSON's null."""


def parse_place(text: str) -> Steps:
    """The steps of a path: ``spec.ports[].number``, or ``spec.limits.*.value`` for a field in each value of a map.

    Raises:
        ValueError: the text is not a path of a field, or conversions must not change that field.
    """
    steps: list[str] = []
    for name in text.split("."):
        bare = name
        while bare.endswith("[]"):
            bare = bare.removesuffix("[]")
        if not bare or "[" in bare:
            raise ValueError(f"{text!r} is not a field's place, such as 'spec.replicas' or 'spec.ports[].number'")
        steps += [bare, *[EACH] * ((len(name) - len(bare)) // 2)]
    if steps[0] in ("apiVersion", "kind", "metadata", ENTRY):
        raise ValueError(f"{text!r}: {steps[0]} can't be changed by conversions")
    return tuple(steps)


def is_many(step: str) -> bool:
    """Whether the step goes into each item of a list, or each value of a map."""
    return step in (EACH, ENTRY)


class Draft:
    """A copy of a document that can be changed. It shares all unchanged parts with the original."""

    __slots__ = ("_own", "root")

    def __init__(self, document: dict[str, JSON]) -> None:
        self.root = dict(document)
        self._own: dict[int, JSON] = {id(self.root): self.root}

    def pop(self, steps: Steps) -> list[tuple[Place, JSON]]:
        """Takes every value at ``steps``; returns each with the indexes and keys that lead to it. Fields are removed;
        items of lists and entries of maps stay until `put` replaces them.
        """
        values: list[tuple[Place, JSON]] = []
        for parent, indexes in list(self._parents(self.root, steps[:-1], ())):
            last = steps[-1]
            if not is_many(last):
                if isinstance(parent, dict) and last in parent:
                    values.append((indexes, parent.pop(last)))
            else:
                values += [((*indexes, key), parent[key]) for key in _keys(parent)]  # `put` replaces them
        return values

    def put(self, steps: Steps, indexes: Place, value: JSON) -> bool:
        """Sets one value, creating missing objects on the path; returns False if there is no such item of a list or
        entry of a map.
        """
        node: JSON = self.root
        remaining = iter(indexes)
        for step in steps[:-1]:
            key: str | int = next(remaining) if is_many(step) else step
            if isinstance(node, dict) and not is_many(step) and not isinstance(node.get(key), dict | list):
                child: dict[str, JSON] = {}
                node[key] = child
                self._own[id(child)] = child
            if not _has(node, key):
                return False
            node = self._child(node, key)
        last: str | int = next(remaining) if is_many(steps[-1]) else steps[-1]
        if isinstance(node, list):
            if not isinstance(last, int) or last >= len(node):
                return False
            node[last] = value
        elif isinstance(node, dict):
            node[last] = value
        return isinstance(node, dict | list)

    def fill(self, steps: Steps, value: JSON) -> None:
        """Sets the value in every existing parent object that does not have this field."""
        for parent, _ in list(self._parents(self.root, steps[:-1], ())):
            if isinstance(parent, dict):
                parent.setdefault(steps[-1], value)

    def _parents(self, node: JSON, steps: Steps, indexes: Place) -> Iterator[tuple[JSON, Place]]:
        """The objects and lists at ``steps``, copied so that the draft may change them, each with the indexes and keys
        that lead to it.
        """
        if not steps:
            if isinstance(node, dict | list):
                yield node, indexes
            return
        head, *rest = steps
        if not is_many(head):
            if isinstance(node, dict) and isinstance(node.get(head), dict | list):
                yield from self._parents(self._child(node, head), tuple(rest), indexes)
            return
        for key in _keys(node):
            if isinstance(node[key], dict | list):
                yield from self._parents(self._child(node, key), tuple(rest), (*indexes, key))

    def _child(self, node: JSON, key: str | int) -> JSON:
        child = node[key]
        if id(child) not in self._own:
            child = child.copy()
            node[key] = child
            self._own[id(child)] = child
        return child


def _keys(node: JSON) -> list[Any]:
    if isinstance(node, list):
        return list(range(len(node)))
    return list(node) if isinstance(node, dict) else []


def _has(node: JSON, key: str | int) -> bool:
    if isinstance(node, list):
        return isinstance(key, int) and key < len(node)
    return isinstance(node, dict) and isinstance(node.get(str(key)), dict | list)
