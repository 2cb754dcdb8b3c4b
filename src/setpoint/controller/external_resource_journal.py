"""Journal: an object's record of the resources that a controller creates and deletes for it in an external system.

An external system may carry out a create although its answer is lost, or although the process dies before it can save
the answer. A process that then repeats the create makes a second resource. The journal writes the intent before the
create and the result after it, as an annotation on the object, so a later process knows that a resource may exist.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from setpoint.controller.context import Context
from setpoint.controller.outcome import Unconfirmed
from setpoint.meta import Object, format_time, parse_time
from setpoint.meta.names import qualified_name

Create: TypeAlias = Callable[[str], Awaitable[str]]
Find: TypeAlias = Callable[[str], Awaitable[str | None]]
Delete: TypeAlias = Callable[[str], Awaitable[None]]


class Entry(NamedTuple):
    """The record of an external resource in the journal: its ``id``, empty while a create may be unfinished, the time
    at which the create began, and the time at which the resource was last found. All are empty if another client has
    overwritten the record.
    """

    id: str = ""
    started_at: datetime | None = None
    checked: datetime | None = None


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
    - After an unfinished create, nothing is created again until ``find`` has found no resource and ``visible_within``
      seconds have passed since the intent. So only one resource exists, provided that ``find`` sees a create no later
      than ``visible_within`` seconds after the create was begun.
    - A resource that was deleted in the external system is created again: `ensure` calls ``find`` each time, or with
      ``recheck`` when that many seconds have passed since the resource was last found. An absence counts when
      ``visible_within`` seconds have passed since the create was begun.
    - No object is stuck: after ``visible_within`` seconds `ensure` creates once more, with the same token, and `remove`
      assumes that nothing was created. These seconds begin anew where the clock was set back.
    - `remove` deletes the resource that an interrupted create left behind.

    *Caveats*: ``visible_within`` is measured with the clocks of the processes, so it has to be longer than the
    difference between them, and than a process may stand still between the intent and the create.
    Nothing wakes the object when its resource is deleted: return `after` from the reconcile. No program can safely
    use a system that can neither store a token nor find a resource by its token.
    The annotation is bound to one object: a copy of the object with a different uid begins with an empty journal.

    Args:
        name: name of the annotation, such as ``cloud.example.com/bucket``.
        visible_within: seconds that a create may take to become visible to ``find``.
        recheck: seconds for which `ensure` trusts the journal after it has found the resource, so that it does not ask
            the external system at every reconcile; the time is written to the object. By default it asks each time.

    Raises:
        ValueError: the name is not a qualified name, or a number of seconds is negative.
    """

    def __init__(self, name: str, *, visible_within: float = 30.0, recheck: float = 0.0) -> None:
        if problems := qualified_name(name):
            raise ValueError(f"Journal({name!r}): {problems[0]}")
        for option, seconds in (("visible_within", visible_within), ("recheck", recheck)):
            if seconds < 0:
                raise ValueError(f"Journal({name!r}): {option} must not be negative, not {seconds}")
        self.name = name
        self.visible_within = visible_within
        self.recheck = recheck

    def id(self, obj: Object) -> str:
        """The id in the object's journal; ``""`` if the journal has none."""
        entry = self._entry(obj)
        return entry.id if entry is not None else ""

    def token(self, obj: Object) -> str:
        """The token that marks this object's resource in the external system."""
        return f"{self.name.rpartition('/')[2]}-{obj.uid}"

    async def ensure(self, ctx: Context, *, create: Create, find: Find) -> str:
        """Creates the resource if it does not exist, and returns its id. A call looks for the resource once with
        ``find``, unless it was found less than ``recheck`` seconds ago.

        An exception that ``create`` raises propagates to the reconcile; the next reconcile looks for a resource that
        may have been created.

        Raises:
            Unconfirmed: it is not known yet whether the resource exists; the reconcile is tried again when it is known.
            Conflict: the object has changed since it was read; the reconcile is tried again.
            RuntimeError: the controller has no clean-up, or the object is being deleted.
        """
        obj = ctx.object
        entry = self._entry(obj)
        token = self.token(obj)
        if entry is not None and entry.id and 0 < self._seconds_until(ctx, entry.checked, self.recheck) <= self.recheck:
            return entry.id
        external_id = await find(token) if entry is not None else None
        if (
            entry is not None
            and entry.id
            and (external_id == entry.id or (external_id is None and await self._seconds_until_visible(ctx, entry) > 0))
        ):
            if external_id is not None and self.recheck:
                await self._write(ctx, entry._replace(checked=ctx.now()))
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
                await self._wait(ctx, entry)
            started_at = ctx.now()
            await self._write(ctx, Entry(started_at=started_at), is_guarded=True)
            external_id = await create(token)
        await self._write(ctx, Entry(external_id, started_at, ctx.now() if self.recheck else None))
        return external_id

    async def forget(self, ctx: Context) -> None:
        """Forgets the id: the next `ensure` looks for the resource with ``find``, and creates one if there is none.

        Call this method when the external system says that the resource is gone, or after deleting it to have another
        one. It does nothing if the journal has no id.
        """
        entry = self._entry(ctx.object)
        if entry is not None and entry.id:
            await self._write(ctx, Entry(started_at=entry.started_at))

    async def remove(self, ctx: Context, *, find: Find, delete: Delete) -> None:
        """Deletes the resource if it exists, even if an interrupted create left it behind. Call this method in
        clean-ups.

        Raises:
            Unconfirmed: it is not known yet whether the resource exists; the clean-up is tried again when it is known.
        """
        entry = self._entry(ctx.object)
        if entry is None:
            return
        external_id: str | None = entry.id
        if not external_id:
            external_id = await find(self.token(ctx.object))
            if external_id is None:
                await self._wait(ctx, entry)
        if external_id:
            await delete(external_id)
        await self._write(ctx, None)

    async def _wait(self, ctx: Context, entry: Entry) -> None:
        """Returns if a create can no longer become visible; otherwise raises `Unconfirmed`."""
        remaining = await self._seconds_until_visible(ctx, entry)
        if remaining > 0:
            owner = f"{ctx.object.kind} {ctx.object.key}"
            raise Unconfirmed(
                f"it will be known in {remaining:.0f} s whether {self.name} of {owner} was created", remaining
            )

    async def _seconds_until_visible(self, ctx: Context, entry: Entry) -> float:
        """The number of seconds after which a create becomes visible at the latest; 0.0 if that time has passed. If the
        create began in the future of this process's clock, a clock was wrong, and the time begins anew.
        """
        if entry.started_at is not None and entry.started_at > ctx.now():
            entry = entry._replace(started_at=ctx.now())
            await self._write(ctx, entry, is_guarded=True)
        return self._seconds_until(ctx, entry.started_at, self.visible_within)

    def _seconds_until(self, ctx: Context, since: datetime | None, seconds: float) -> float:
        if since is None:
            return 0.0
        return max((since + timedelta(seconds=seconds) - ctx.now()).total_seconds(), 0.0)

    def _entry(self, obj: Object) -> Entry | None:
        text = (obj.metadata.annotations or {}).get(self.name)
        if text is None:
            return None
        try:
            record = json.loads(text)
            if record["uid"] != obj.uid:
                return None  # of the object that this one was copied from
            started_at, checked = (
                parse_time(at) if (at := record.get(name)) else None for name in ("begun", "checked")
            )
            return Entry(str(record.get("id") or ""), started_at, checked)
        except (ValueError, KeyError, TypeError, AttributeError):
            return Entry()  # another client has written over it: there may be something to be found

    async def _write(self, ctx: Context, entry: Entry | None, *, is_guarded: bool = False) -> None:
        obj = ctx.object
        text = None
        if entry is not None:
            times = {"begun": entry.started_at, "checked": entry.checked}
            record = {"uid": obj.uid, "id": entry.id}
            record |= {name: format_time(time) for name, time in times.items() if time is not None}
            text = json.dumps({name: value for name, value in record.items() if value})
        metadata: dict[str, Any] = {"annotations": {self.name: text}}
        if is_guarded:
            metadata["resourceVersion"] = obj.metadata.resource_version
        answer = await ctx.patch(obj, {"metadata": metadata})
        obj.metadata.annotations = answer.metadata.annotations
        obj.metadata.resource_version = answer.metadata.resource_version
