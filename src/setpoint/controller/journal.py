"""Journal: an object's record of the resources that a controller creates and deletes for it in an external system.

An external system may carry out a create although its answer is lost, or although the process dies before it can save
the answer. A process that then repeats the create makes a second resource. The journal writes the intent before the
create and the result after it, as an annotation on the object, so a later process knows that a resource may exist.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, TypeAlias

from setpoint.controller.context import Context
from setpoint.controller.outcome import Unsettled
from setpoint.meta import Object, format_time, parse_time
from setpoint.meta.names import qualified_name

Create: TypeAlias = Callable[[str], Awaitable[str]]
Find: TypeAlias = Callable[[str], Awaitable[str | None]]
Delete: TypeAlias = Callable[[str], Awaitable[None]]
SETTLE: Final = 30.0


class Entry(NamedTuple):
    """The record of an external resource in the journal: its ``id``, empty while a create may be unfinished, and the
    time at which the create began. Both are empty if another client has overwritten the record.
    """

    id: str = ""
    started_at: datetime | None = None


class Journal:
    """Keeps one resource in an external system for each object.

    ```python
    buckets = sp.Journal("cloud.example.com/bucket")

    async def reconcile(app: App, ctx: sp.Context) -> None:
        cloud = ctx.state(Cloud)
        bucket = await buckets.ensure(ctx, create=lambda token: cloud.create(tag=token), find=cloud.find_by_tag)

    async def clean_up(app: App, ctx: sp.Context) -> None:
        cloud = ctx.state(Cloud)
        await buckets.remove(ctx, find=cloud.find_by_tag, delete=cloud.delete)

    controller = sp.Controller(App, reconcile).finalize(clean_up)
    ```

    ``token`` is the same in every attempt for one object and different for every other object. ``create`` stores it
    with the resource that it makes (as a tag, a label, an idempotency key), and ``find`` returns the id of the resource
    that has the token, or None. ``delete`` must not fail if the resource is gone.

    *Guarantees*, even if a process dies, an answer is lost or two processes act at once

    - Nothing is created before the intent is on the server. The write of the intent names the version of the object
      that was read, so only one of two processes goes on.
    - After an unfinished create, nothing is created again until ``find`` has found no resource and ``settle`` seconds
      have passed since the intent. So only one resource exists, provided that ``find`` sees a create no later than
      ``settle`` seconds after the create was begun.
    - A resource that was deleted in the external system is created again: `ensure` calls ``find`` each time, and an
      absence counts when ``settle`` seconds have passed since the create was begun.
    - No object is stuck: after ``settle`` seconds `ensure` creates once more, with the same token, and `remove`
      assumes that nothing was created.
    - `remove` deletes the resource that an interrupted create left behind.

    *Caveats*: ``settle`` is measured with the clocks of the processes, so it has to be longer than the difference
    between them. No program can safely use a system that can neither store a token nor find a resource by its token.
    The annotation is bound to one object: a copy of the object with a different uid begins with an empty journal.

    Args:
        name: name of the annotation, such as ``cloud.example.com/bucket``.
        settle: seconds that a create may take to become visible.

    Raises:
        ValueError: the name is not a qualified name, or ``settle`` is negative.
    """

    def __init__(self, name: str, *, settle: float = SETTLE) -> None:
        if problems := qualified_name(name):
            raise ValueError(f"Journal({name!r}): {problems[0]}")
        if settle < 0:
            raise ValueError(f"Journal({name!r}): settle must not be negative, not {settle}")
        self.name = name
        self.settle = settle

    def id(self, obj: Object) -> str:
        """The id in the object's journal; ``""`` if the journal has none."""
        entry = self._entry(obj)
        return entry.id if entry is not None else ""

    def token(self, obj: Object) -> str:
        """The token that marks this object's resource in the external system."""
        return f"{self.name.rpartition('/')[2]}-{obj.uid}"

    async def ensure(self, ctx: Context, *, create: Create, find: Find) -> str:
        """Creates the resource if it does not exist, and returns its id. Each call looks for the resource once with
        ``find``.

        An exception that ``create`` raises propagates to the reconcile; the next reconcile looks for a resource that
        may have been created.

        Raises:
            Unsettled: it is not known yet whether the resource exists; the reconcile is tried again when it is known.
            Conflict: the object has changed since it was read; the reconcile is tried again.
            RuntimeError: the controller has no clean-up, or the object is being deleted.
        """
        obj = ctx.object
        entry = self._entry(obj)
        token = self.token(obj)
        external_id = await find(token) if entry is not None else None
        if (
            entry is not None
            and entry.id
            and (external_id == entry.id or (external_id is None and self._seconds_until_settled(ctx, entry) > 0))
        ):
            return entry.id
        if not obj.metadata.finalizers:
            raise RuntimeError(
                f"a journal needs a clean-up, or what it creates is left behind: declare controller {ctx.controller!r} "
                f"with .finalize(...), which calls Journal({self.name!r}).remove"
            )
        if obj.is_deleting:
            raise RuntimeError(f"{obj.kind} {obj.key} is being deleted: nothing is created for it any more")
        started_at = entry.started_at if entry is not None else None
        if external_id is None:
            if entry is not None and not entry.id:
                self._wait(ctx, entry)
            started_at = ctx.now()
            await self._write(ctx, Entry(started_at=started_at), is_guarded=True)
            external_id = await create(token)
        await self._write(ctx, Entry(external_id, started_at))
        return external_id

    async def remove(self, ctx: Context, *, find: Find, delete: Delete) -> None:
        """Deletes the resource if it exists, even if an interrupted create left it behind. Call this method in
        clean-ups.

        Raises:
            Unsettled: it is not known yet whether the resource exists; the clean-up is tried again when it is known.
        """
        entry = self._entry(ctx.object)
        if entry is None:
            return
        external_id: str | None = entry.id
        if not external_id:
            external_id = await find(self.token(ctx.object))
            if external_id is None:
                self._wait(ctx, entry)
        if external_id:
            await delete(external_id)
        await self._write(ctx, None)

    def _wait(self, ctx: Context, entry: Entry) -> None:
        """Returns if a create can no longer become visible; otherwise raises `Unsettled`."""
        remaining = self._seconds_until_settled(ctx, entry)
        if remaining > 0:
            what = f"{ctx.object.kind} {ctx.object.key}"
            raise Unsettled(f"whether {self.name} of {what} was created is known in {remaining:.0f} s", remaining)

    def _seconds_until_settled(self, ctx: Context, entry: Entry) -> float:
        """The number of seconds after which a create becomes visible at the latest; 0.0 if that time has passed."""
        if entry.started_at is None:
            return 0.0
        return max((entry.started_at + timedelta(seconds=self.settle) - ctx.now()).total_seconds(), 0.0)

    def _entry(self, obj: Object) -> Entry | None:
        text = (obj.metadata.annotations or {}).get(self.name)
        if text is None:
            return None
        try:
            record = json.loads(text)
            if record["uid"] != obj.uid:
                return None  # of the object that this one was copied from
            started_at = record.get("begun")
            return Entry(str(record.get("id") or ""), parse_time(started_at) if started_at else None)
        except (ValueError, KeyError, TypeError, AttributeError):
            return Entry()  # another client has written over it: there may be something to be found

    async def _write(self, ctx: Context, entry: Entry | None, *, is_guarded: bool = False) -> None:
        obj = ctx.object
        text = None
        if entry is not None:
            record = {
                "uid": obj.uid,
                "id": entry.id,
                "begun": format_time(entry.started_at) if entry.started_at else "",
            }
            text = json.dumps({name: value for name, value in record.items() if value})
        metadata: dict[str, Any] = {"annotations": {self.name: text}}
        if is_guarded:
            metadata["resourceVersion"] = obj.metadata.resource_version
        answer = await ctx.patch(obj, {"metadata": metadata})
        obj.metadata.annotations = answer.metadata.annotations
        obj.metadata.resource_version = answer.metadata.resource_version
