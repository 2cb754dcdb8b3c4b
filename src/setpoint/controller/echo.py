"""Echoes: events that the controller's own writes cause and that carry no new information."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from setpoint.meta import Object, ObjectKey, raw_of
from setpoint.patch import merge_patch


def expect_echo(
    echoes: dict[ObjectKey, tuple[str, ...]],
    before: Object,
    after: Object,
    *,
    status: dict[str, Any] | None = None,
    ignoring: Collection[str] = (),
) -> None:
    """Remembers the version ``after`` if this controller alone changed the object since ``before``: the event that such
    a write causes must not end the back-off of a failing key.

    ``status`` is the merge patch of the status that was sent; ``ignoring`` names other changes that the write made to
    the metadata.
    """
    raw, answer = raw_of(before), raw_of(after)
    if raw is None or answer is None:
        return
    wanted, found = msgspec.json.decode(raw), msgspec.json.decode(answer)
    if status is not None:
        wanted["status"] = merge_patch.apply(wanted.get("status", {}), status)
    for document in (wanted, found):
        for name in ("managedFields", "resourceVersion", *ignoring):
            document["metadata"].pop(name, None)
    if wanted == found:
        key = before.key
        versions = echoes.get(key, (before.metadata.resource_version,))
        echoes[key] = (*versions, after.metadata.resource_version)
