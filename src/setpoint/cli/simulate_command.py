"""The command ``simulate`` of a program. The code of the simulation is imported only when the command is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from setpoint.apps.error_reports import reported
from setpoint.cli.finding_formats import stdout_for
from setpoint.cli.program_arguments import Parts
from setpoint.cli.program_options import OptionValues, with_values
from setpoint.cli.simulate_flags import SimulateFlags

NOT_ENTERED: Final = (
    "the program's lifespan was not entered, since it may open real connections, so ctx.state() has no object: add "
    "--lifespan if it opens nothing, or give sp.Operator a stand_in= that acts like the other system"
)


_DEFAULT: Final = SimulateFlags()


def simulate_command(parts: Parts) -> Callable[..., None]:
    """The command ``simulate`` of a program with these parts."""
    tested = parts.operator.for_tests()
    is_safe = parts.operator.stand_in is not None

    def simulate(*, flags: SimulateFlags = _DEFAULT, option: OptionValues = ()) -> None:
        """Run the controllers in virtual time under every fault that can occur in a cluster.

        The exit status is 0 without findings, 1 with one, 2 if the command fails, and 130 if Ctrl-C ends the search
        before there is one.

        Parameters
        ----------
        option
            An option of the program, NAME=VALUE; default: the options' defaults. Repeatable.
        """
        from setpoint.cli.simulate import simulate as run_simulation  # imports the server

        with reported(parts.command, 2), stdout_for(flags.output) as stream:
            with_options, own = with_values(parts, option)
            enters = flags.own_lifespan or is_safe
            status = run_simulation(
                with_options.controllers,
                with_options.admissions,
                flags,
                stream,
                lifespan=tested.lifespan_of(own) if enters else None,
                notes=[NOT_ENTERED] if tested.lifespan is not None and not enters else [],
            )
        raise SystemExit(status)

    return simulate
