"""Status draft: the status of one object during a reconcile, changed in place and written once, at the end."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import datetime
from functools import cache
from typing import Any, Final, TypeAlias, cast, get_args, get_origin

import msgspec

from setpoint.client.patches import edited
from setpoint.controller.controls import HANDLED, PAUSED, PAUSED_REASON
from setpoint.controller.declaration import RECONCILED
from setpoint.meta import (
    ApiModel,
    Condition,
    Object,
    decode_as_read,
    find_condition,
    raw_of,
    remove_condition,
    set_condition,
    to_wire,
)
from setpoint.meta.model_fields import alternatives, bare, fields_of, is_record
from setpoint.patch import merge_patch

MAX_MESSAGE = 1024
RECONCILING: Final = "Reconciling"
STALLED: Final = "Stalled"
"""With `RECONCILING`, the conditions by which kstatus tells objects that are not as wanted; other tools follow it.
https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md
"""
FAILED: Final = "ReconcileFailed"
"""The reason of these conditions if a `StatusDraft` has set them."""
_CONDITIONS = "conditions"
_GONE: Final = object()

Json: TypeAlias = dict[str, Any]
_fingerprint = msgspec.json.Encoder(enc_hook=str).encode


class StatusDraft:
    """An object's status at the beginning of a reconcile, and the patch to write at its end.

    *Guarantees*: ``observed_generation`` is the generation that was reconciled; a condition's ``last_transition_time``
    changes exactly when its ``status`` changes; a condition that was set in an owned status carries the generation that
    it was set for.

    The patch is the difference from the JSON that was read, so fields that are unknown to the model or belong to other
    managers stay. Conditions are identified by their ``type``, as in upstream's schemas
    (``x-kubernetes-list-map-keys``): conditions that this reconcile did not touch stay as they are on the server.

    ``generations`` says whether the object's generation counts only changes of the wanted state. If the status is not a
    subresource, a write of the status increases the generation, too; in that case the generation is not recorded,
    because each record would lead to another write.

    ``failure`` is the type of the condition that reports failures. No other controller uses the same type, so only the
    success of the same controller removes its report, even after a restart or in another process.
    """

    __slots__ = ("_before", "_failure", "_generation", "_obj", "_owned", "contested")

    def __init__(self, obj: Object, *, owned: bool, generations: bool = True, failure: str = RECONCILED) -> None:
        self._obj = obj
        self._owned = owned
        self.contested: list[str] = []
        """The fields that the last `patch` left to another writer, as dotted paths."""
        self._failure = failure
        self._generation = obj.metadata.generation if generations else 0
        status = getattr(obj, "status", None)
        self._before = _fingerprint(status) if status is not None else b""

    def report(self, *, reason: str, message: str, final: bool, now: datetime) -> None:
        """Sets this controller's condition to say that the reconcile failed, if the status has conditions and
        belongs to this controller. Without a further attempt (``final``) the object is also stalled, else reconciling:
        tools that know only the conditions of kstatus would take it for current. A condition of these two types that
        the program sets stays as it is.
        """
        conditions = self._conditions()
        if conditions is None:
            return
        failed = Condition(type=self._failure, status="False", reason=reason, message=message[:MAX_MESSAGE])
        reported = [failed]
        if self._failure == RECONCILED:
            _withdraw(conditions)
        state = STALLED if final else RECONCILING
        if self._failure == RECONCILED and find_condition(conditions, state) is None:
            reported.append(Condition(type=state, status="True", reason=FAILED, message=failed.message))
        for condition in reported:
            condition.observed_generation = self._generation
            set_condition(conditions, condition, now=now)

    def succeeded(self) -> None:
        """Removes an earlier `report`: the status of a healthy object does not mention past failures."""
        conditions = self._conditions()
        if conditions and any(
            condition.type == self._failure and condition.status != "True" for condition in conditions
        ):
            remove_condition(conditions, self._failure)
        if conditions and self._failure == RECONCILED:
            _withdraw(conditions)

    def shows_pause(self, annotation: str, message: str) -> bool:
        """Whether the status says that ``annotation`` pauses the object, or can't say so: it has no conditions, belongs
        to another program, or has a condition about another annotation.
        """
        conditions = self._conditions()
        present = find_condition(conditions or [], PAUSED)
        if conditions is None or present is None or present.reason != PAUSED_REASON:
            return conditions is None
        if annotation not in present.message:
            return True
        return (present.message, present.observed_generation) == (message[:MAX_MESSAGE], self._generation)

    def pause(self, message: str, *, now: datetime) -> None:
        """Sets the condition of a paused object."""
        condition = Condition(type=PAUSED, status="True", reason=PAUSED_REASON, message=message[:MAX_MESSAGE])
        condition.observed_generation = self._generation
        if (conditions := self._conditions()) is not None:
            set_condition(conditions, condition, now=now)

    @property
    def acknowledged(self) -> str | None:
        """The last request for a reconcile in the status; None if the status has no field for it."""
        status = getattr(self._obj, "status", None)
        value = getattr(status, HANDLED, None) if self._owned else None
        return value if isinstance(value, str) else None

    def acknowledge(self, request: str) -> None:
        """Notes in the status that the request for a reconcile was carried out."""
        status: Any = getattr(self._obj, "status", None)
        status.last_handled_reconcile_at = request

    def resume(self, annotation: str) -> None:
        """Removes the condition of an object that ``annotation`` pauses."""
        conditions = self._conditions() or []
        present = find_condition(conditions, PAUSED)
        if present is not None and present.reason == PAUSED_REASON and annotation in present.message:
            remove_condition(conditions, PAUSED)

    def patch(
        self, *, observed: bool, now: Callable[[], datetime], onto: Object | None = None, yields: bool = False
    ) -> Json | None:
        """The merge patch of the status; None if there is nothing to write.

        ``observed`` says whether the reconcile got far enough for the status to describe this generation. ``onto`` is
        the newer state of the object, if it has changed since it was read: the patch makes the same changes there. With
        ``yields``, a field of ``onto`` whose value differs both from the value that was read and from this draft's
        value stays as it is in ``onto``, and `contested` names it.

        Raises:
            ValueError: the object was not read from a server.
            TypeError: the status contains a value that cannot be encoded.
        """
        status = getattr(self._obj, "status", None)
        if status is None:
            return None
        generation = self._generation
        changed = _fingerprint(status) != self._before
        tracks = bool(generation) and hasattr(status, "observed_generation")
        if not changed and not (self._owned and observed and tracks and status.observed_generation != generation):
            return None
        original = getattr(_as_read(self._obj), "status", None)
        if changed:
            # Only an owner's conditions get its generation: another one would leave those it does not set behind.
            _settle_conditions(original, status, generation if self._owned else 0, now().replace(microsecond=0))
        if observed and tracks and self._owned:
            status.observed_generation = generation
        base = _status_of(self._obj)
        read = base if onto is None else _status_of(onto)
        before: Json = to_wire(original) if original is not None else {}
        ours = _edited(base, before, to_wire(status), edited)
        wanted = ours if onto is None else _edited(read, base, ours, _rebased)
        self.contested = []
        if yields:
            for path in _contested(base, read, ours):
                wanted = _with_field_of(wanted, read, path)
                self.contested.append(".".join(path))
        if self._owned:
            _spell_out(wanted, status)
        return merge_patch.diff(read, wanted) or None

    def pristine(self) -> Object:
        """The object as it was read, for another draft."""
        return _as_read(self._obj)

    def _conditions(self) -> list[Any] | None:
        status = getattr(self._obj, "status", None)
        if (
            not is_record(type(status))
            or not self._owned
            or isinstance(self._obj, ApiModel)
            or not _has_conditions(cast("Hashable", type(status)))
        ):
            return None  # which conditions a built-in kind has, its own API says
        conditions: Any = getattr(status, _CONDITIONS)
        is_typed = isinstance(conditions, list) and all(isinstance(condition, Condition) for condition in conditions)
        return conditions if is_typed else None


def _withdraw(conditions: list[Any]) -> None:
    """Removes the conditions of kstatus that `StatusDraft.report` has set."""
    for state in (RECONCILING, STALLED):
        present = find_condition(conditions, state)
        if present is not None and present.reason == FAILED:
            remove_condition(conditions, state)


@cache
def _has_conditions(status: Any) -> bool:
    """Whether a status of this class has a list of `Condition`."""
    declared = next((field.type for field in fields_of(status) if field.name == _CONDITIONS), None)
    lists = [get_args(choice) for choice in alternatives(declared) if get_origin(choice) is list]
    return any(isinstance(item := bare(items[0]), type) and issubclass(item, Condition) for items in lists)


def _as_read(obj: Object) -> Object:
    raw = raw_of(obj)
    if raw is None:
        raise ValueError(f"{obj.kind} {obj.key} was not read from a server: there is nothing to patch")
    return decode_as_read(type(obj), raw)[0]


def _edited(read: Json, before: Json, after: Json, edit: Callable[[Any, Any, Any], Any]) -> Json:
    """``read`` with the edit that led from ``before`` to ``after``; conditions are identified by their types, and
    ``edit`` does the same for everything else.
    """
    conditions = read.get(_CONDITIONS) or []
    merged = _merged(conditions, before.get(_CONDITIONS) or [], after.get(_CONDITIONS) or [])
    if merged is None:
        wanted: Json = edit(read, before, after)
        return wanted
    rest = [{name: value for name, value in status.items() if name != _CONDITIONS} for status in (read, before, after)]
    wanted = dict(edit(*rest))
    if merged or (not conditions and _CONDITIONS in read):
        wanted[_CONDITIONS] = merged
    return wanted


def _rebased(theirs: Any, base: Any, ours: Any) -> Any:
    """``theirs`` with the changes that lead from ``base`` to ``ours``. A list is one value: another writer may have put
    anything at its places.
    """
    if ours == base:
        return theirs
    if not (isinstance(theirs, dict) and isinstance(ours, dict)):
        return ours
    was = base if isinstance(base, dict) else {}
    values = {
        key: _rebased(theirs.get(key, _GONE), was.get(key, _GONE), ours.get(key, _GONE)) for key in {**theirs, **ours}
    }
    return {key: value for key, value in values.items() if value is not _GONE}


def _merged(conditions: list[Any], before: list[Any], after: list[Any]) -> list[Any] | None:
    """The conditions in ``found``, with the changes that led from ``before`` to ``after``; None if conditions cannot be
    identified by their types.
    """
    present, old, new = _by_type(conditions), _by_type(before), _by_type(after)
    if present is None or old is None or new is None:
        return None
    result = []
    for name, condition in present.items():
        if name not in new:
            if name not in old:
                result.append(condition)
        elif old.get(name) == new[name]:
            result.append(condition)
        else:
            # As a whole: one writer's status with another's reason would be true for neither.
            original = old.get(name, {})
            wanted = {**{key: value for key, value in condition.items() if key not in original}, **new[name]}
            if name not in old and wanted.get("status") == condition.get("status"):  # another writer was first
                wanted = {**wanted, **{key: condition[key] for key in ("lastTransitionTime",) if key in condition}}
            result.append(wanted)
    result += [condition for name, condition in new.items() if name not in present and old.get(name) != condition]
    return result


def _status_of(obj: Object) -> Json:
    raw = raw_of(obj)
    status: Json = (msgspec.json.decode(raw).get("status") or {}) if raw is not None else {}
    return status


def _contested(base: Any, theirs: Any, ours: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The fields to which two writers gave different values since ``base``; a condition counts as one field, named by
    its type.
    """
    if _GONE not in (theirs, ours) and path == (_CONDITIONS,):
        by_type = [_by_type(value if isinstance(value, list) else []) for value in (base, theirs, ours)]
        if None not in by_type:
            base, theirs, ours = (
                {name: _without_time(value) for name, value in (paths or {}).items()} for paths in by_type
            )
            names = [name for name in ours if _differ(*(value.get(name, _GONE) for value in (base, theirs, ours)))]
            return [(*path, name) for name in names]
    if not _differ(base, theirs, ours):
        return []
    if isinstance(theirs, dict) and isinstance(ours, dict):
        was = base if isinstance(base, dict) else {}
        paths = []
        for key in {**theirs, **ours}:
            paths += _contested(was.get(key, _GONE), theirs.get(key, _GONE), ours.get(key, _GONE), (*path, key))
        return paths
    return [path]


