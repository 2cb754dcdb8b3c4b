"""Outcome: the result of one run of a tortured program, and the results with which it is compared."""

from __future__ import annotations

import msgspec

from setpoint.simulation.comparison.snapshot import Snapshot
from setpoint.simulation.trace.result import Result


class Expected(msgspec.Struct, frozen=True):
    """The results of the undisturbed runs. ``silence`` is the number of seconds without a write after which the program
    counts as idle; ``hears`` has the kinds that the program watches in all of these runs.

    ``rests`` and ``end`` are the states at the ends of the steps and of the run; ``end`` is None until the undisturbed
    runs are done. ``masks`` and ``stays`` are those of the `Reference` for these runs.
    """

    silence: float
    hears: frozenset[str] = frozenset()
    rests: tuple[Snapshot, ...] = ()
    stays: tuple[dict[str, int], ...] = ()
    end: Snapshot | None = None
    masks: frozenset[str] = frozenset()


class Outcome(msgspec.Struct):
    """The outcome of a trial. ``failed`` is the reason why the program can't be tested, or ``""`` if it can.

    ``longest`` is the longest silence before a write of the program, in seconds; ``hears`` has the kinds that the
    program watched in the end; ``log`` has the last lines of the program's output.
    """

    result: Result
    longest: float = 0.0
    hears: list[str] = []
    failed: str = ""
    log: str = ""
