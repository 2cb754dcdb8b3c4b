"""The objects that an object holds up: those whose state it causes, and those whose reason mentions it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

from setpoint.cluster.object_browser.inventory import Inventory, InventoryItem
from setpoint.cluster.object_browser.problem_causes import RANK, Reasons
from setpoint.cluster.object_browser.text_links import Mentions

TURN: Final = 500
"""The number of objects to examine before other tasks may run."""


async def affected_by(
    resource: str, key: str, inventory: Inventory, reasons: Reasons, mentions: Mentions
) -> list[tuple[str, InventoryItem]]:
    """The objects that are not in their wanted state because of the object with that resource and key, the worst first.
    The object itself need not exist. Objects whose owner is held up as well are left out, so the result contains a
    Deployment but not its pods.
    """
    objects: dict[str, tuple[str, InventoryItem]] = {}
    for looked, (name, item) in enumerate(inventory.all()):
        if not looked % TURN:
            await asyncio.sleep(0)
        if (name, item.key) == (resource, key) or reasons.state(item) == "current":
            continue
        if (resource, key) in _behind(name, item, reasons, mentions):
            objects[item.uid] = (name, item)
    tops = [top for top in objects.values() if not any(owner in objects for owner in top[1].owners)]
    return sorted(tops, key=lambda top: (RANK[reasons.state(top[1])], top[0], top[1].key))


def _behind(name: str, item: InventoryItem, reasons: Reasons, mentions: Mentions) -> Iterator[tuple[str, str]]:
    """The resource and key of each object that causes the object's state or that the text of a reason names."""
    for resource, cause in (*reasons.of(name, item).roots, (name, item)):
        if cause is not item:
            yield resource, cause.key
        for part in mentions.parts(reasons.of(resource, cause).text, cause.record.namespace):
            yield part.resource, part.key