def _differ(base: Any, theirs: Any, ours: Any) -> bool:
    """Whether both writers have changed the value, in different ways."""
    return bool(ours != theirs and ours != base and theirs != base)


def _without_time(condition: Json) -> Json:
    return {name: value for name, value in condition.items() if name != "lastTransitionTime"}


def _with_field_of(ours: Json, theirs: Json, path: tuple[str, ...]) -> Json:
    """``ours``, with the field at ``path`` as it is in ``theirs``."""
    name, *rest = path
    if name == _CONDITIONS and rest:
        mine, their = (_by_type(status.get(_CONDITIONS) or []) or {} for status in (ours, theirs))
        merged = {**mine, **({rest[0]: their[rest[0]]} if rest[0] in their else {})}
        return {**ours, _CONDITIONS: list(merged.values())}
    if rest:
        return {**ours, name: _with_field_of(ours.get(name) or {}, theirs.get(name) or {}, tuple(rest))}
    entries = {key: value for key, value in ours.items() if key != name}
    return {**entries, name: theirs[name]} if name in theirs else entries


def _by_type(conditions: list[Any]) -> dict[str, Any] | None:
    named = {
        condition["type"]: condition
        for condition in conditions
        if isinstance(condition, dict) and isinstance(condition.get("type"), str)
    }
    return named if len(named) == len(conditions) else None


def _spell_out(wanted: Json, status: Any) -> None:
    """Adds to ``wanted`` the plain values that equal their defaults, because they are otherwise left out. A server adds
    no defaults to a status, and ``kubectl get`` should show ``0`` and not an empty column.
    """
    for field in fields_of(type(status)):
        if field.encode_name in wanted or field.name == "observed_generation":  # 0 there means never
            continue
        value = to_wire(getattr(status, field.name))
        if isinstance(value, bool | int | float) or (isinstance(value, str) and value):
            wanted[field.encode_name] = value


def _settle_conditions(original: Any, status: Any, generation: int, now: datetime) -> None:
    """Sets the transition times and generations of the conditions that were set during the reconcile."""
    before = {condition.type: condition for condition in getattr(original, _CONDITIONS, None) or ()}
    for condition in getattr(status, _CONDITIONS, None) or ():
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
        # A condition without a generation, or with that of the last one, was set in this reconcile.
        generation_set = condition.observed_generation
        if not generation_set or (old is not None and generation_set == old.observed_generation):
            condition.observed_generation = generation
