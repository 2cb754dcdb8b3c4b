"""Parts: the arguments of `setpoint.main`, as the commands of a program receive them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from setpoint.cli.program_options import ProgramLifespan
from setpoint.controller import Controller
from setpoint.manager import Runnable
from setpoint.webhook import Admission, Policy

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class Parts(NamedTuple):
    """The arguments of `setpoint.main`. ``command`` is the command that starts the program, as messages show it."""

    command: str
    controllers: Sequence[Controller[Any]]
    admissions: Sequence[Admission[Any]] = ()
    name: str | None = None
    runnables: Sequence[Runnable] = ()
    options: type[Any] | None = None
    lifespan: ProgramLifespan[Any] | None = None
    registry: CollectorRegistry | None = None
    policies: Sequence[Policy] = ()
