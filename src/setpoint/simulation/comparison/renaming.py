"""Renaming: replaces texts wherever they occur in a state, in values, keys and the names of objects alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from setpoint.simulation.comparison.snapshot import Snapshot, sort_snapshot


def rename(
    snapshot: Snapshot, text: Callable[[str], str], number: Callable[[int], int] = lambda value: value
) -> Snapshot:
    """The snapshot with ``text`` applied to all texts, and ``number`` to all whole numbers."""
    return sort_snapshot({text(name): rename_value(items, text, number) for name, items in snapshot.items()})


def rename_value(value: Any, text: Callable[[str], str], number: Callable[[int], int] = lambda value: value) -> Any:
    """``value``, at any depth, with ``text`` applied to all texts, and ``number`` to all whole numbers."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict):
        return {text(key): rename_value(item, text, number) for key, item in value.items()}
    if isinstance(value, list):
        return [rename_value(item, text, number) for item in value]
    return number(value) if type(value) is int else value
