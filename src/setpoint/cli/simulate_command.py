"""The command ``simulate`` of a program. The code of the simulation is imported only when the command is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from setpoint.cli.program_arguments import Parts
from setpoint.cli.program_options import bound

NOT_ENTERED: Final = (
    "the program's lifespan was not entered, since it may open real connections, so ctx.state() has no object: add "
    "--lifespan if it opens nothing, or call sp.simulation.check(..., lifespan=...) in a test with a fake"
)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SimulateFlags:
    """The flags of the command ``simulate``.

    Parameters
    ----------
    scenario
        The users' actions, FILE:FUNCTION; default: made from the schema of the first custom resource.
    budget
        The limit of the search: 60s, 5m, 500runs.
    faults
        Only these faults, separated by commas (docs/simulation.md lists them); default: all.
    replay
        Try only one plan: a token, or the file of a counter-example.
    recording
        Instead of a scenario: a file that setpoint record wrote. The actions of other clients are replayed at their
        recorded times.
    mine
        With --from: a field manager whose recorded writes were made by these controllers; repeatable.
    debug
        With --replay: stop in a debugger where a fault occurs, and where a promise is broken.
    seed
        The seed of all random choices.
    every
        Continue after the first finding.
    directory
        The folder for files about findings.
    own_lifespan
        Enter the program's own lifespan in every simulated process; whatever it opens in the real world is refused.
    """

    scenario: str | None = None
    budget: str = "60s"
    faults: str | None = None
    replay: str | None = None
    debug: Annotated[bool, Parameter(negative="")] = False
    recording: Annotated[Path | None, Parameter(name="--from")] = None
    mine: Annotated[tuple[str, ...], Parameter(negative_iterable="")] = ()
    seed: int = 0
    every: Annotated[bool, Parameter(name="--all", negative="")] = False
    directory: Path = Path("counterexamples")
    own_lifespan: Annotated[bool, Parameter(name="--lifespan", negative="")] = False


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
