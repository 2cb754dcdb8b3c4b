"""Setup: the program to torture and the scenario, the same for all runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias

from setpoint.crd import CustomResource
from setpoint.meta import Object
from setpoint.simulation import External, Predicate
from setpoint.testing.clusters import Cluster

Scenario: TypeAlias = Callable[[Cluster], Awaitable[None]]
"""The actions of users, as for `setpoint.simulation.check`."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """``command``: the program and its arguments; ``{kubeconfig}``, ``{server}`` and ``{port}`` are filled in.
    ``scenario``: the actions of users; ``name`` is its name, ``source`` its file.

    ``before``: documents that exist before the program starts, definitions of resources first; ``objects`` and ``crds``
    are the same documents as classes. ``converge``: the seconds after the last fault within which everything must reach
    its expected state. ``silence``: the seconds without a write that count as rest; None derives them from the
    program's own rhythm. ``start_within``: the seconds within which the program must have sent the server a request.
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
    silence: float | None = None
    start_within: float = 30.0

    @property
    def externals(self) -> Sequence[External]:
        """Always empty: systems that an external program calls can't be replaced."""
        return ()

    def code(self) -> str:
        """A digest of the scenario and of the files that the command names; with it, a replay can report that they have
        changed.
        """
        state = blake2b(digest_size=5)
        for file in (self.source, *map(Path, self.command)):
            if file.is_file():
                state.update(file.read_bytes())
        return state.hexdigest()
