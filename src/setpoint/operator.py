"""Operator: a whole program as one value, which the command line, tests, demos and the simulation take."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from setpoint.client import Client
from setpoint.controller import Controller
from setpoint.manager import Lifespan, Manager, Runnable
from setpoint.webhook import Admission, Policy

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

Own = TypeVar("Own")


@dataclass(frozen=True, slots=True)
class Program(Generic[Own]):
    """The argument of a program's lifespan: the manager, which has not started yet, and the program's options."""

    manager: Manager
    options: Own
    registry: CollectorRegistry
    """The registry for the program's own metrics, which are served with all other metrics, if metrics are served."""

    @property
    def client(self) -> Client:
        """The manager's client."""
        return self.manager.client


ProgramLifespan: TypeAlias = Callable[[Program[Own]], AbstractAsyncContextManager[Any]]


@dataclass(frozen=True, slots=True)
class Operator(Generic[Own]):
    """A program: what it declares, and what its reconciles share.

    ```python
    operator = sp.Operator([controller], lifespan=lifespan, stand_in=stand_in)

    sp.main(operator)                                   # the command line
    async with sp.testing.cluster(operator): ...        # a test, or a demo
    sp.simulation.check(scenario, operator)             # the simulation
    ```

    Args:
        controllers: the controllers, or a function that makes them of the program's options, for declarations that
            depend on an option, such as a namespace. Commands other than ``run`` use the options' defaults, or what
            ``--option NAME=VALUE`` gives them.
        admissions: the webhooks besides the conversions of the controllers' kinds.
        lifespan: ``lifespan(program)``, an asynchronous context manager around everything that runs. It receives the
            `Program`; the object that it yields is available to reconciles as ``ctx.state(App)``.
        options: a dataclass, whose fields become flags of ``run``. Tests and the simulation use its defaults. ``run``
            logs the values that are set, except for fields with ``repr=False``, such as a password.
        stand_in: the lifespan of tests, demos and the simulation, in whose virtual time no other system answers; by
            default ``lifespan``, which must not open connections then.
        policies: policies that the API server enforces.
        runnables: objects with ``async def run(self)``, which run while the manager leads or, with ``leader_only =
            False``, while it runs. Tests and the simulation do not run them.
        name: the name of the program's objects in a cluster; see `setpoint.main`.
        registry: a registry of prometheus_client, whose metrics are served with all other metrics.
        prefix: the beginning of the environment variables with values of flags of ``run``: ``SETPOINT_LEADER_ELECT``.
    """

    controllers: Sequence[Controller[Any]] | Callable[[Own], Sequence[Controller[Any]]] = ()
    admissions: Sequence[Admission[Any]] = ()
    lifespan: ProgramLifespan[Own] | None = None
    options: type[Own] | None = None
    _: KW_ONLY
    stand_in: ProgramLifespan[Own] | None = None
    policies: Sequence[Policy] = ()
    runnables: Sequence[Runnable] = ()
    name: str | None = None
    registry: CollectorRegistry | None = None
    prefix: str = "SETPOINT_"

    def controllers_for(self, own: Own | None = None) -> list[Controller[Any]]:
        """The controllers of a program with the options ``own``; None stands for the defaults.

        Raises:
            TypeError: an option has no default, or the function returned something other than controllers.
        """
        controllers = self.controllers
        if callable(controllers):
            controllers = controllers(self.default_options() if own is None else own)  # type: ignore[arg-type]
        for controller in controllers:
            if not isinstance(controller, Controller):
                raise TypeError(f"Operator() takes a list of controllers, not one with {controller!r}")
        return list(controllers)

    def default_options(self) -> Own | None:
        """The options with their defaults; None if the program has no options. Raises TypeError if an option has no
        default.
        """
        return None if self.options is None else self.options()

    def for_tests(self) -> Operator[Own]:
        """The operator with the stand-in as its lifespan."""
        return replace(self, lifespan=self.stand_in or self.lifespan)

    def lifespan_of(self, own: Own | None = None) -> Lifespan | None:
        """The lifespan for a manager, with the options ``own``; None stands for the defaults. Returns None if the
        program has no lifespan. Raises TypeError if an option has no default.
        """
        lifespan = self.lifespan
        if lifespan is None:
            return None
        options: Any = self.default_options() if own is None else own

        @asynccontextmanager
        async def opened(manager: Manager) -> AsyncIterator[Any]:
            from prometheus_client import CollectorRegistry

            registry = manager.metrics.registry if manager.metrics is not None else CollectorRegistry()
            async with lifespan(Program(manager, options, registry)) as state:
                yield state

        return opened
