"""Garbage writes: how the garbage collector changes objects, always on condition that they are the ones it judged."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any

from setpoint.cache import Head
from setpoint.client import Client, NotFound, PatchType, Propagation
from setpoint.meta import Object

logger = logging.getLogger("setpoint.gc")


class GarbageWrites:
    """Deletes objects, and patches their owner references and finalizers.

    A deletion names the object's uid, a patch also its version: a write that is based on an old view changes nothing.
    An object that has gone meanwhile is left alone.

    Raises, in all methods:
        Conflict: the object has changed since it was read, so it has to be judged once more.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    async def delete(self, kind: type[Object], head: Head, policy: Propagation) -> None:
        """Deletes the object; ``policy`` is the propagation policy for its own dependents."""
        try:
            await self._client.delete(
                kind, head.name, namespace=head.namespace or None, uid=head.uid, propagation=policy
            )
        except NotFound:
            return
        logger.info("deleted", extra={"fields": {"kind": kind.resource.kind, "key": head.key, "policy": policy}})

    async def drop_owners(self, kind: type[Object], head: Head, uids: Collection[str]) -> None:
        """Removes the references to the owners with these uids."""
        await self._patch(
            kind, head, {"ownerReferences": [item for item in _wire(head) if item["uid"] not in uids] or None}
        )

    async def unblock(self, kind: type[Object], head: Head) -> None:
        """Lets all owners be deleted before this object."""
        references = [{**item, "blockOwnerDeletion": False} for item in _wire(head)]
        await self._patch(kind, head, {"ownerReferences": references})

    async def remove_finalizer(self, kind: type[Object], head: Head, finalizer: str) -> None:
        rest = [name for name in head.finalizers if name != finalizer]
        await self._patch(kind, head, {"finalizers": rest or None})

    async def _patch(self, kind: type[Object], head: Head, metadata: dict[str, Any]) -> None:
        body = {"metadata": {"uid": head.uid, "resourceVersion": head.resource_version, **metadata}}
        try:
            await self._client.patch(
                kind,
                head.name,
                body,
                type=PatchType.MERGE,
                namespace=head.namespace or None,
                field_manager="garbage-collector",
            )
        except NotFound:
            return


def _wire(head: Head) -> list[dict[str, Any]]:
    return [
        {
            key: value
            for key, value in (
                ("apiVersion", reference.api_version),
                ("kind", reference.kind),
                ("name", reference.name),
                ("uid", reference.uid),
                ("controller", reference.controller),
                ("blockOwnerDeletion", reference.block_owner_deletion),
            )
            if value is not None
        }
        for reference in head.owner_references
    ]
