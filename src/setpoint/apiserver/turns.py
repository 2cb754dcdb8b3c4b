"""Requests that need others' answers: turns of work that is done again, knowing more each time.

All work on objects is synchronous. Where it needs what only a webhook knows, it raises `Suspended`; the webhook is
asked, and the work is done again from its beginning, on what is stored *then*, with the answers at hand. If an object
changed meanwhile, the question is another one, and is asked again: what ``GuaranteedUpdate`` does upstream. Nothing is
ever stored before everything that could suspend the work is known.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Sequence
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from setpoint.apiserver.server import ApiServer

__all__ = ["Suspended", "Turn", "gathered", "settle"]

T = TypeVar("T")
Learn = Callable[["Turn"], Awaitable[None]]


class Suspended(Exception):
    """The work can't go on before ``learn`` has put into ``Turn.answers`` what was missing."""

    def __init__(self, learn: Learn) -> None:
        super().__init__("answers of webhooks are missing")
        self.learn = learn


class Asker(Protocol):
    """Who can ask many questions at once."""

    async def learn(self, turn: Turn, questions: Sequence[Any]) -> None: ...


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


async def settle(server: ApiServer, turn: Turn, work: Callable[[], T]) -> T:
    """What ``work`` gives, after as many attempts as it takes. Raises what it raises, or what asking raised."""
    while True:
        turn.begin()
        server.turn = turn
        try:
            return work()
        except Suspended as pending:
            learn = pending.learn
        finally:
            server.turn = None
        await learn(turn)
