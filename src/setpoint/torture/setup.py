"""Setup: the program to test and the scenario, which are the same for all runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from setpoint.crd import CustomResource
from setpoint.meta import Object
from setpoint.simulation import External, Predicate
from setpoint.simulation.scenario.simulation_options import Scenario, check_scenario


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The program under test, the scenario, and the limits of a trial.

    ``command`` is the program with its arguments; ``{kubeconfig}``, ``{server}`` and ``{port}`` are filled in.
    ``scenario`` has the actions of users; ``name`` is the scenario's name, and ``source`` is its file.

    ``before`` has the documents that exist before the program starts. ``objects`` and ``crds`` are objects and
    definitions that a scenario in Python adds to them. Definitions are created first. ``converge`` is the number of
    seconds after the last fault within which everything must reach its expected state. ``quiet_period`` is the number
    of seconds without a write after which the program counts as idle; None derives it from the program's usual pauses.
    ``start_within`` is the number of seconds within which the program must send its first request to the server. The
    other options are those of `setpoint.simulation.check`.
    """

    command: Sequence[str]
    scenario: Scenario
    name: str
    source: Path
    before: Sequence[Mapping[str, Any]] = ()
    objects: Sequence[Object] = ()
    crds: Sequence[type[CustomResource] | Mapping[str, Any]] = ()
    predicates: Sequence[Predicate] = ()
    off: Mapping[str, str] = field(default_factory=dict)
    ignore: Mapping[str, str] = field(default_factory=dict)
    nodes: int = 1
    namespace: str = "default"
    converge: float = 75.0
    quiet_period: float | None = None
    start_within: float = 30.0

    def __post_init__(self) -> None:
        check_scenario(self.scenario)

    @property
    def externals(self) -> Sequence[External]:
        """Always empty: systems that an external program calls can't be replaced."""
        return ()

    def code(self) -> str:
        """A digest of the scenario's file and of the files that the command names. It lets a replay report changes to
        them.
        """
        state = blake2b(digest_size=5)
        for name in map(str, (self.source, *self.command)):
            if os.path.isfile(name):  # unlike Path.is_file, it can be asked about any text
                state.update(Path(name).read_bytes())
        return state.hexdigest()
