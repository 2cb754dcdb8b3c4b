"""Actor: one participant in the simulated world. The loop knows which tasks belong to an actor, so it can kill the
actor.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, Literal, TypeVar

T = TypeVar("T")
State = Literal["running", "paused", "dead"]


class Actor:
    """A process in the simulated world, such as that of a controller, the API server or the garbage collector.

    The tasks and callbacks that descend from `start` or `call` belong to the actor, so the loop can stop all of them at
    once, as SIGSTOP and SIGKILL do (`SimulationLoop.pause`, `SimulationLoop.kill`).
    """

    __slots__ = ("lane", "name", "parked", "state", "timers")

    def __init__(self, name: str, lane: str) -> None:
        self.name = name
        self.lane = lane
        self.state: State = "running"
        self.parked: list[asyncio.Handle] = []
        """The callbacks that became ready while the actor was paused."""
        self.timers: list[asyncio.TimerHandle] = []
        """The timers that were pending when the actor was paused."""

    def start(self, coro: Coroutine[Any, Any, T], name: str = "") -> asyncio.Task[T]:
        """Runs ``coro`` in a task of this actor. Context variables have their defaults there, as in a new process,
        whatever code starts the actor: a fault may do so in the middle of a reconcile.
        """
        context = Context()
        context.run(ACTOR.set, self)
        return asyncio.get_running_loop().create_task(coro, name=name or self.name, context=context)

    def call(self, function: Callable[..., T], *args: Any) -> T:
        """Calls ``function`` as this actor: the tasks and callbacks that ``function`` starts belong to this actor."""
        return self.context().run(function, *args)

    def context(self) -> Context:
        context = copy_context()
        context.run(ACTOR.set, self)
        return context

    def __repr__(self) -> str:
        return f"<Actor {self.name} {self.state}>"


ACTOR: ContextVar[Actor | None] = ContextVar("setpoint_simulation_actor", default=None)
"""The actor to which the running code belongs. None stands for the scenario and the code that carries out the run."""
AUTHOR: ContextVar[Actor | None] = ContextVar("setpoint_simulation_author", default=None)
"""The actor to which writes are attributed if that is not the running actor, such as the sender of a late request,
which may have been killed since. None stands for the running actor.
"""


def author() -> Actor | None:
    """The actor to which writes are attributed at the moment; None stands for the user."""
    return AUTHOR.get() or ACTOR.get()
