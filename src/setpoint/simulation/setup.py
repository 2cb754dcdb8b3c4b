"""Setup: what a simulation runs; it is the same for all of its runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from setpoint.cache.reflector import FirstList
from setpoint.controller import Controller
from setpoint.crd import CustomResource
from setpoint.manager import Lifespan
from setpoint.meta import Object
from setpoint.simulation.externals import External
from setpoint.simulation.predicates import Predicate
from setpoint.testing.clusters import Cluster
from setpoint.webhook import Admission, Converter

Scenario: TypeAlias = Callable[[Cluster], Awaitable[None]]
"""The actions of users: an ordinary test's body."""
Factory: TypeAlias = Callable[[], Sequence[Controller[Any]] | Controller[Any]]
"""Makes the controllers of one process."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The options of a simulation. `setpoint.simulation.check` documents each of them."""

    scenario: Scenario
    factory: Factory
    objects: Sequence[Object] = ()
    crds: Sequence[type[CustomResource] | Mapping[str, Any]] | None = None
    nodes: int = 1
    control_plane: bool | Iterable[str] = True
    webhooks: Sequence[Admission[Any] | Converter] = ()
    namespace: str = "default"
    externals: Sequence[External] = ()
    predicates: Sequence[Predicate] = ()
    leader_election: bool = False
    sharding: bool = False
    fleet: bool = False
    lifespan: Lifespan | None = None
    first_list: FirstList = "newest"
    ignore: Mapping[str, str] = field(default_factory=dict)
    off: Mapping[str, str] = field(default_factory=dict)
    is_rehearsal: bool = False
    """Whether the controllers are not the user's."""

    @property
    def processes(self) -> int:
        """The number of processes that run at once."""
        return 2 if self.leader_election or self.sharding else 1

    def controllers(self) -> list[Controller[Any]]:
        """New controllers, as a new process has them."""
        made = self.factory()
        found = [made] if isinstance(made, Controller) else list(made)
        if not found or not all(isinstance(each, Controller) for each in found):
            raise TypeError(f"the factory must return controllers, at least one; it returned {made!r}")
        return found


def tuples(**options: Iterable[Any] | None) -> dict[str, Any]:
    """The options with their iterables turned into tuples; None stays None."""
    return {name: None if value is None else tuple(value) for name, value in options.items()}
