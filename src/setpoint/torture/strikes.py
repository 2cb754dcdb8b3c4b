"""Strikes: the faults of a plan, each of which strikes once."""

from __future__ import annotations

from setpoint.simulation.faults.plan import Fault, Plan
from setpoint.simulation.trace.trace import Trace


class Strikes:
    """Looks up the plan's faults for each point that the run reaches. ``struck`` has the faults that have struck."""

    def __init__(self, plan: Plan, trace: Trace) -> None:
        self._plan = plan
        self._trace = trace
        self.struck: list[Fault] = []
        self.over = False
        """Whether faults no longer strike, because the run is being concluded."""

    def take(self, point: str, *kinds: str) -> list[Fault]:
        """The plan's faults at this point that have not struck yet, limited to ``kinds`` if any are given. They are
        written to the trace and count as struck from now on. Empty if ``over`` is true.
        """
        if self.over:
            return []
        found = [each for each in self._plan.faults if each.at == point and (not kinds or each.kind in kinds)]
        fresh = [each for each in found if each not in self.struck]
        for each in fresh:
            self.struck.append(each)
            self._trace.tell("world", "world", "fault", str(each), point=point)
        return fresh

    def numbers(self) -> list[int]:
        """The positions in the plan of the faults that have struck."""
        return [place for place, each in enumerate(self._plan.faults) if each in self.struck]
