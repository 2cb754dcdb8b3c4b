"""Requests that need others' answers, or much time to be read: work that is done again, knowing more each time.

All work on objects is synchronous. Where it needs what only a webhook knows, it raises `Suspended`; the webhook is
asked, and the work is done again from its beginning, on what is stored *then*, with the answers at hand. A large body
is read in the same way, in slices of a few milliseconds. If an object changed meanwhile, the question is another one,
and is asked again: what ``GuaranteedUpdate`` does upstream. Nothing is ever stored before everything that could suspend
the work is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from setpoint.apiserver.server import ApiServer

__all__ = ["Lines", "Suspended", "Turn", "gathered", "settle"]

T = TypeVar("T")
Learn = Callable[["Turn"], Awaitable[None]]


_PATIENCE: Final = 12
"""Answers after which a request counts as one that others keep from its object. An ordinary write takes six at most."""


class Suspended(Exception):
    """The work can't go on before ``learn`` has put into ``Turn.answers`` what was missing."""

    def __init__(self, learn: Learn) -> None:
        super().__init__("answers of webhooks are missing")
        self.learn = learn


class Asker(Protocol):
    """Who can ask many questions at once."""

    async def learn(self, turn: Turn, questions: Sequence[Any]) -> None: ...


class Lines:
    """Objects that one request has for itself because others' writes kept it from ever getting through.

    Upstream such a request goes on until its time is over. Whoever else writes the object waits meanwhile; reads don't.
    """

    def __init__(self) -> None:
        self._held: dict[Hashable, asyncio.Event] = {}

    async def pass_by(self, key: Hashable) -> None:
        """Waits as long as the object is another request's."""
        while (held := self._held.get(key)) is not None:
            await held.wait()

    async def hold(self, key: Hashable) -> None:
        await self.pass_by(key)
        self._held[key] = asyncio.Event()

    def release(self, key: Hashable) -> None:
        self._held.pop(key).set()


class Turn:
    """What one request knows so far. Its clock stands still and its dice repeat, so that all attempts are alike."""

    __slots__ = ("_seed", "answers", "collected", "moment", "random")

    def __init__(self, server: ApiServer) -> None:
        self._seed = server.random.getrandbits(64)
        self.random = Random(self._seed)
        self.moment: datetime = server.now()
        self.answers: dict[Hashable, Any] = {}
        self.collected: list[tuple[Asker, Any]] | None = None
        """What is missing, while that is gathered to be asked for at once."""

    def begin(self) -> None:
        """Before each attempt."""
        self.random = Random(self._seed)
        self.collected = None


def gathered(server: ApiServer, work: Callable[[], T]) -> T:
    """What ``work`` gives, which asks for many things of the same kind: all that is missing is asked for at once."""
    turn = server.turn
    if turn is None:
        return work()
    missing: list[tuple[Asker, Any]] = []
    turn.collected = missing
    try:
        result = work()
    finally:
        turn.collected = None
    if missing:  # all of one kind of objects, so there is one to be asked
        asker = missing[0][0]
        raise Suspended(lambda turn: asker.learn(turn, [question for _, question in missing]))
    return result


async def settle(server: ApiServer, turn: Turn, work: Callable[[], T], key: Hashable = None) -> T:
    """What ``work`` gives, after as many attempts as it takes. Raises what it raises, or what asking raised.

    ``key`` is the object that it writes: see `Lines`.
    """
    asked, held = 0, False
    try:
        while True:
            turn.begin()
            server.turn = turn
            try:
                return work()
            except Suspended as pending:
                learn = pending.learn
            finally:
                server.turn = None
            asked += 1
            if asked == _PATIENCE and key is not None:
                await server.lines.hold(key)
                held = True
            await learn(turn)
    finally:
        if held:
            server.lines.release(key)
