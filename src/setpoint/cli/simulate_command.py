"""The command ``simulate`` of a program. The code of the simulation is imported only when the command is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from setpoint.cli.program_arguments import Parts
from setpoint.cli.program_options import bound
from setpoint.cli.simulate_flags import SimulateFlags

NOT_ENTERED: Final = (
    "the program's lifespan was not entered, since it may open real connections, so ctx.state() has no object: add "
    "--lifespan if it opens nothing, or call sp.simulation.check(..., lifespan=...) in a test with a fake"
)


_DEFAULT: Final = SimulateFlags()


def simulate_command(parts: Parts) -> Callable[..., None]:
    """The command ``simulate`` of a program with these parts."""
    controllers, admissions, lifespan, options = parts.controllers, parts.admissions, parts.lifespan, parts.options

    def simulate(*, flags: SimulateFlags = _DEFAULT) -> None:
        """Run the controllers in virtual time under every fault that can occur in a cluster; exit with status 1 on a
        finding.
        """
        from setpoint.cli.simulate import simulate as run_simulation  # imports the server

        status = run_simulation(
            controllers,
            admissions,
            flags,
            lifespan=bound(lifespan, options, None) if flags.own_lifespan else None,
            notes=[NOT_ENTERED] if lifespan is not None and not flags.own_lifespan else [],
        )
        raise SystemExit(status)

    return simulate
