"""Reports about failing controllers, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from setpoint.controller import RunningController
from setpoint.controller.history import Attempt
from setpoint.controller.hotloop import SOON
from setpoint.meta import ObjectKey

MAX_REPORTED: Final = 20
"""The maximum number of different errors reported for one controller."""


class NotSettled(AssertionError):
    """The controllers under test don't settle. The message names the keys, each with its last error."""


class LostEvent(AssertionError):
    """An event led to no reconcile, because a function of the controllers under test (a mapping, a predicate, an index)
    raised an exception or returned something other than keys. The message names the object, the error and its line.
    """


def unsettled_keys(running: RunningController[Any]) -> Iterator[str]:
    """The keys that keep failing, wait for an external system, are in a hot loop or are still being reconciled, each
    with the reason; and the controller, if its caches don't sync or a mapping function doesn't end.
    """
    if running.state == "syncing":
        yield f"{running.name}: it has not started: {running.readiness() or 'its handlers have not seen all objects'}"
    elif running.is_mapping():
        yield f"{running.name}: a mapping function has not ended"
    for work in running.under_way():
        stack = "".join(f"\n    {line}" for line in work.stack())
        age = f"{work.seconds:g} s of virtual time" if work.seconds else "all timers that were due"
        yield f"{running.name}: the reconcile of {work.key} has not ended after {age}:{stack}"
    for key in sorted(running.queue.states()):
        slow = running.activity.hot_loops.slowed.get(key)
        if slow is not None and slow.requeues:
            yield (
                f"{running.name}: {key} is in a loop: its reconciles ask to be called again at once, with after(0) to "
                f"after({SOON}), and they change nothing"
            )
        elif slow is not None:
            yield (
                f"{running.name}: {key} is in a hot loop: each of its reconciles changes {slow.resource.kind} "
                f"{slow.target} once more"
            )
        elif (last := _last(running, key)) is not None and last.result == "error" and last.next_in is not None:
            times = running.queue.num_requeues(key)
            yield f"{running.name}: {key} has failed {times} times in a row, lastly with {last.detail}"
        elif last is not None and last.raised and last.next_in is not None:
            yield f"{running.name}: {key} waits: {last.detail}"


def described(running: RunningController[Any]) -> Iterator[str]:
    """The controller's activity, and the states of its failing keys."""
    yield f"{running.name}: {running.state} {running.readiness()}".rstrip()
    states = running.queue.states()
    for key in sorted({*states, *running.timeline.keys()}):
        last = _last(running, key)
        failed = last is not None and last.result != "success" and bool(last.detail)
        if key in states or (failed and last is not None and last.result == "error"):
            detail = f": {last.detail}" if failed and last is not None else ""
            yield f"  {key}: {states.get(key) or 'not retried'}{detail}"


def errors_of(running: RunningController[Any]) -> Iterator[str]:
    """The distinct errors of each key in the timelines, each with a count if it occurred more than once. After
    `MAX_REPORTED` errors, a last line says how many are left out.
    """
    counts: dict[tuple[ObjectKey, str], int] = {}
    for key in running.timeline.keys():  # noqa: SIM118 - a timeline is not a mapping
        for attempt in running.timeline.of(key):
            if attempt.result == "error":
                counts[key, attempt.detail] = counts.get((key, attempt.detail), 0) + 1
    for (key, detail), times in list(counts.items())[:MAX_REPORTED]:
        yield f"{running.name}: {key}: {detail}{f' ({times} times)' if times > 1 else ''}"
    if len(counts) > MAX_REPORTED:
        yield f"{running.name}: and {len(counts) - MAX_REPORTED} more"


def _last(running: RunningController[Any], key: ObjectKey) -> Attempt | None:
    attempts = running.timeline.of(key)
    return attempts[-1] if attempts else None
