"""Runs requests that need answers from webhooks, or from threads: their work is repeated with the answers.

All work on objects is synchronous. If it needs an answer that only a webhook has, it raises `Suspended`; the webhook is
called, and the work is repeated from the beginning, on the objects that are stored *then*, with the answers available.
If an object has changed in the meantime, the question is different and is asked again, as upstream's
``GuaranteedUpdate`` does. Nothing is stored before all answers that could suspend the work are known.

Each attempt runs without interruption, so a request reads, computes and stores as if it were alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from random import Random
from typing import Any, Final, Protocol, TypeVar

T = TypeVar("T")
Learn = Callable[["Replay"], Awaitable[None]]
Transaction = Callable[[], AbstractContextManager[None]]

_PATIENCE: Final = 12
"""The number of suspensions after which a request locks its object (see `ObjectLocks`). If no other request writes the
object, a write is suspended at most six times.
"""


class Suspended(Exception):
    """The work can't continue until ``learn`` has put the missing answers into ``Replay.answers``."""

    def __init__(self, learn: Learn) -> None:
        super().__init__("answers are missing")
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
        self._locks: dict[Hashable, asyncio.Event] = {}

    async def wait(self, key: Hashable) -> None:
        """Waits while another request holds the object."""
        while (released := self._locks.get(key)) is not None:
            await released.wait()

    async def acquire(self, key: Hashable) -> None:
        await self.wait(key)
        self._locks[key] = asyncio.Event()

    def release(self, key: Hashable) -> None:
        self._locks.pop(key).set()


class Replay:
    """Repeats the work of one request until it succeeds, and keeps the webhook answers that the request has received so
    far. All attempts use the same time and the same random numbers, so they ask the same questions if no object has
    changed.
    """

    __slots__ = ("_collected", "_seed", "_transaction", "answers", "moment", "random")

    def __init__(self, random: Random, moment: datetime, transaction: Transaction) -> None:
        """``transaction`` is the storage's; each attempt runs in one."""
        self._transaction = transaction
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
        questions, released = 0, False
        try:
            while True:
                try:
                    return self._attempt(work)
                except Suspended as pending:
                    learn = pending.learn
                questions += 1
                if questions == _PATIENCE and locks is not None and key is not None:
                    await locks.acquire(key)
                    released = True
                await learn(self)
        finally:
            if released and locks is not None:
                locks.release(key)

    def _attempt(self, work: Callable[[], T]) -> T:
        self.random = Random(self._seed)
        self._collected = None
        with self._transaction():
            return work()

    def apart(self, question: Hashable, work: Callable[[], T]) -> T:
        """The result of ``work``, which runs in a thread. It must depend only on the ``question``, and change nothing.

        Raises Suspended until there is a result.
        """
        if question not in self.answers:
            raise Suspended(lambda replay: replay._work(question, work))
        answer: T = self.answers[question]
        return answer

    async def _work(self, question: Hashable, work: Callable[[], Any]) -> None:
        self.answers[question] = await asyncio.to_thread(work)

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
