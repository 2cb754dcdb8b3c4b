"""A conversion, prepared to run in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from setpoint.crd.conversion import Change, Conversion, Whole
from setpoint.crd.conversion_coverage import format_path
from setpoint.crd.errors import ConversionError
from setpoint.crd.field_path import MISSING, Draft, Place, Steps
from setpoint.schema import copy_json

JSON = Any


class Direction(msgspec.Struct, frozen=True):
    """A conversion from one version to another. It is pure: its argument is not changed, but the result shares parts
    with it.
    """

    api_version: str
    sources: tuple[tuple[Steps, int], ...]
    """The paths of the values that move, deepest first, so that a parent is moved without children that move elsewhere.
    Each has the index of its move, or -1 if a function converts the value.
    """
    removals: tuple[Steps, ...]
    """The paths of objects that the other version does not have; they are removed after their values
    have been taken.
    """
    destinations: tuple[tuple[Steps, int, Change | None], ...]
    """The destinations, shallowest first, each with the index of its move and the function that changes the value."""
    defaults: tuple[tuple[Steps, JSON], ...]
    functions: tuple[Whole, ...]
    exact: bool
    """Whether the conversion back always returns exactly the same document."""

    def convert(self, document: dict[str, JSON]) -> dict[str, JSON]:
        """The document in the other version, without the values that the other version can't hold.

        Raises:
            ConversionError: a user's function failed, or changed metadata other than labels and annotations.
        """
        draft = Draft(document)
        draft.root["apiVersion"] = self.api_version
        values: dict[int, list[tuple[Place, JSON]]] = {}
        for steps, index in self.sources:
            values[index] = draft.pop(steps)
        for steps in self.removals:
            draft.pop(steps)
        for steps, index, change in self.destinations:
            for place, value in values[index]:
                draft.put(steps, place, value if change is None or value is None else _changed(change, value, steps))
        document_after = draft.root
        for function in self.functions:
            document_after = _completed(function, document, document_after)
        if self.defaults:
            draft = Draft(document_after)
            for steps, default in self.defaults:
                draft.fill(steps, copy_json(default))
            document_after = draft.root
        return document_after


def directions(
    conversion: Conversion, old_version: str, new_version: str, old_only: Sequence[Steps], new_only: Sequence[Steps]
) -> tuple[Direction, Direction]:
    """The conversion to the newer version, and the conversion to the older one."""
    moves = [(move.old, move.new, move.up, move.default) for move in conversion.moves]
    back = [(move.new, move.old, move.down, move.default) for move in conversion.moves]
    calls = conversion.functions
    up = _way(new_version, moves, old_only, [call.up for call in calls], [call.old for call in calls])
    down = _way(old_version, back, new_only, [call.down for call in calls], [call.new for call in calls])
    return up, down


def _way(
    api_version: str,
    moves: Sequence[tuple[Steps | None, Steps | None, Change | None, JSON]],
    alone: Sequence[Steps],
    functions: Sequence[Whole],
    read: Sequence[tuple[Steps, ...]],
) -> Direction:
    takes = [(source, index) for index, (source, _, _, _) in enumerate(moves) if source]
    takes += [(steps, -1) for places in read for steps in places]
    puts = [(target, index, change) for index, (source, target, change, _) in enumerate(moves) if source and target]
    fills = [
        (target, default) for source, target, _, default in moves if target and not source and default is not MISSING
    ]
    lossy = any(target is None or change is not None for _, target, change, _ in moves)
    return Direction(
        api_version=api_version,
        sources=tuple(sorted(takes, key=lambda take: -len(take[0]))),
        removals=tuple(sorted(alone, key=lambda steps: -len(steps))),
        destinations=tuple(sorted(puts, key=lambda put: len(put[0]))),
        defaults=tuple(sorted(fills, key=lambda fill: len(fill[0]))),
        functions=tuple(functions),
        exact=not (lossy or alone or functions),
    )


def _changed(change: Change, value: JSON, steps: Steps) -> JSON:
    try:
        return change(value)
    except Exception as problem:
        raise ConversionError(f"{format_path(steps)}: {value!r}: {type(problem).__name__}: {problem}") from problem


def _completed(function: Whole, document: dict[str, JSON], result: dict[str, JSON]) -> dict[str, JSON]:
    name = getattr(function, "__qualname__", repr(function))
    result = copy_json(result)
    try:
        function(copy_json(document), result)
    except Exception as problem:
        raise ConversionError(f"{name}(): {type(problem).__name__}: {problem}") from problem
    before, after = document.get("metadata", {}), result.get("metadata", {})
    for key in before.keys() | after.keys():
        if key not in ("labels", "annotations") and before.get(key, MISSING) != after.get(key, MISSING):
            raise ConversionError(f"{name}() changed metadata.{key}; only labels and annotations may change")
    return result
