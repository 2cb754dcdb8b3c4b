"""``setpoint reconcile``: requests a reconcile of one object now."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from setpoint.cli.pause import Target, annotate, found_object, say, with_client
from setpoint.cli.run_flags import KubeconfigFlags
from setpoint.client import Client, NotFound
from setpoint.controller.controls import PAUSED, PAUSED_REASON, Controls
from setpoint.controller.declaration import RECONCILED
from setpoint.controller.explain.object_listing import ConditionEntry, conditions_of
from setpoint.meta import Object, raw_of
from setpoint.meta.user_error import UserError

_EVERY: Final = 0.5
"""Seconds between two looks at the object."""
_FIELD: Final = "lastHandledReconcileAt"


def reconcile(target: Target, cluster: KubeconfigFlags, timeout: float | None) -> None:
    """Requests a reconcile and, if ``timeout`` is a number of seconds, waits until it has ended.

    Raises:
        UsageError: the kind or the object does not exist, or the kind has no annotation of its own.
        UserError: the object is paused, the reconcile failed, or there was no answer in time.
    """

    async def work(client: Client) -> None:
        obj, annotation = await found_object(client, target, "reconcile-at")
        name = f"{obj.kind} {obj.key}"
        if why := _pause(obj):
            raise UserError(f"{name} is paused: {why}")
        value = datetime.now(UTC).isoformat()
        await annotate(client, obj, {annotation: value})
        if timeout is None:
            say(f"{name}: a reconcile is requested by its annotation {annotation}")
            return
        try:
            async with asyncio.timeout(timeout):
                failure = await _handled(client, obj, Controls(pause="", request=annotation), value)
        except TimeoutError:
            raise UserError(
                f"{name} was not reconciled within {timeout:g} s: see what its controller does with setpoint explain"
            ) from None
        if failure:
            raise UserError(f"{name}: {failure}")
        say(f"{name} is reconciled")

    with_client(cluster, work)


async def _handled(client: Client, obj: Object, controls: Controls, value: str) -> str:
    """Waits until the request is acknowledged or the object is gone; returns the failure in the conditions."""
    while True:
        try:
            present = await client.get(type(obj), obj.name, namespace=obj.namespace or None)
        except NotFound:
            return ""
        if present.uid != obj.uid:
            return ""
        read = msgspec.json.decode(raw_of(present) or b"{}")
        if why := _pause(present):
            return f"it is paused: {why}"
        if value in (_acknowledged(read), present.metadata.annotations.get(controls.acknowledgement)):
            return next((_sentence(condition) for condition in conditions_of(read) if _is_failure(condition)), "")
        await asyncio.sleep(_EVERY)


def _acknowledged(read: Mapping[str, Any]) -> Any:
    status = read.get("status")
    return status.get(_FIELD) if isinstance(status, dict) else None


def _pause(obj: Object) -> str:
    read = msgspec.json.decode(raw_of(obj) or b"{}")
    paused = (
        condition for condition in conditions_of(read) if (condition.type, condition.reason) == (PAUSED, PAUSED_REASON)
    )
    return next((condition.message for condition in paused), "")


def _is_failure(condition: ConditionEntry) -> bool:
    return condition.type.rpartition("/")[2] == RECONCILED and condition.status == "False"


def _sentence(condition: ConditionEntry) -> str:
    return f"{condition.type}={condition.status} ({condition.reason}): {condition.message}"
