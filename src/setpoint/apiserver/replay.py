"""Runs requests that need answers from webhooks or take a long time: their work waits, and is repeated if necessary.

All work on objects is synchronous. If it needs an answer that only a webhook has, it raises `Suspended`; the webhook is
called, and the work is repeated from the beginning, on the objects that are stored *then*, with the answers available.
If an object has changed in the meantime, the question is different and is asked again, as upstream's
``GuaranteedUpdate`` does. Nothing is stored before all answers that could suspend the work are known.

Such work runs in slices of a few milliseconds (`setpoint.slices`), and other requests run between them. The reads are
checked before each slice: if another request has changed an object that the work has read, the work begins again. After
its first write, the work is no longer interrupted. So a request reads, computes and stores as if it were alone, and
delays no other request.

Small requests are tried without slices; a request that turns out to take long raises `Lengthy` and is repeated in
slices.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from itertools import count
from random import Random
from typing import Any, Final, Protocol, TypeVar

from setpoint.slices import Slicer

__all__ = ["Attempt", "Lengthy", "ObjectLocks", "Replay", "Suspended"]

T = TypeVar("T")
Learn = Callable[["Replay"], Awaitable[None]]


_PATIENCE: Final = 12
"""The number of suspensions after which a request locks its object (see `ObjectLocks`). If no other request writes the
object, a write is suspended at most six times.
"""
_TRIES: Final = 4
"""The number of attempts in slices. If the data that the work reads changes each time, the next attempt is not
interrupted.
"""


class Lengthy(Exception):
    """Raised by work that would take too long to run without interruption; it is then repeated in slices."""


class Suspended(Exception):
    """The work can't continue until ``learn`` has put the missing answers into ``Replay.answers``."""

    def __init__(self, learn: Learn) -> None:
        super().__init__("answers of webhooks are missing")
        self.learn = learn


class Asker(Protocol):
    """A source of answers, such as a webhook, that can be asked many questions together."""

    async def learn(self, replay: Replay, questions: Sequence[Any], /) -> None: ...


class ObjectLocks:
    """Exclusive locks on objects, for requests that could not finish because other requests kept
    writing the same object.

    Upstream retries such a request until its time limit. Here other writers of the object wait; readers
    don't.
    """

    def __init__(self) -> None:
        self._held: dict[Hashable, asyncio.Event] = {}

    async def wait(self, key: Hashable) -> None:
        """Waits while another request holds the object."""
        while (held := self._held.get(key)) is not None:
            await held.wait()

    async def acquire(self, key: Hashable) -> None:
        await self.wait(key)
        self._held[key] = asyncio.Event()

    def release(self, key: Hashable) -> None:
        self._held.pop(key).set()


class Attempt(Protocol):
    """The reads and writes of one attempt."""

    def slice(self) -> AbstractContextManager[None]:
        """A context for one slice of the work."""
        ...

    def may_pause(self) -> bool: ...
    def holds(self) -> bool:
        """Whether work that begins now would read the same data."""
        ...


class Replay:
    """Repeats the work of one request until it succeeds, and keeps the webhook answers that the request has received so
    far. All attempts use the same time and the same random numbers, so they ask the same questions if no object has
    changed.
    """

    __slots__ = ("_begin", "_collected", "_seed", "_slicer", "answers", "attempt", "moment", "random")

    def __init__(self, random: Random, moment: datetime, slicer: Slicer, begin: Callable[[], Attempt]) -> None:
        """``begin`` makes the `Attempt` for each attempt."""
        self._slicer = slicer
        self._begin = begin
        self.attempt = begin()
        self._seed = random.getrandbits(64)
        self.random = Random(self._seed)
        self.moment = moment
        self.answers: dict[Hashable, Any] = {}
        self._collected: list[tuple[Asker, Any]] | None = None
        """The questions that `batch` has collected so far, each with its asker; None outside of `batch`."""

    async def run(self, work: Callable[[], T], locks: ObjectLocks | None = None, key: Hashable = None) -> T:
        """Returns the result of ``work`` after as many attempts as needed. Raises the errors of the work and of the
        calls to webhooks.

        ``key`` is the object that the work writes: see `ObjectLocks`.
        """
        asked, held = 0, False
        try:
            while True:
                try:
                    return await self._in_slices(work)
                except Suspended as pending:
                    learn = pending.learn
                asked += 1
                if asked == _PATIENCE and locks is not None and key is not None:
                    await locks.acquire(key)
                    held = True
                await learn(self)
        finally:
            if held and locks is not None:
                locks.release(key)

    async def _in_slices(self, work: Callable[[], T]) -> T:
        for tried in count(1):
            self.random = Random(self._seed)
            self._collected = None
            attempt = self.attempt = self._begin()
            doing = self._slicer.start(work, attempt.may_pause if tried <= _TRIES else _never)
            try:
                while True:
                    with attempt.slice():
                        done = doing.go()
                    if done:
                        return doing.result
                    await asyncio.sleep(0)
                    if not attempt.holds():
                        break
            finally:
                doing.close()
        raise AssertionError

    def batch(self, work: Callable[[], T]) -> T:
        """Returns the result of ``work``. If answers are missing, raises Suspended, which asks for all of them
        together.
        """
        missing: list[tuple[Asker, Any]] = []
        self._collected = missing
        try:
            result = work()
        finally:
            self._collected = None
        if missing:  # all of one kind of objects, so there is one to be asked
            asker = missing[0][0]
            raise Suspended(lambda replay: asker.learn(replay, [question for _, question in missing]))
        return result

    def collect(self, asker: Asker, question: Any) -> bool:
        """Notes the question, which is asked later together with others, and returns True; the caller
        continues without an answer. Returns False if questions are not being collected.
        """
        if self._collected is None:
            return False
        self._collected.append((asker, question))
        return True


def _never() -> bool:
    return False
