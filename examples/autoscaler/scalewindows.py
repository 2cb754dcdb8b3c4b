"""scalewindows.py: how many replicas, by the rules of the HorizontalPodAutoscaler; pure functions on the status."""

from collections.abc import Callable
from datetime import datetime, timedelta

from scalekinds import Mark, QueueScalerSpec, QueueScalerStatus

TOLERANCE = 10
"""The percentage by which a replica may have more or fewer messages than it should without a change."""


def proposal(messages: int, per_replica: int, current: int) -> int:
    """The replicas for so many messages: those that there are where the difference is within the tolerance."""
    capacity = per_replica * current
    if current and 100 * abs(messages - capacity) <= TOLERANCE * capacity:
        return current
    return -(-messages // per_replica)


def remembered(
    marks: list[Mark], last: int, now: datetime, window: timedelta, beats: Callable[[int, int], bool], proposed: int
) -> list[Mark]:
    """The marks that still count beside ``proposed``: within the window, and not beaten by a later one."""
    if last != proposed:
        marks = [mark for mark in marks if beats(mark.replicas, last)] + [Mark(replicas=last, until=now)]
    return [mark for mark in marks if mark.until > now - window and beats(mark.replicas, proposed)]


def stabilised(status: QueueScalerStatus, spec: QueueScalerSpec, proposed: int, current: int, now: datetime) -> int:
    """The replicas to have: fewer than there are only if the whole window proposed fewer, and so for more."""
    last = current if status.proposed is None else status.proposed
    status.highest = remembered(status.highest, last, now, spec.scale_down_window, int.__gt__, proposed)
    status.lowest = remembered(status.lowest, last, now, spec.scale_up_window, int.__lt__, proposed)
    status.proposed = proposed
    most = max([proposed, *(mark.replicas for mark in status.highest)])
    least = min([proposed, *(mark.replicas for mark in status.lowest)])
    return min(max(current, least), most)
