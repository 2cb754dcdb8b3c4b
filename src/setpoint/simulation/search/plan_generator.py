"""Plan generator: chooses the plans that are worth a run, ordered by how likely they are to find something."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Final, NamedTuple

from setpoint.simulation.faults.catalog import is_off, switch_of
from setpoint.simulation.faults.plan import Fault, Plan, fault
from setpoint.simulation.trace.result import Result

LONG: Final = 1000.0
"""The length in seconds of a long fault. It outlasts a read-your-writes barrier (10 s) and an idle timeout (330 s), and
is as long as the longest back-off of a key by default.
"""
SHORT: Final = 2.0
FROZEN: Final = 1000.0
"""The length in seconds of a fault during which another process takes over (see ``LEASE`` in ``process.py``)."""
SHUFFLES: Final = 3
"""The number of runs in which everything without a guaranteed order comes in a random order."""
MAX_RESTARTS: Final = 150
"""The maximum number of restarts, among the single faults, after which a process first lists an older state."""
LATE: Final = 0.2
"""The share of the other single faults that is tried before the first restart after which a process lists an older
state.
"""


class Injectable(NamedTuple):
    """The faults that can be injected into one sort of world: those for which ``can`` holds. Those of the kinds in
    ``first`` are tried before all others.

    ``slow`` is the length in seconds of delayed requests and answers, and ``late`` that after which a write arrives
    whose sender has given up.
    """

    slow: float
    late: float
    can: Callable[[Fault], bool] = lambda _fault: True
    first: tuple[str, ...] = ()


EXPIRING: Final = frozenset({"leases.coordination.k8s.io"})
"""Kinds whose objects may be left by a late write, since each holds for a time only."""
VIRTUAL_TIME: Final = Injectable(slow=20.0, late=5.0)


class PlanGenerator:
    """Makes the plans for a scenario from the points of its undisturbed run."""

    def __init__(
        self,
        baseline: Result,
        *,
        off: frozenset[str],
        seed: int,
        kinds: list[str],
        primaries: frozenset[str],
        several: bool = False,
        fleet: bool = False,
        injectable: Injectable = VIRTUAL_TIME,
    ) -> None:
        self._points = baseline.points
        self._off = off
        self._seed = seed
        self._kinds = kinds
        self._primaries = primaries
        self._several = several
        self._fleet = fleet
        self._injectable = injectable
        self._changes = [point for point in baseline.points if point.kind == "change"]
        self._writes = [point for point in baseline.points if point.kind == "write"]
        self._reads = [point for point in baseline.points if point.kind == "read"]
        self._externals = [point for point in baseline.points if point.kind == "external"]
        self._steps = baseline.steps
        self._before_deletions = baseline.before_deletions()

    def singles(self) -> list[Fault]:
        """The faults to try: each fault at each point where it can make a difference, except those that are switched
        off. The families of faults are interleaved, so that even a limited budget covers a part of every family.
        """
        families = [
            self._whole(), self._crashes(), self._steps_off(), self._requests(), self._lags(), self._external(),
            self._restarts_on_old_lists(),
        ]  # fmt: skip
        wanted = [[fault for fault in family if self._is_wanted(fault)] for family in families]
        # In turns, each family at its own pace: a budget that does not suffice for all leaves none out. Only servers
        # that can't stream lists serve old ones, so faults of every cluster come first.
        late = len(wanted) - 1
        placed = []
        for number, family in enumerate(wanted):
            start = LATE if number == late else 0.0
            for place, single in enumerate(family):
                placed.append((start + (1.0 - start) * (place + 1) / len(family), number, single))
        singles = dict.fromkeys(fault for _, _, fault in sorted(placed, key=lambda item: item[:2]))
        return sorted(singles, key=lambda fault: fault.kind not in self._injectable.first)

    def _is_wanted(self, fault: Fault) -> bool:
        return self._injectable.can(fault) and not is_off(fault, self._off)

    # -- families ------------------------------------------------------------------------------------------------------

    def _whole(self) -> Iterator[Fault]:
        yield fault("reverse-lists", "run")
        for seed in range(1, SHUFFLES + 1):
            yield fault("shuffle", "run", seed=seed)
        for kind in self._kinds:
            yield fault("lag", "run", collection=kind, seconds=SHORT)
        yield fault("clock", "run", seconds=300.0)
        yield fault("clock", "run", seconds=-300.0)
        if self._fleet:
            yield fault("cut-off", "run")

    def _crashes(self) -> Iterator[Fault]:
        acts = [point for point in self._points if point.kind in ("write", "external")]
        revision: int | None = None
        for point in acts:
            # Dying before a write is dying after the one before it, unless another actor has written since.
            if point.kind == "external" or revision is None or point.changed:
                yield fault("crash-after", point.name)
            if revision is None or point.kind == "external":
                yield fault("crash-before", point.name)
            revision = point.revision or revision
        for point in acts:
            if point.changed:
                yield fault("crash-after", point.name, until="step")
        for point in acts:
            # The next process sees nothing of the object but its deletion.
            steps = next((step - point.step for step in self._before_deletions if step > point.step), 0)
            if point.changed and steps:
                yield fault("crash-after", point.name, until="step", more=steps)
        for point in acts:
            if point.kind == "write" and point.collection not in EXPIRING:
                yield fault("late-write", point.name, seconds=self._injectable.late, dies=True)

    def _steps_off(self) -> Iterator[Fault]:
        for step in range(self._steps):
            at = f"step {step}"
            yield fault("restart", at)
            yield fault("resync", at)
            yield fault("expire-all", at)
            yield fault("clock", at, seconds=3600.0)
            yield fault("clock", at, seconds=-3600.0)
        for step in range(1, self._steps):
            at = f"step {step}"
            yield fault("down", at)
            if self._fleet:
                yield fault("cut-off", at)
                yield fault("cut-off", at, seconds=FROZEN)
            for actor in ("garbage collector", "control plane", "controller"):
                yield fault("pause", at, who=actor)
                yield fault("pause", at, who=actor, seconds=FROZEN if self._several else 60.0)
            yield fault("pause", at, who="garbage collector", more=1)
            yield fault("pause", at, who="control plane", more=1)
            yield fault("early", at, writes=0)
            writes = sum(1 for point in self._writes if point.step == step and point.changed)
            for number in range(1, min(writes, 12)):
                yield fault("early", at, writes=number)

    def _requests(self) -> Iterator[Fault]:
        for point in self._writes:
            for kind in ("lost-answer", "lost-request", "error-500", "slow-request", "slow-answer"):
                yield fault(kind, point.name, seconds=self._injectable.slow if kind.startswith("slow") else None)
            if point.collection not in EXPIRING:
                yield fault("late-write", point.name, seconds=self._injectable.late)
            if point.verb != "create":
                yield fault("conflict", point.name)
        for point in self._writes:
            yield fault("slow-request", point.name, until="step")
            yield fault("slow-answer", point.name, until="step")
            yield fault("error-429", point.name, seconds=1)
            if self._several:
                yield fault("freeze", point.name, seconds=FROZEN)
        for point in self._reads:
            yield fault("error-500", point.name)
            yield fault("slow-request", point.name, seconds=self._injectable.slow)
            yield fault("slow-answer", point.name, seconds=self._injectable.slow)
            yield fault("slow-answer", point.name, until="step")
            yield fault("lost-answer", point.name)

    def _restarts_on_old_lists(self) -> list[Fault]:
        """Restarts at the ends of steps, after which the process first lists an older state: of a kind that a
        controller reconciles (alone, and together with all other kinds), or of another kind that the controllers read.
        There are at most `MAX_RESTARTS` of them; if there could be more, the seed chooses some of both sorts.
        """
        primaries, others = [], []
        for step in range(self._steps - 1, 0, -1):
            before = [point for point in self._changes if point.step <= step and point.collection in self._kinds]
            newest = {point.collection: point.revision for point in before}
            for point in reversed(before):
                if point.revision == newest[point.collection]:
                    continue
                at = f"step {step}"
                if point.collection in self._primaries:
                    primaries.append(fault("restart", at, behind=point.name))
                    primaries.append(fault("restart", at, behind=point.name, kinds="all"))
                else:
                    others.append(fault("restart", at, behind=point.name))
        random = Random(self._seed)
        restarts = _sample(primaries, 2 * MAX_RESTARTS // 3, random)
        return restarts + _sample(others, MAX_RESTARTS - len(restarts), random)

    def _lags(self) -> Iterator[Fault]:
        for point in self._changes:
            if point.collection not in self._kinds:
                continue
            yield fault("lag", point.name, until="step")
            yield fault("lag", point.name, until="step", relist=True)
        for point in self._changes:
            if point.collection not in self._kinds:
                continue
            yield fault("lag", point.name, seconds=LONG)
            yield fault("lag", point.name, seconds=SHORT)
            yield fault("lag", point.name, seconds=SHORT, relist=True)
        for point in self._changes:
            if point.collection in self._kinds:
                yield fault("hang-up", point.name)
                yield fault("expire", point.name)

    def _external(self) -> Iterator[Fault]:
        for point in self._externals:
            if point.empty:
                yield fault("external-empty", point.name)
        slow = [point for point in self._externals if point.waits]
        if self._several:
            for point in slow:
                yield fault("freeze", point.name, seconds=FROZEN)
        for point in self._externals:
            # Only a system that orders its calls gives a controller the means to have a late one refused.
            if point.changed and point.ordered and point.step < self._steps - 1:
                yield fault("external-late", point.name, until="step")
                if self._several and point.waits:
                    yield fault("freeze", point.name, until="step")
        for point in self._externals:
            yield fault("external-fails", point.name)
            yield fault("external-lost", point.name)
        for point in slow:
            yield fault("slow-request", point.name, seconds=self._injectable.slow)
            yield fault("slow-answer", point.name, until="step")

    # -- combinations --------------------------------------------------------------------------------------------------

    def combinations(self, singles: list[Fault]) -> Iterator[Plan]:
        """Yields an endless sequence of plans, each with two or three faults at different points, drawn with the seed.
        Yields nothing if all faults are at one point.
        """
        random = Random(self._seed)
        if len({single.at for single in singles}) < 2:
            return  # faults of one point do not combine
        groups: dict[str, list[Fault]] = {}
        for single in singles:
            groups.setdefault(switch_of(single.kind, dict(single.how)), []).append(single)
        names = sorted(groups)
        while True:
            size = 2 if random.random() < 0.7 else 3
            chosen = {random.choice(groups[random.choice(names)]) for _ in range(size)}
            if len({single.at for single in chosen}) == len(chosen) > 1:
                ordered = sorted(chosen, key=str)
                yield Plan(tuple(ordered), seed=self._seed)  # with another one uids would be others


def _sample(faults: list[Fault], most: int, random: Random) -> list[Fault]:
    if len(faults) <= most:
        return faults
    chosen = set(random.sample(range(len(faults)), most))
    return [single for place, single in enumerate(faults) if place in chosen]
