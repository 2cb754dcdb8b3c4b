"""A deadline that can be moved at any moment."""

from __future__ import annotations

import asyncio
from types import TracebackType


class Deadline:
    """``async with Deadline(at):`` cancels the block at the loop time ``at`` and raises TimeoutError; None means never.

    A deadline is like `asyncio.timeout_at`, with one difference: `move` and `expire` may be called at any time and by
    any task of the loop, before the block, within it and after it. `asyncio.Timeout.reschedule` raises `RuntimeError`
    once the deadline has passed, and a task other than the block's own cannot tell whether it has.

    *Guarantees*: a deadline that has passed cannot be moved again. When another task cancels the block's task, the
    block raises `asyncio.CancelledError`, even if the deadline passes in the same iteration of the loop.

    Raises (on leaving):
        TimeoutError: the deadline passed, or `expire` was called, before the block had ended.
    """

    __slots__ = ("_at", "_settled", "_timeout")

    def __init__(self, at: float | None = None) -> None:
        self._at = at
        self._settled = False
        self._timeout: asyncio.Timeout | None = None

    @property
    def at(self) -> float | None:
        """The loop time at which the block ends; None if there is no limit, ``-inf`` after `expire`."""
        return self._at

    @property
    def expired(self) -> bool:
        """Whether this deadline cancelled the block."""
        return self._timeout is not None and self._timeout.expired()

    def move(self, at: float | None) -> None:
        """Sets a new deadline, unless the old deadline has passed, `expire` was called, or the block was left."""
        timeout = self._timeout
        if self._settled or (timeout is not None and timeout.expired()):
            return
        self._at = at
        if timeout is not None:
            timeout.reschedule(at)

    def expire(self) -> None:
        """Ends the block in the loop's next iteration, or as soon as the block is entered. May be called again."""
        self.move(float("-inf"))
        self._settled = True

    async def __aenter__(self) -> Deadline:
        if self._timeout is not None:
            raise RuntimeError("a deadline is for one block; create another one")
        timeout = asyncio.timeout_at(self._at)
        await timeout.__aenter__()
        self._timeout = timeout
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._timeout is not None
        self._settled = True
        await self._timeout.__aexit__(kind, error, trace)
