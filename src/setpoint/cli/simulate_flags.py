"""The flags of a program's command ``simulate``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from setpoint.cli.finding_formats import Format


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
    output
        text; or json, or sarif (2.1.0) for forges: the findings on stdout, and the text on stderr.
    progress
        Write the progress to stderr even if that is not a terminal: a line after every fifth run.
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
    output: Annotated[Format, Parameter(name=["--output", "-o"])] = "text"
    progress: Annotated[bool, Parameter(negative="")] = False
    own_lifespan: Annotated[bool, Parameter(name="--lifespan", negative="")] = False
