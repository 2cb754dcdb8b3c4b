"""Waits that end at a deadline or when their owner is closed."""

from __future__ import annotations

from types import TracebackType

from setpoint.client.transport import TransportError
from setpoint.concurrency import Deadline


class Waits:
    """The waits in progress in a transport. `close` ends all of them."""

    __slots__ = ("_open", "closed")

    def __init__(self) -> None:
        self.closed = False
        self._open: dict[Deadline, None] = {}  # in their order, as sets are not

    def until(self, deadline: float | None, message: str) -> Wait:
        """A context, ``async with waits.until(...)``, whose block is cancelled at the loop time ``deadline`` (None:
        never), and when `close` is called.

        Raises (on entering or leaving):
            TransportError: the deadline passed (``message`` is the message), or `close` was called.
        """
        return Wait(self, deadline, message)

    def close(self) -> None:
        """Ends all current waits, even those whose deadline has just passed. Every later one ends at once."""
        self.closed = True
        for deadline in self._open:
            deadline.expire()
        self._open.clear()


class Wait:
    __slots__ = ("_deadline", "_message", "_waits")

    def __init__(self, waits: Waits, deadline: float | None, message: str) -> None:
        self._waits = waits
        self._deadline = Deadline(deadline)
        self._message = message

    async def __aenter__(self) -> Wait:
        if self._waits.closed:
            raise TransportError("the transport is closed", sent=False)
        self._waits._open[self._deadline] = None
        await self._deadline.__aenter__()
        return self

    def move(self, deadline: float | None) -> None:
        """Changes the deadline."""
        self._deadline.move(deadline)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._waits._open.pop(self._deadline, None)
        try:
            await self._deadline.__aexit__(kind, error, trace)
        except TimeoutError:
            if self._waits.closed:
                raise TransportError("the transport is closed", sent=True) from None
            raise TransportError(self._message, sent=True, timed_out=True) from None
