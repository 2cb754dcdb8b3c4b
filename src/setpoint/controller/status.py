"""The status of one object during one reconcile: changed in place, written once at the end, and only if it changed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from setpoint.client.patches import edited
from setpoint.meta import Condition, Object, decode, raw_of, set_condition, to_wire
from setpoint.meta.fields import fields_of
from setpoint.patch import merge_patch

RECONCILED = "Reconciled"
"""The condition that says whether the last reconcile succeeded; it appears with the first failure."""

_fingerprint = msgspec.json.Encoder(enc_hook=str).encode


class StatusDraft:
    """What an object's status was when the reconcile began, and what has to be written at its end.

    *Right by construction*: ``observed_generation`` is the generation that was reconciled; a condition's
    ``last_transition_time`` moves exactly when its ``status`` does; a condition that was set carries the generation
    it speaks of.

    The patch is the difference to the JSON that was read, so that what the model does not know, or other managers
    keep in the status, stays.
    """

    __slots__ = ("_before", "_obj", "_owned")

    def __init__(self, obj: Object, *, owned: bool) -> None:
        self._obj = obj
        self._owned = owned
        status = getattr(obj, "status", None)
        self._before = _fingerprint(status) if status is not None else b""

    def report(self, *, reason: str, message: str, now: datetime) -> None:
        """Says in the `RECONCILED` condition that the reconcile failed, if this status has conditions and is ours."""
        conditions = self._conditions()
        if conditions is not None:
            failed = Condition(type=RECONCILED, status="False", reason=reason, message=message[:1024])
            set_condition(conditions, self._spoken_of(failed), now=now)

    def succeeded(self, *, now: Callable[[], datetime]) -> None:
        """Takes back what `report` said before."""
        conditions = self._conditions()
        if conditions and any(found.type == RECONCILED and found.status != "True" for found in conditions):
            fine = Condition(type=RECONCILED, status="True", reason="Succeeded", message="the last reconcile succeeded")
            set_condition(conditions, self._spoken_of(fine), now=now())

    def patch(self, *, observed: bool, now: Callable[[], datetime]) -> dict[str, Any] | None:
        """The merge patch of the status, None if there is nothing to write.

        ``observed`` says whether the reconcile came far enough for the status to speak of this generation.
        """
        status = getattr(self._obj, "status", None)
        if status is None:
            return None
        generation = self._obj.metadata.generation
        changed = _fingerprint(status) != self._before
        tracks = bool(generation) and hasattr(status, "observed_generation")
        if not changed and not (self._owned and observed and tracks and status.observed_generation != generation):
            return None
        raw = raw_of(self._obj)
        if raw is None:
            raise ValueError(f"{self._obj.kind} {self._obj.key} was not read from a server: there is nothing to patch")
        original = getattr(decode(type(self._obj), raw), "status", None)
        if changed:
            _settle_conditions(original, status, generation, now())
        if observed and tracks and self._owned:
            status.observed_generation = generation
        read = msgspec.json.decode(raw).get("status") or {}
        wanted = edited(read, to_wire(original) if original is not None else {}, to_wire(status))
        if self._owned:
            _spell_out(wanted, status)
        return merge_patch.diff(read, wanted) or None

    def _conditions(self) -> list[Any] | None:
        status = getattr(self._obj, "status", None)
        conditions = getattr(status, "conditions", None) if self._owned else None
        if conditions is None or not (not conditions or isinstance(conditions[0], Condition)):
            return None
        return conditions  # type: ignore[no-any-return]

    def _spoken_of(self, condition: Condition) -> Condition:
        condition.observed_generation = self._obj.metadata.generation
        return condition


def _spell_out(wanted: dict[str, Any], status: Any) -> None:
    """Writes plain values that equal their default, which objects otherwise leave out: of a status nobody fills them
    in, and ``kubectl get`` is to show ``0`` and not nothing."""
    for field in fields_of(type(status)):
        if field.encode_name in wanted or field.name == "observed_generation":  # 0 there means never
            continue
        value = to_wire(getattr(status, field.name))
        if isinstance(value, bool | int | float) or (isinstance(value, str) and value):
            wanted[field.encode_name] = value


def _settle_conditions(original: Any, status: Any, generation: int, now: datetime) -> None:
    """Transition times and generations of the conditions that were set during the reconcile."""
    before = {found.type: found for found in getattr(original, "conditions", None) or ()}
    for condition in getattr(status, "conditions", None) or ():
        old = before.get(condition.type)
        if old == condition or not hasattr(condition, "last_transition_time"):
            continue
        if old is not None and old.status == condition.status:
            condition.last_transition_time = old.last_transition_time or now
        elif condition.last_transition_time is None or (
            old is not None and condition.last_transition_time == old.last_transition_time
        ):
            condition.last_transition_time = now
        if not generation or not hasattr(condition, "observed_generation"):
            continue
        # What was set says nothing, or what it said of the last generation: it was set in this reconcile.
        said = condition.observed_generation
        if not said or (old is not None and said == old.observed_generation):
            condition.observed_generation = generation
