"""Echoes: events of writes that the controller made itself and that say nothing new."""

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
    """Remembers that the step from ``before`` to ``after`` was only this controller's, if that is so: its event must
    not end the back-off of a key that fails.

    ``status`` is the merge patch of the status that was sent; ``ignoring`` names what else the write changed in the
    metadata.
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
