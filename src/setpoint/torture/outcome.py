"""Outcome: what one run of a tortured program has led to, and what it is compared with."""

from __future__ import annotations

import msgspec

from setpoint.simulation.result import Result
from setpoint.simulation.state import Snapshot


class Expected(msgspec.Struct, frozen=True):
    """The results of the undisturbed runs. ``silence``: seconds without a write that mean rest; ``hears``: the kinds
    that the program watches then."""

    silence: float
    hears: frozenset[str] = frozenset()
    rests: tuple[Snapshot, ...] = ()
    there: tuple[dict[str, int], ...] = ()
    end: Snapshot | None = None
    masks: frozenset[str] = frozenset()


class Outcome(msgspec.Struct):
    """The outcome of a trial. ``failed``: why the program can't be tortured, ``""`` if it can."""

    result: Result
    longest: float = 0.0
    hears: list[str] = []
    failed: str = ""
    log: str = ""
