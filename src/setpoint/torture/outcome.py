"""Outcome: the result of one run of a tortured program, and the results with which it is compared."""

from __future__ import annotations

import msgspec

from setpoint.simulation.result import Result
from setpoint.simulation.state import Snapshot


class Expected(msgspec.Struct, frozen=True):
    """The results of the undisturbed runs. ``silence`` is the number of seconds without a write after which the program
    counts as idle; ``hears`` has the kinds that the program watches in these runs; ``stays`` is that of their
    `Reference`.
    """

    silence: float
    hears: frozenset[str] = frozenset()
    rests: tuple[Snapshot, ...] = ()
    stays: tuple[dict[str, int], ...] = ()
    end: Snapshot | None = None
    masks: frozenset[str] = frozenset()


class Outcome(msgspec.Struct):
    """The outcome of a trial. ``failed`` is the reason why the program can't be tested, or ``""`` if it can."""

    result: Result
    longest: float = 0.0
    hears: list[str] = []
    failed: str = ""
    log: str = ""
