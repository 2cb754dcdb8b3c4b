"""Retries: the rules of the raw layer, and `retry_on_conflict`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import TypeVar

import msgspec

from setpoint.client.errors import Conflict
from setpoint.client.transport import TransportError

T = TypeVar("T")


class RetryPolicy(msgspec.Struct, frozen=True):
    """The rules for the retries that callers don't see; they are those of client-go.

    - After a 429 or 5xx with ``Retry-After``, any verb is retried after exactly that many seconds. The header means
      that the server has not begun the request.
    - After a broken connection, only GET is retried, after ``reset_delay`` seconds. The server may have carried out a
      request with any other verb.
    - There are at most ``attempts`` retries. If a delay is longer than ``patience`` seconds, there is no retry: the
      caller gets the error, which contains the delay.
    """

    attempts: int = 10
    reset_delay: float = 1.0
    patience: float = 60.0

    def delay_after_error(self, method: str, error: TransportError, attempt: int) -> float | None:
        """The seconds until the retry, or None to give up. ``attempt`` counts from 0."""
        if attempt >= self.attempts or method != "GET" or not error.reset:
            return None
        return self.reset_delay

    def delay_after_answer(self, code: int, retry_after: float | None, attempt: int) -> float | None:
        """The seconds until the retry, or None to give up. ``attempt`` counts from 0."""
        if attempt >= self.attempts or retry_after is None or retry_after > self.patience:
            return None
        return retry_after if code == 429 or code >= 500 else None


class Backoff(msgspec.Struct, frozen=True):
    """The delays between at most ``steps`` attempts: ``initial`` seconds, multiplied by ``factor`` each time, plus a
    random part of up to ``jitter`` times the delay.
    """

    steps: int
    initial: float
    factor: float = 1.0
    jitter: float = 0.0


DEFAULT_RETRY = Backoff(steps=5, initial=0.01, factor=1.0, jitter=0.1)
"""The back-off for conflicts with unrelated writes of other clients (client-go's DefaultRetry)."""
DEFAULT_BACKOFF = Backoff(steps=4, initial=0.01, factor=5.0, jitter=0.1)
"""The back-off for conflicts with clients that do the same work (client-go's DefaultBackoff)."""


async def retry_on_conflict(
    attempt: Callable[[], Awaitable[T]], *, backoff: Backoff = DEFAULT_RETRY, random: Random | None = None
) -> T:
    """Calls ``attempt`` again while it raises `Conflict`, at most ``backoff.steps`` times in all, and returns its
    result.

    ``attempt`` must read the object each time: writes of an object that was read only once would always conflict.
    Without ``random``, the delays have no random part.

    Raises:
        Conflict: the last attempt still conflicted.
    """
    delay = backoff.initial
    for step in range(backoff.steps):
        try:
            return await attempt()
        except Conflict:
            if step == backoff.steps - 1:
                raise
        await asyncio.sleep(delay * (1 + (random.random() * backoff.jitter if random is not None else 0.0)))
        delay *= backoff.factor
    raise ValueError("backoff.steps must be at least 1")
