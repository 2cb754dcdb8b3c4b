"""Hot loops: keys that keep changing the same object although their spec has not changed.

Two controllers may fight over a field, a server may store a value differently from how it was sent, or a status may
contain a timestamp. In each case every single write looks like useful work. Two signs reveal such a loop while the
generation of the reconciled object stays the same: a high rate of *changing* writes to one object, even if the writes
differ; and, at any rate, repetitions of the *same* write, each made because the written object itself was changed. When
a controller writes to the spec of its own object, each write makes a new generation, so the generation is not
considered for such writes. A third sign is more than a thousand reconciles within `HotLoopLimits.seconds` that change
nothing and ask to be called again at once (``after(0)``, or after less than `SOON`). A key in a hot loop is slowed
down, not stopped, and the log names the fields that changed back and forth, and their managers.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from setpoint.client import PatchType, WriteRecord
from setpoint.client.changed_fields import changed_fields, sent_fields
from setpoint.meta import ObjectKey, Resource
from setpoint.patch import merge_patch

FIRST_DELAY: Final = 1.0
MAX_DELAY: Final = 60.0
MAX_KEYS: Final = 4096
MAX_OBJECTS: Final = 4096
MAX_REQUEUES: Final = 1000
"""The maximum number of reconciles within `HotLoopLimits.seconds` that change nothing and ask for the next one at once.
"""
SOON: Final = 0.01
"""The number of seconds below which an ``after`` counts as "at once". It is not 0 because a program that computes the
remaining time of a period may get a result as short as one tick of the clock.
"""
_REMEMBERED: Final = 4
_LOOKS: Final = 8
_ANY: Final = -1
"""The value that stands for every generation."""
_SAYS_NOTHING: Final = frozenset({"apiVersion", "kind", "metadata", "status"})
_VERSION: Final = re.compile(rb'"resourceVersion":"[^"]*",?')
"""A pattern that matches the version in the body of a write. Bodies that differ only in the version count as equal."""

Read = Callable[[Resource, ObjectKey], Awaitable[dict[str, Any] | None]]
"""A function that returns the object as it is on the server, with managed fields; None if it can't be read."""


class HotLoopLimits(Struct, frozen=True, kw_only=True):
    """The limits beyond which a key counts as hot. They apply to the writes that changed one object while the
    generation of the reconciled object stayed the same. For writes to the spec of the reconciled object itself, all
    generations count.

    A key is hot after more than ``writes`` changing writes in ``seconds`` seconds. It is also hot after more than
    ``repeats`` repetitions in ``within`` seconds; a repetition has the same body as an earlier write and was made by a
    reconcile that a change of the written object caused.

    Raises:
        ValueError: a number is not positive.
    """

    writes: int = 30
    seconds: float = 30.0
    repeats: int = 10
    within: float = 600.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if not getattr(self, name) > 0:
                raise ValueError(f"HotLoopLimits({name}={getattr(self, name)!r}): must be more than 0")


class _Count:
    """The changing writes of one key to one object."""

    __slots__ = ("count", "digests", "generation", "last", "repeats", "repeats_since", "since", "version")

    def __init__(self, generation: int, now: float) -> None:
        self.generation = generation
        self.version = ""
        self.last = now
        self.since = now
        self.count = 0
        self.digests: tuple[int, ...] = ()
        """The hashes of the last distinct bodies."""
        self.repeats_since = now
        self.repeats = 0

    def repeat(self, body: bytes, now: float, within: float) -> int:
        """Counts ``body`` as a repetition if it was sent before; returns the number of repetitions in the present
        period of ``within`` seconds.
        """
        if now - self.repeats_since > within:
            self.repeats_since, self.repeats = now, 0
        digest = hash(_VERSION.sub(b"", body))
        if digest in self.digests:
            self.repeats += 1
        else:
            self.digests = (*self.digests[1 - _REMEMBERED :], digest)
        return self.repeats


