"""Parts: a program, as its commands receive it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from setpoint.controller import Controller
from setpoint.operator import Operator
from setpoint.webhook import Admission


class Parts(NamedTuple):
    """A program: ``command`` starts it, as messages show it; ``controllers`` are those for the options in force."""

    command: str
    operator: Operator[Any]
    controllers: Sequence[Controller[Any]]

    @property
    def admissions(self) -> Sequence[Admission[Any]]:
        return self.operator.admissions

    def with_options(self, own: Any) -> Parts:
        """The program with other options. The controllers are the same unless they are made of options."""
        return (
            self._replace(controllers=self.operator.controllers_for(own))
            if callable(self.operator.controllers)
            else self
        )
