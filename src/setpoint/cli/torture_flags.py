"""The flags of ``setpoint torture``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TortureFlags:
    """The search for faults, and what it compares.

    Parameters
    ----------
    before
        A YAML file, or a folder of them, applied before the program starts, such as its CRDs; repeatable.
    budget
        The limit of the search: 60s, 5m, 1h or 500runs.
    faults
        Only these faults, by name, separated by commas: crash,lost,conflict,lag,...
    off
        NAME=REASON switches off a fault or an oracle; repeatable.
    ignore
        "pods status.podIP=REASON" leaves a field out of the comparison of end states; repeatable.
    replay
        Try only one plan: a token, or the file of a counter-example.
    workers
        The number of programs that run at the same time; default: twice the number of cores.
    repeat
        The number of times that a finding is tried again before it is reported.
    converge
        How many seconds everything may take, after the last fault, to reach its expected state. Choose more than the
        program's longest back-off; otherwise a long back-off is reported as a finding.
    quiet_period
        How many seconds must pass without a write before the program counts as idle; default: derived from its usual
        pauses.
    start_within
        How many seconds the program may take to send its first request to the server.
    every
        Continue after the first finding.
    directory
        The folder for files about findings.
    """

    before: Annotated[tuple[Path, ...], Parameter(negative_iterable="")] = ()
    budget: str = "120s"
    faults: str | None = None
    off: Annotated[tuple[str, ...], Parameter(negative_iterable="")] = ()
    ignore: Annotated[tuple[str, ...], Parameter(negative_iterable="")] = ()
    replay: str | None = None
    workers: Annotated[int | None, Parameter(validator=Number(gte=1, lte=256))] = None
    repeat: Annotated[int, Parameter(validator=Number(gte=1, lte=100))] = 4
    converge: Annotated[float, Parameter(validator=Number(gt=0))] = 75.0
    quiet_period: Annotated[float | None, Parameter(validator=Number(gt=0))] = None
    start_within: Annotated[float, Parameter(validator=Number(gt=0))] = 30.0
    every: Annotated[bool, Parameter(name="--all", negative="")] = False
    directory: Path = Path("counterexamples")
