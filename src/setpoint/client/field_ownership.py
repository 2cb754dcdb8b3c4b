"""Transfers the ownership of fields from managers that own them through updates to a manager that applies them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, TypeVar

from setpoint.client.errors import Conflict
from setpoint.client.reading import Reading
from setpoint.client.verb_options import Patch, PatchType
from setpoint.client.writing import Writing
from setpoint.meta import Object, plain, raw_of

K = TypeVar("K", bound=Object)
TRIES: Final = 5


class TakingOver(Reading, Writing):
    """The migration from client-side to server-side apply; a part of `setpoint.client.Client`."""

    async def take_over(
        self, obj: K, managers: Collection[str], *, field_manager: str | None = None, subresource: str = ""
    ) -> K:
        """Makes ``field_manager`` (default: the client's) the owner of the fields that ``managers`` own through
        updates, as if it had applied them; returns the object as it is afterwards.

        Do this once, before the first server-side `apply` of an object that was written with client-side apply
        (kubectl's manager is ``kubectl-client-side-apply``) or with updates. Otherwise fields that an apply leaves out
        would stay forever, because a manager removes only fields that it owns. The values of the object's fields don't
        change. If ``managers`` own nothing through updates, nothing is written.

        Raises:
            NotFound: the object does not exist.
            Conflict: other clients changed the object during every attempt.
        """
        from setpoint.patch.managed_fields_migration import (
            migration_patch,  # clients that don't migrate need not pay for it
        )

        manager = self._manager(field_manager)
        for attempt in range(TRIES):
            current = await self.get(type(obj), obj.name, namespace=obj.namespace or None)
            raw = raw_of(current)
            assert raw is not None
            operations = migration_patch(plain(raw), managers, manager, subresource=subresource)
            if operations is None:
                return current
            patch = Patch(operations, PatchType.JSON, before=raw)
            try:
                return await self.patch(type(obj), obj.name, patch, namespace=obj.namespace or None)
            except Conflict:
                if attempt == TRIES - 1:
                    raise
        raise AssertionError("unreachable")
