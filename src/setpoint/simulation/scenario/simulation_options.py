"""Setup: the options of a simulation, which are the same for all its runs."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypedDict, Unpack

from setpoint.cache.watch_options import FirstList
from setpoint.controller import Controller
from setpoint.manager import Fleet, Lifespan
from setpoint.meta import Object
from setpoint.operator import Operator
from setpoint.simulation.scenario.externals import External
from setpoint.simulation.scenario.temporal_properties import Predicate
from setpoint.testing.clusters import Cluster, Definitions
from setpoint.testing.user_code import find_user_line_of
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


class SetupOptions(TypedDict, total=False):
    """The keywords of `setpoint.simulation.check` that describe what is simulated.

    Args:
        objects: the objects that exist before the controllers start.
        crds, nodes, control_plane, webhooks: as for `setpoint.testing.cluster`.
        namespace: the namespace of the program: the clients' default, and that of its leases.
        externals: systems outside the cluster; see `External`.
        predicates: see `always`, `never`, `eventually`.
        leader_election: whether two processes of the program run and compete for a lease. With ``"standby"``, a
            process that loses its lease goes on as a standby (`LeaderElection`).
        sharding: whether two processes of the program run and share the keys; each has a lease of its own. With
            ``"namespace"`` they share namespaces, and each caches its own ones (`Sharding`).
        fleet: whether the controllers run in two clusters (`setpoint.Fleet`): ``near``, which is the scenario's, and
            ``far``, which faults can cut off. Users act in the same way in both. If the factory returns both
            controllers and a `setpoint.Fleet`, the controllers run only in ``near``, the fleet's controllers run in
            both clusters, and users act only in ``near``.
        pause_switch: the name of the ConfigMap with which users pause whole controllers, as for `ManagerOptions`; by
            default the program follows none.
        lifespan: a function that opens an object in each process of the program, as for `setpoint.Manager`.
        first_list: the version that the caches' first lists ask for, as for `InformerFactory`. With either value, the
            search tries restarts in which a process first lists an older state, from a server that can't stream lists;
            see the switch ``time-travel``.
        off: the faults and oracles to switch off, by name, each with the reason (which the report shows).
        ignore: fields that are not compared, each with the reason: ``{"pods status.podIP": "drawn from a pool"}``.
    """

    objects: Iterable[Object]
    crds: Iterable[Definitions] | None
    nodes: int
    control_plane: bool | Iterable[str]
    webhooks: Iterable[Admission[Any] | Converter]
    namespace: str
    externals: Iterable[External]
    predicates: Iterable[Predicate]
    leader_election: bool | Literal["standby"]
    sharding: bool | Literal["namespace"]
    fleet: bool
    pause_switch: str | None
    lifespan: Lifespan | None
    first_list: FirstList
    off: Mapping[str, str] | None
    ignore: Mapping[str, str] | None


@dataclass(frozen=True, kw_only=True)
class Setup:
    """The options of a simulation; `SetupOptions` documents each of them."""

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
    leader_election: bool | Literal["standby"] = False
    sharding: bool | Literal["namespace"] = False
    fleet: bool = False
    pause_switch: str | None = None
    lifespan: Lifespan | None = None
    first_list: FirstList = "newest"
    ignore: Mapping[str, str] = field(default_factory=dict)
    off: Mapping[str, str] = field(default_factory=dict)
    is_rehearsal: bool = False
    """Whether the controllers are the framework's own, made for a rehearsal."""

    def __post_init__(self) -> None:
        check_scenario(self.scenario)

    @classmethod
    def build(cls, scenario: Scenario, factory: Factory | Operator[Any], **options: Unpack[SetupOptions]) -> Setup:
        """A setup of options that may be iterators, which are read only once.

        Raises:
            TypeError: there is no option of that name.
            ValueError: more than one of leader election, sharding and a fleet is asked for.
        """
        if unknown := sorted(options.keys() - SetupOptions.__annotations__.keys()):
            raise TypeError(f"a simulation has no option {unknown[0]}=")
        values: dict[str, Any] = dict(options)
        if isinstance(factory, Operator):
            operator = factory.for_tests()
            factory = operator.controllers_for
            values["webhooks"] = (*operator.admissions, *(values.get("webhooks") or ()))
            values.setdefault("lifespan", operator.lifespan_of())
        for name in ("objects", "crds", "webhooks", "externals", "predicates"):
            if values.get(name) is not None:
                values[name] = tuple(values[name])
        for name in ("off", "ignore"):
            values[name] = dict(values.get(name) or {})
        plane = values.get("control_plane", True)
        values["control_plane"] = plane if isinstance(plane, (bool, str)) else tuple(plane)
        setup = cls(scenario=scenario, factory=factory, **values)
        if bool(setup.leader_election) + bool(setup.sharding) + setup.fleet > 1:
            raise ValueError("a simulation takes one of leader_election, sharding and fleet, not several")
        return setup

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
                "the factory must be a function that creates new controllers for every process, for instance "
                f"lambda: [make_controller()]; it is {self.factory!r}"
            )
        result = self.factory()
        items = list(result) if isinstance(result, Iterable) else [result]
        controllers = [item for item in items if isinstance(item, Controller)]
        fleets = [item for item in items if isinstance(item, Fleet)]
        if not controllers or len(controllers) + len(fleets) < len(items):
            raise TypeError(f"the factory must return controllers, at least one; it returned {result!r}")
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
        text = str(problem) or "an assertion of the scenario failed"
    else:
        text = f"the scenario raised {type(problem).__name__}: {problem}"
    return f"{text} ({place})" if place else text
