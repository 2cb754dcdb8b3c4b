"""The conditions in a status, as in ``meta.k8s.io/v1`` (KEP-1623)."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Literal

from msgspec import Struct, field

MAX_MESSAGE: Final = 32768
"""The maximum length of a condition's message in ``metav1.Condition``, in characters."""
ConditionStatus = Literal["True", "False", "Unknown"]


class Condition(Struct, kw_only=True, omit_defaults=True):
    """An observation about an object: a type such as ``Ready``, whether it holds, since when, and why.

    ``reason`` is a machine-readable word in CamelCase. Upstream's schemas require ``reason`` and ``message``, so both
    are always sent. ``last_transition_time`` changes only when ``status`` does; `set_condition` ensures this. It has
    whole seconds, as ``metav1.Time`` has: fractions are dropped.
    """

    type: str
    status: ConditionStatus | str
    reason: str = field(default_factory=str)  # a factory, so that it is sent even when it is empty
    message: str = field(default_factory=str)
    observed_generation: int = field(name="observedGeneration", default=0)
    last_transition_time: datetime | None = field(name="lastTransitionTime", default=None)

    def __post_init__(self) -> None:
        if self.last_transition_time is not None and self.last_transition_time.microsecond:
            self.last_transition_time = self.last_transition_time.replace(microsecond=0)


def find_condition(conditions: list[Condition], type: str) -> Condition | None:
    """The condition of the given type, or None if there is none."""
    return next((condition for condition in conditions if condition.type == type), None)


def is_condition_true(conditions: list[Condition], type: str) -> bool:
    condition = find_condition(conditions, type)
    return condition is not None and condition.status == "True"


def set_condition(conditions: list[Condition], new: Condition, *, now: datetime) -> bool:
    """Adds ``new`` to ``conditions``, or replaces the condition of the same type; returns whether anything changed.

    ``last_transition_time`` is kept while the status stays the same. When the status changes, it is set to the
    transition time of ``new`` or, if ``new`` has none, to ``now``.
    """
    old = find_condition(conditions, new.type)
    if old is None:
        conditions.append(_moved(new, new.last_transition_time or now))
        return True
    since = old.last_transition_time if old.status == new.status else new.last_transition_time or now
    moved = _moved(new, since)
    if moved == old:
        return False
    conditions[conditions.index(old)] = moved
    return True


def remove_condition(conditions: list[Condition], type: str) -> bool:
    """Removes the condition of the given type; returns whether there was one."""
    old = find_condition(conditions, type)
    if old is None:
        return False
    conditions.remove(old)
    return True


def _moved(condition: Condition, since: datetime | None) -> Condition:
    return Condition(
        type=condition.type,
        status=condition.status,
        reason=condition.reason,
        message=condition.message,
        observed_generation=condition.observed_generation,
        last_transition_time=since,
    )
