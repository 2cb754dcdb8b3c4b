"""Load on one kind in all its versions: writers who own a field each, readers and watchers, none of which lets a thing
pass that is not as it was written."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from setpoint.client import ApiError, Client, Conflict
from setpoint.meta import Object, raw_of

NAMESPACE = "default"
ABSENCE = ("failed calling webhook", "conversion webhook for")
"""Words of failures that a webhook's absence explains."""
_AHEAD = 8
"""Rounds that a worker may have done more than the slowest."""
Round = Callable[[int], Awaitable[None]]
Sound = Callable[[dict[str, Any]], bool]


@dataclass
class Load:
    """Workers that do one round after the other until they are told to end."""

    tasks: asyncio.TaskGroup
    excused: bool = False
    """Whether webhooks are away, so that what needs them may fail."""
    excuses: int = 0
    rounds: dict[str, int] = field(default_factory=dict)
    _watchers: dict[asyncio.Task[None], dict[str, int]] = field(default_factory=dict)
    _ended: set[str] = field(default_factory=set)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def start(self, **workers: Round) -> None:
        for name, one_round in workers.items():
            self.rounds[name] = min(self.rounds.values(), default=0)
            self.tasks.create_task(self._work(name, one_round), name=name)

    async def end(self, *names: str) -> None:
        """Ends these, or all, after their round, and all watchers, of which none may have been idle."""
        ending = set(names or self.rounds)
        self._ended |= ending
        async with self._changed:
            self._changed.notify_all()
            await self._changed.wait_for(lambda: not ending & self.rounds.keys())
        while self._watchers:
            watcher, seen = self._watchers.popitem()
            watcher.cancel()
            assert seen, "nothing was seen"

    async def goes_on(self, rounds: int = 2) -> None:
        """Until each worker has done that many rounds more."""
        goal = {name: done + rounds for name, done in self.rounds.items()}
        async with self._changed:
            await self._changed.wait_for(
                lambda: all(self.rounds.get(name, wanted) >= wanted for name, wanted in goal.items())
            )

    def watch(self, client: Client, kind: type[Any], sound: Sound) -> None:
        """Watches until the end; what comes must be of the version, sound, and in order."""
        seen: dict[str, int] = {}
        self._watchers[self.tasks.create_task(self._watch(client, kind, sound, seen))] = seen

    async def _watch(self, client: Client, kind: type[Any], sound: Sound, seen: dict[str, int]) -> None:
        revision = ""
        while True:
            excused = self.excused
            try:
                async for event in client.watch(kind, namespace=NAMESPACE, resource_version=revision, bookmarks=False):
                    if event.error is not None:
                        raise event.error
                    assert sound(json.loads(event.raw)), event.raw
                    assert int(event.resource_version) > seen.get(event.metadata.uid, 0)
                    revision = event.resource_version
                    seen[event.metadata.uid] = int(revision)
            except ApiError as problem:
                self._excuse(problem, excused)
                await asyncio.sleep(0)

    def _excuse(self, problem: ApiError, excused: bool) -> None:
        """Raises a failure that is none of those that are to be expected."""
        if not (excused or self.excused) or not any(words in problem.message for words in ABSENCE):
            raise problem
        self.excuses += 1

    async def _work(self, name: str, one_round: Round) -> None:
        number = self.rounds[name]
        while name not in self._ended:
            excused = self.excused
            try:
                await one_round(number)
            except ApiError as problem:
                self._excuse(problem, excused)
            number += 1
            async with self._changed:
                self.rounds[name] = number
                self._changed.notify_all()
                # A quick writer must not keep the others from working.
                await self._changed.wait_for(
                    lambda: name in self._ended or self.rounds[name] <= min(self.rounds.values()) + _AHEAD
                )
        async with self._changed:
            del self.rounds[name]
            self._changed.notify_all()


@dataclass
class Owner:
    """Alone writes one field of one object, in one version, and never finds anything else there.

    ``value(number)`` is what is written next; ``get`` and ``put`` know where it is.
    """

    client: Client
    kind: type[Any]
    name: str
    value: Callable[[int], Any]
    get: Callable[[Any], Any]
    put: Callable[[Any, Any], None]
    """Changes an object in place."""
    patch: Callable[[Any], dict[str, Any]]
    applied: Callable[[str, Any], Object]
    """An object with nothing but that field."""
    how: Literal["patch", "update", "apply"] = "patch"
    possible: list[Any] = field(default_factory=list)
    """The possible values of the field: more than one only if a write failed whose result is unknown."""

    async def __call__(self, number: int) -> None:
        read = await self.client.get(self.kind, self.name, namespace=NAMESPACE)
        result = self.get(read)
        assert not self.possible or result in self.possible, f"{self.name}: {result!r}, wrote {self.possible!r}"
        wanted = self.value(number)
        self.possible = [result, wanted]
        written: Any
        if self.how == "patch":
            written = await self.client.patch(self.kind, self.name, self.patch(wanted), namespace=NAMESPACE)
        elif self.how == "apply":
            written = await self.client.apply(self.applied(self.name, wanted), field_manager=self.name, force=True)
        else:
            self.put(read, wanted)
            try:
                written = await self.client.update(read)
            except Conflict:  # the controller wrote the status
                self.possible = [result]
                return
        assert self.get(written) == wanted, f"{self.name}: {self.get(written)!r} came back, wrote {wanted!r}"
        self.possible = [wanted]


def reader(client: Client, kind: type[Any], sound: Sound, least: int) -> Round:
    """Lists; every object must be of the version and sound, and none may be missing."""

    async def one_round(number: int) -> None:
        objects = await client.list(kind, namespace=NAMESPACE, limit=3 if number % 2 else 0)
        items = [*objects]
        while objects.metadata.continue_:
            objects = await client.list(kind, namespace=NAMESPACE, limit=3, continue_=objects.metadata.continue_)
            items += objects
        assert len(items) >= least
        for item in items:
            assert sound(json.loads(raw_of(item) or b"")), raw_of(item)

    return one_round


def passer_by(client: Client, obj: Callable[[int], Object], other: type[Any]) -> Round:
    """Makes an object in one version and takes it away in the other."""

    async def one_round(number: int) -> None:
        name = (await client.create(obj(number))).name
        await client.delete(await client.get(other, name, namespace=NAMESPACE))

    return one_round
