"""Explore: chooses the plans that are worth a run, beginning with those most likely to find something."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from setpoint.simulation.faults.catalog import is_off
from setpoint.simulation.faults.plan import Fault, fault
from setpoint.simulation.trace.result import Result


class Explorer:
    """The single faults for a scenario, derived from the points of its undisturbed run. ``hears`` has the kinds that
    the program watches.
    """

    def __init__(self, baseline: Result, *, hears: Collection[str], off: Collection[str]) -> None:
        self._points = baseline.points
        self._writes = [point for point in baseline.points if point.kind == "write"]
        self._changes = [point for point in baseline.points if point.kind == "change" and point.collection in hears]
        self._reads = [point for point in baseline.points if point.kind == "read"]
        self._steps = baseline.steps
        self._off = off

    def singles(self) -> list[Fault]:
        """The single faults. Crashes come first, since most controllers have never been tested with them. The other
        families of faults are interleaved in proportion to their sizes, so that a limited budget covers a part of every
        family.
        """
        families = [self._requests(), self._users(), self._lags(), self._watches(), self._travels()]
        kept = [list(filter(self._wanted, family)) for family in families]
        placed = [
            ((place + 1) / len(family), number, each)
            for number, family in enumerate(kept)
            for place, each in enumerate(family)
        ]
        others = [each for _, _, each in sorted(placed, key=lambda item: item[:2])]
        return list(dict.fromkeys([*filter(self._wanted, self._crashes()), *others]))

    def _wanted(self, each: Fault) -> bool:
        return not is_off(each, self._off)

    def _crashes(self) -> Iterator[Fault]:
        for point in self._writes:
            if point.changed:
                yield fault("crash-after", point.name)
        for point in self._writes[:1]:
            yield fault("crash-before", point.name)
        for point in self._writes:
            if point.changed:
                yield fault("crash-after", point.name, until="step")

    def _requests(self) -> Iterator[Fault]:
        for point in self._writes:
            if point.changed:
                yield fault("lost-answer", point.name, answer=504)
                yield fault("lost-answer", point.name)
            yield fault("error-500", point.name)
            if point.verb != "create":
                yield fault("conflict", point.name)
        for point in self._writes:
            if point.changed:
                yield fault("late-write", point.name, seconds=1.0)
            yield fault("lost-request", point.name)
            yield fault("error-429", point.name, seconds=1)
            yield fault("slow-answer", point.name, seconds=2.0)
        for point in self._reads:
            yield fault("error-500", point.name)

    def _users(self) -> Iterator[Fault]:
        for step in range(1, self._steps):
            yield fault("down", f"step {step}")
            yield fault("early", f"step {step}")
            yield fault("pause", f"step {step}", who="controller")
        for step in range(self._steps):
            yield fault("restart", f"step {step}")

    def _lags(self) -> Iterator[Fault]:
        for point in self._changes:
            yield fault("lag", point.name, until="step")
            yield fault("lag", point.name, until="step", relist=True)
        for point in self._changes:
            yield fault("lag", point.name, seconds=2.0)
            yield fault("lag", point.name, seconds=1.0, relist=True)

    def _watches(self) -> Iterator[Fault]:
        for point in self._changes:
            yield fault("expire", point.name)
            yield fault("hang-up", point.name)
        for step in range(self._steps):
            yield fault("expire-all", f"step {step}")

    def _travels(self) -> Iterator[Fault]:
        """Restarts at the end of every step but the first, after which the program first lists an older state of a
        kind. The last step and the latest state come first.
        """
        for step in range(self._steps - 1, 0, -1):
            before = [point for point in self._changes if point.step <= step]
            newest = {point.collection: point.revision for point in before}
            for point in reversed(before):
                if point.revision != newest[point.collection]:
                    yield fault("restart", f"step {step}", behind=point.name)
