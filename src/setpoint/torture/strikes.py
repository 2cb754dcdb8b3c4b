"""Strikes: the faults of a plan, each of which takes place once."""

from __future__ import annotations

from setpoint.simulation.plan import Fault, Plan
from setpoint.simulation.tape import Tape


class Strikes:
    """Looks up what the plan has for each point that the run comes by. ``struck`` are the faults that took place."""

    def __init__(self, plan: Plan, tape: Tape) -> None:
        self._plan = plan
        self._tape = tape
        self.struck: list[Fault] = []
        self.over = False
        """Whether the time of faults has passed."""

    def take(self, point: str, *kinds: str) -> list[Fault]:
        """The plan's faults at this point, told of and marked as struck."""
        if self.over:
            return []
        found = [each for each in self._plan.faults if each.at == point and (not kinds or each.kind in kinds)]
        fresh = [each for each in found if each not in self.struck]
        for each in fresh:
            self.struck.append(each)
            self._tape.tell("world", "world", "fault", str(each), point=point)
        return fresh
