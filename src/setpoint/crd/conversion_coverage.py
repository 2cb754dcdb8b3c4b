"""Checks that a conversion covers every field in which two versions differ."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from setpoint.crd.conversion import Conversion
from setpoint.crd.field_path import EACH, ENTRY, Steps, is_many

JSONSchema = dict[str, Any]
_TOP = ("apiVersion", "kind", "metadata")
_PRESERVE = "x-kubernetes-preserve-unknown-fields"


def format_path(steps: Steps) -> str:
    """The steps as a path in its written form, such as ``spec.ports[].number``."""
    return ".".join(steps).replace(f".{EACH}", EACH)


class Coverage:
    """Compares the schemas of two versions as a conversion maps them.

    ``problems`` are the errors, each with a remedy. ``old_only`` and ``new_only`` are the paths of objects that only
    one version has, and whose fields the conversion declares one by one.
    """

    def __init__(self, conversion: Conversion, old: JSONSchema, new: JSONSchema, old_name: str, new_name: str) -> None:
        self.problems: list[str] = []
        self.old_only: list[Steps] = []
        self.new_only: list[Steps] = []
        self._old_name, self._new_name = old_name, new_name
        self._old = {steps for move in conversion.moves if (steps := move.old)}
        self._new = {steps for move in conversion.moves if (steps := move.new)}
        for function in conversion.functions:
            self._old |= set(function.old)
            self._new |= set(function.new)
        self._places(conversion, old, new)
        if not self.problems:
            self._fields(old, new, (), ())
            for move in conversion.moves:
                if move.old and move.new and move.up is None:
                    self._compare(_at(old, move.old) or {}, _at(new, move.new) or {}, move.old, move.new)

    def _places(self, conversion: Conversion, old: JSONSchema, new: JSONSchema) -> None:
        places: set[tuple[str, Steps]] = set()
        for move in conversion.moves:
            for steps, schema, version in ((move.old, old, self._old_name), (move.new, new, self._new_name)):
                if steps is None:
                    continue
                self._check_place(steps, schema, version)
                if (version, steps) in places:
                    self.problems.append(f"{format_path(steps)} of {version} is declared twice")
                places.add((version, steps))
                if is_many(steps[-1]) and move.up is None:
                    self.problems.append(
                        f"{format_path(steps)}: name the list or map itself, without {steps[-1]} at the end"
                    )
        for function in conversion.functions:
            for steps in function.old:
                self._check_place(steps, old, self._old_name)
            for steps in function.new:
                self._check_place(steps, new, self._new_name)

    def _check_place(self, steps: Steps, schema: JSONSchema, version: str) -> None:
        for length in range(1, len(steps) + 1):
            if _at(schema, steps[:length]) is None:
                parent = _at(schema, steps[: length - 1]) or {}
                matches = get_close_matches(steps[length - 1], list(parent.get("properties", ())), 1, 0.4)
                hint = f"; did you mean {matches[0]!r}?" if matches else ""
                if parent.get("type") == "array":
                    hint = f": {format_path(steps[: length - 1])} is a list, write {format_path(steps[: length - 1])}[]"
                self.problems.append(f"{version} has no field {format_path(steps)}{hint}")
                return

    def _compare(self, old: JSONSchema, new: JSONSchema, at_old: Steps, at_new: Steps) -> None:
        before, after = _shape(old), _shape(new)
        if before != after:
            path = format_path(at_old) if at_old == at_new else f"{format_path(at_old)} (now {format_path(at_new)})"
            change = f".change({format_path(at_old)!r}, {format_path(at_new)!r}, up=..., down=...)"
            shapes = f"{before} in {self._old_name} and {after} in {self._new_name}"
            self.problems.append(f"{path} is {shapes}: declare the change of its values with {change}")
        elif before == "a list":
            self._items(old.get("items", {}), new.get("items", {}), (*at_old, EACH), (*at_new, EACH))
        elif before == "a map":
            inner = old["additionalProperties"], new["additionalProperties"]
            self._items(*inner, (*at_old, ENTRY), (*at_new, ENTRY))
        else:
            self._fields(old, new, at_old, at_new)

    def _items(self, old: JSONSchema, new: JSONSchema, at_old: Steps, at_new: Steps) -> None:
        if at_old not in self._old:
            self._compare(old, new, at_old, at_new)

    def _fields(self, old: JSONSchema, new: JSONSchema, at_old: Steps, at_new: Steps) -> None:
        before: JSONSchema = old.get("properties", {})
        after: JSONSchema = new.get("properties", {})
        for name, part in before.items():
            here, renamed = (*at_old, name), (*at_new, name)
            if here in self._old or (not at_old and name in _TOP):
                continue
            if name in after and renamed not in self._new:
                self._compare(part, after[name], here, renamed)
            else:
                self._alone(part, here, self._old, self.old_only, (self._old_name, self._new_name), "drop")
        for name, part in after.items():
            here, renamed = (*at_old, name), (*at_new, name)
            if renamed in self._new or (not at_new and name in _TOP) or (name in before and here not in self._old):
                continue
            self._alone(part, renamed, self._new, self.new_only, (self._new_name, self._old_name), "add")

    def _alone(
        self, part: JSONSchema, here: Steps, spoken: set[Steps], only: list[Steps], names: tuple[str, str], word: str
    ) -> None:
        """Handles a field that only one version has at this path: records a problem, unless the field is an object
        whose fields are declared one by one.
        """
        if any(steps[: len(here)] == here for steps in spoken) and "properties" in part:
            only.append(here)
            for name, inner in part["properties"].items():
                if (*here, name) not in spoken:
                    self._alone(inner, (*here, name), spoken, only, names, word)
            return
        self.problems.append(
            f"{format_path(here)} of {names[0]} has no counterpart in {names[1]}: .rename() or .change() it, or "
            f"declare .{word}({format_path(here)!r})"
        )


def _at(schema: JSONSchema, steps: Steps) -> JSONSchema | None:
    node: Any = schema
    for step in steps:
        if is_many(step):
            inner = node.get("items" if step == EACH else "additionalProperties")
        else:
            inner = node.get("properties", {}).get(step)
        if not isinstance(inner, dict):
            return {_PRESERVE: True} if node.get(_PRESERVE) else None
        node = inner
    return dict(node)


def _shape(schema: JSONSchema) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "an int-or-string"
    kind = schema.get("type", "")
    if kind == "array":
        return "a list"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return "a map"
    if kind == "object":
        return "an object" if "properties" in schema else "a free-form object"
    return {"integer": "an integer", "": "anything"}.get(kind, f"a {kind}")
