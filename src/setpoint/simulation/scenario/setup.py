"""Setup: the options of a simulation, which are the same for all its runs."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from setpoint.cache.watch_options import FirstList
from setpoint.controller import Controller
from setpoint.manager import Fleet, Lifespan
from setpoint.meta import Object
from setpoint.simulation.sandbox.user_code import find_user_line_of
from setpoint.simulation.scenario.externals import External
from setpoint.simulation.scenario.predicates import Predicate
from setpoint.testing.clusters import Cluster, Definitions
from setpoint.webhook import Admission, Converter

Scenario: TypeAlias = Callable[[Cluster], Awaitable[None]]
"""The actions of users, written like the body of a test: ``async def scenario(cluster)``."""
Factory: TypeAlias = Callable[[], Sequence[Controller[Any] | Fleet] | Controller[Any]]
"""A function that makes the controllers of one process and, with ``fleet``, optionally also a fleet."""


_SCENARIO: Final = "write async def scenario(cluster)"


class Program(NamedTuple):
    """The program of one process: the controllers in the manager's own cluster (``home``) and the fleet, if there is
    one, with the controllers that run in every cluster.
    """

    home: list[Controller[Any]]
    fleet: Fleet | None


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The options of a simulation. `setpoint.simulation.check` documents each of them."""

    scenario: Scenario
    factory: Factory
    objects: Sequence[Object] = ()
    crds: Sequence[Definitions] | None = None
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
    """Whether the controllers are the framework's own, made for a rehearsal."""

    def __post_init__(self) -> None:
        check_scenario(self.scenario)

    @property
    def processes(self) -> int:
        """The number of processes that run at the same time."""
        return 2 if self.leader_election or self.sharding else 1

    def controllers(self) -> list[Controller[Any]]:
        """New controllers for a new process: those at home and those of the fleet."""
        home, fleet = self.program()
        return [*home, *(fleet.controllers if fleet is not None else ())]

    def program(self) -> Program:
        """A new program for a new process. With ``fleet``, if the factory returns controllers but not a `Fleet`, these
        controllers form the fleet.

        Raises:
            TypeError: the factory is not a function, did not return any controller, or returned something other than
                controllers and, with ``fleet``, at most one `Fleet`.
        """
        if not callable(self.factory):
            raise TypeError(
                "the factory must be a function that makes the controllers anew for every process, for instance "
                f"lambda: [make_controller()]; it is {self.factory!r}"
            )
        made = self.factory()
        found = list(made) if isinstance(made, Iterable) else [made]
        controllers = [each for each in found if isinstance(each, Controller)]
        fleets = [each for each in found if isinstance(each, Fleet)]
        if not controllers or len(controllers) + len(fleets) < len(found):
            raise TypeError(f"the factory must return controllers, at least one; it returned {made!r}")
        if not self.fleet and not fleets:
            return Program(controllers, None)
        if not self.fleet or len(fleets) > 1:
            raise TypeError("the factory may return one fleet, with fleet=True")
        if not fleets:
            return Program([], Fleet(*controllers))
        return Program(controllers, fleets[0])


def check_scenario(scenario: Scenario) -> None:
    """Raises TypeError if the scenario can't be called with a cluster."""
    try:
        inspect.signature(scenario).bind(None)
    except ValueError:
        return  # written in C, without a signature
    except TypeError as problem:
        name = getattr(scenario, "__qualname__", repr(scenario))
        raise TypeError(f"{name} is not a scenario ({problem}): {_SCENARIO}") from None


def require_awaitable(result: Any) -> Awaitable[None]:
    """The result of calling a scenario. Raises TypeError if the result can't be awaited."""
    if not inspect.isawaitable(result):
        raise TypeError(f"the scenario is not a coroutine function: {_SCENARIO}")
    return result


def describe_failure(problem: Exception) -> str:
    """The failure of a scenario in words, with the line of the user's code."""
    place = find_user_line_of(problem)
    if isinstance(problem, AssertionError):
        told = str(problem) or "an assertion of the scenario failed"
    else:
        told = f"the scenario raised {type(problem).__name__}: {problem}"
    return f"{told} ({place})" if place else told


def freeze_options(**options: Iterable[Any] | None) -> dict[str, Any]:
    """The options with their iterables turned into tuples; None stays None."""
    return {name: None if value is None else tuple(value) for name, value in options.items()}
