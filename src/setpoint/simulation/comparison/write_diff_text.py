"""Write diff text: one write to an object in a line of text, as the fields that it changed and their values."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from setpoint.simulation.comparison.differences import diff_values, format_value
from setpoint.simulation.trace.history import Entry

_OURS: Final = frozenset({"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"})
"""Fields of the metadata that the server sets."""
_MOST: Final = 4
_LONG: Final = 160


def describe_diff(before: bytes | None, after: bytes) -> str:
    """The fields that a write changed, each with its values before and after; for a new object, its content. The text
    is empty if nothing but the server's own fields differs.
    """
    now = _plain(after)
    if before is None:
        content = {name: value for name, value in now.items() if name not in ("apiVersion", "kind", "metadata")}
        return format_value(content, _LONG) if content else ""
    changed = list(diff_values(_plain(before), now))
    lines = [f"{path}: {format_value(old)} → {format_value(new)}" for path, old, new in changed[:_MOST]]
    more = [f"and {len(changed) - _MOST} more"] if len(changed) > _MOST else []
    return "; ".join([*lines, *more])


def describe_write(verb: str, entry: Entry) -> str:
    """The fields that a write changed, or that its object is gone; empty for a deletion. ``entry`` is the change."""
    if verb in ("delete", "deletecollection"):
        return ""
    if entry.type == "DELETED":
        return "the object is gone"  # the write took its last finalizer away
    return describe_diff(entry.previous, entry.value)


def _plain(raw: bytes) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode(raw)
    meta = {name: value for name, value in document.get("metadata", {}).items() if name not in _OURS}
    return {**document, "metadata": meta}
