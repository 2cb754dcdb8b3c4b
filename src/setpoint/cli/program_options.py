"""Options: the flags that a program adds to its ``run`` command, and the argument of its lifespan."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeAlias, TypeVar

from cyclopts import Parameter

from setpoint.apps.error_reports import UsageError
from setpoint.client import Client
from setpoint.manager import Lifespan, Manager

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

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


def with_options(command: Callable[..., None], options: type[Any] | None, taken: set[str]) -> Callable[..., None]:
    """``command`` with the fields of ``options`` as further flags. The command receives their values as an instance of
    ``options``, in its argument ``own``.

    Raises:
        UsageError: ``options`` is not a dataclass, or one of its fields has the name of another flag.
    """
    if options is None:
        command.__annotations__["own"] = Annotated[Any, Parameter(parse=False)]
        return command
    if not (isinstance(options, type) and dataclasses.is_dataclass(options)):
        raise UsageError(f"options= takes a dataclass, whose fields are the program's own flags, not {options!r}")
    for field in dataclasses.fields(options):
        if field.name in taken:
            raise UsageError(
                f"{options.__name__}.{field.name}: run already has a flag of that name; choose another one"
            )
    command.__annotations__["own"] = Annotated[options, Parameter(name="*")]
    return command


def bound(lifespan: ProgramLifespan[Any] | None, options: type[Any] | None, own: Any) -> Lifespan | None:
    """The program's lifespan, adapted to a manager, with the options ``own`` or, if ``own`` is None, the default
    options. Returns None if the program has no lifespan.

    Raises:
        UsageError: ``own`` is None, and an option does not have a default.
    """
    if lifespan is None:
        return None
    if own is None and options is not None:
        try:
            own = options()
        except TypeError as problem:
            raise UsageError(f"{options.__name__}: {problem}") from None

    @asynccontextmanager
    async def opened(manager: Manager) -> AsyncIterator[Any]:
        from prometheus_client import CollectorRegistry

        registry = manager.metrics.registry if manager.metrics is not None else CollectorRegistry()
        async with lifespan(Program(manager, own, registry)) as state:
            yield state

    return opened
