"""Expectations: what the runs without faults have taught about a program, for the runs with faults."""

from __future__ import annotations

from setpoint.simulation.comparison.snapshot import Snapshot
from setpoint.simulation.trace.result import Options


class Expectations(Options, frozen=True):
    """The options of a run in real time. ``quiet_period`` is the number of seconds without a write after which the
    program counts as idle; ``watched`` has the kinds that it watches in all runs without faults.

    ``rests`` and ``end`` are the states at the ends of the steps and of the run; ``end`` is None until the undisturbed
    runs are done. ``masks`` are those of the `Reference` for these runs. ``stay`` is the number of seconds in which
    nothing may be written once everything is as it should be.
    """

    quiet_period: float = 2.0
    stay: float = 1.0
    watched: frozenset[str] = frozenset()
    expected_rests: tuple[Snapshot, ...] = ()
    expected_end: Snapshot | None = None
    masks: frozenset[str] = frozenset()