class _Slow:
    """A key that is slowed down."""

    __slots__ = (
        *("before", "delay", "ends_after", "generation", "looks", "resource", "write", "reported", "requeues", "until"),
        "target",
    )

    def __init__(
        self,
        resource: Resource,
        target: ObjectKey,
        generation: int,
        until: float,
        ends_after: float,
        write: WriteRecord | None,
    ) -> None:
        self.ends_after = ends_after
        """The number of seconds without a change after which the key is no longer hot."""
        self.write = write
        """A write with the body that was sent repeatedly; None if the key is hot for another reason."""
        self.resource = resource
        self.target = target
        self.generation = generation
        self.until = until
        self.delay = FIRST_DELAY
        self.looks = _LOOKS if write is not None else 0
        """The number of remaining comparisons of the object with ``write``. If none of them shows a difference,
        successive states of the object are compared instead.
        """
        self.before: dict[str, Any] | None = None
        self.reported = False
        self.requeues = False
        """Whether the key is hot because its reconciles change nothing and ask to be called again at once."""

    @property
    def why(self) -> str:
        if self.requeues:
            return f"it asks to be called again at once, with after(0) to after({SOON}), and changes nothing"
        return f"it changes {self.resource.kind} {self.target} again and again"


class HotLoopDetector:
    """Counts changing writes per key and written object; see `HotLoopLimits`.

    The reconciles of a hot key are held back for 1 second at first, and after each further change for twice as long as
    before, at most 60 s. The key is no longer hot when its object has a new generation (unless the writes are to the
    spec of that object), or when the limit's period, ``seconds`` or ``within``, has passed without a change. Without
    ``limits`` no key is ever hot.

    Memory is bounded: the detector remembers the 4096 keys whose reconciles wrote last, and for each key the 4096
    objects that were written last. It remembers them for the longer of the periods ``seconds`` and ``within``.
    """

    def __init__(self, log: logging.LoggerAdapter[logging.Logger], read: Read, limits: HotLoopLimits | None) -> None:
        self.slowed: dict[ObjectKey, _Slow] = {}
        self._log = log
        self._read = read
        self._limits = limits
        self._counts: dict[ObjectKey, dict[tuple[str, ObjectKey], _Count]] = {}
        self._requeues: dict[ObjectKey, tuple[float, int]] = {}

    def count_write(
        self, key: ObjectKey, generation: int, record: WriteRecord, *, is_answer: bool = False, is_own: bool = False
    ) -> bool:
        """Counts a write that a reconcile of ``key`` made; returns whether the write made the key hot.

        ``is_answer`` says that a change of the written object caused the reconcile; ``is_own`` says that the written
        object is the reconciled object itself.
        """
        resource, target, version = record.resource, record.key, record.version
        limits = self._limits
        if not version or limits is None:
            return False
        if is_own and is_beyond_status(record):
            generation = _ANY
        now = asyncio.get_running_loop().time()
        counts = self._counts.pop(key, None) or {}
        self._counts[key] = counts
        if len(self._counts) > MAX_KEYS:
            del self._counts[next(iter(self._counts))]
        place = (resource.plural if generation != _ANY else f"{resource.plural}/spec", target)
        count = counts.pop(place, None)
        if count is None or count.generation != generation:
            version_before = count.version if count is not None else ""
            count = _Count(generation, now)
            count.version = version_before
        counts[place] = count
        if count.version == version:
            return False  # a write that changed nothing
        self._requeues.pop(key, None)
        count.version, count.last = version, now
        _expire(counts, now - max(limits.seconds, limits.within))
        if now - count.since > limits.seconds:
            count.since, count.count = now, 0
        count.count += 1
        repeats = count.repeat(record.body, now, limits.within) if record.body and is_answer else 0
        slow = self.slowed.get(key)
        if slow is not None:
            slow.delay = min(slow.delay * 2, MAX_DELAY)
            slow.until = now + slow.delay
            return False
        extra = {"key": key, "changed": f"{resource.kind} {target}"}
        until = now + FIRST_DELAY
        if repeats > limits.repeats:
            self.slowed[key] = _Slow(resource, target, generation, until, limits.within, record)
            self._log.warning(
                "hot loop: the same change of the same object is made again and again; slowing down",
                extra={**extra, "times": repeats, "seconds": limits.within},
            )
            return True
        if count.count > limits.writes:
            self.slowed[key] = _Slow(resource, target, generation, until, limits.seconds, None)
            self._log.warning(
                "hot loop: the same object is changed again and again although its desired state has not changed; "
                "slowing down",
                extra={**extra, "times": count.count, "seconds": limits.seconds},
            )
            return True
        return False

    def count_requeue(self, key: ObjectKey, generation: int, resource: Resource) -> bool:
        """Counts a reconcile that asks for the next one at once; returns whether that made the key hot."""
        limits = self._limits
        if limits is None:
            return False
        now = asyncio.get_running_loop().time()
        slow = self.slowed.get(key)
        if slow is not None:
            slow.delay = min(slow.delay * 2, MAX_DELAY)
            slow.until = now + slow.delay
            return False
        since, count = self._requeues.pop(key, (now, 0))
        if now - since > limits.seconds:
            since, count = now, 0
        if count < MAX_REQUEUES:
            self._requeues[key] = (since, count + 1)
            if len(self._requeues) > MAX_KEYS:
                del self._requeues[next(iter(self._requeues))]
            return False
        slow = self.slowed[key] = _Slow(resource, key, generation, now + FIRST_DELAY, limits.seconds, None)
        slow.requeues = slow.reported = True
        self._log.warning(
            "hot loop: the reconcile asks to be called again at once, and changes nothing; slowing down",
            extra={"key": key, "times": count + 1, "seconds": limits.seconds},
        )
        return True

    async def hold(self, key: ObjectKey, generation: int | None = None) -> float:
        """The number of seconds for which the key must not be reconciled; 0.0 if it may be reconciled now."""
        slow = self.slowed.get(key)
        if slow is None:
            return 0.0
        now = asyncio.get_running_loop().time()
        if now > slow.until + slow.ends_after or (generation is not None and slow.generation not in (generation, _ANY)):
            self.forget(key)
            return 0.0
        held = now < slow.until
        # The change that undoes a known write is best seen just before that write is made again.
        if not slow.reported and (held or slow.write is not None):
            await self._compare(key, slow)
        if not held:
            return 0.0
        return max(slow.until - asyncio.get_running_loop().time(), 0.0)

    def forget(self, key: ObjectKey) -> None:
        self.slowed.pop(key, None)
        self._counts.pop(key, None)
        self._requeues.pop(key, None)

    async def _compare(self, key: ObjectKey, slow: _Slow) -> None:
        """Finds the fields that change back and forth: compares the object with the body that is always written to
        it. If there is no difference, compares the object after one round with the object after the next.
        """
        document = await self._read(slow.resource, slow.target)
        if document is None:
            return
        fields = _unapplied_fields(document, slow.write)
        if not fields:
            slow.looks -= 1
            if slow.looks > 0:
                return
            before, slow.before = slow.before, document
            if before is None:
                return
            if before["metadata"].get("resourceVersion") == document["metadata"].get("resourceVersion"):
                return
            fields = changed_fields(before, document) or ["(none differs between two rounds)"]
        slow.reported = True
        slow.before = None
        self._log.log(
            logging.WARNING,
            "hot loop: these fields keep changing back and forth",
            extra={
                "key": key,
                "object": f"{slow.resource.kind} {slow.target}",
                "fields": fields,
                "managers": _managers(document),
            },
        )


def is_beyond_status(write: WriteRecord) -> bool:
    """Whether a write contained more than the metadata and status of an object."""
    if not write.body:
        return False
    if write.content_type == PatchType.JSON.value:
        operations = msgspec.json.decode(write.body)
        names = {
            operation["path"].split("/")[1]
            for operation in operations
            if operation["op"] != "test" and "/" in operation["path"]
        }
    else:
        names = set(msgspec.json.decode(write.body, type=dict[str, msgspec.Raw]))
    return not names <= _SAYS_NOTHING


def _expire(counts: dict[tuple[str, ObjectKey], _Count], before: float) -> None:
    """Forgets the objects that were written longest ago, so the memory of a key that keeps creating objects stays
    bounded.
    """
    while True:
        first = next(iter(counts))
        if len(counts) <= MAX_OBJECTS and counts[first].last >= before:
            return
        del counts[first]


def _unapplied_fields(document: dict[str, Any], write: WriteRecord | None) -> list[str]:
    """The fields in which the object differs from what was sent. For JSON and strategic merge patches: all
    fields that the patch names, without a comparison.
    """
    if write is None:
        return []
    if write.content_type in (PatchType.MERGE.value, PatchType.APPLY.value):
        return changed_fields(document, merge_patch.apply(document, msgspec.json.decode(write.body)))
    return list(sent_fields(write.content_type, write.body))


def _managers(document: dict[str, Any]) -> list[str]:
    entries = document["metadata"].get("managedFields") or []
    return sorted({f"{entry.get('manager', '')} ({entry.get('operation', '')})" for entry in entries})
