"""ListerWatcher: the part of a client that a cache needs."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from setpoint.client.transport import Response


class ListerWatcher(Protocol):
    """A source of lists and watches; `setpoint.client.Client` is one."""

    def stream(
        self,
        method: str,
        path: str,
        *,
        query: tuple[tuple[str, str], ...] = (),
        accept: str = "application/json",
        idle_timeout: float | None = None,
        verb: str = "",
    ) -> AbstractAsyncContextManager[Response]:
        """A streamed answer; leaving the context closes it.

        Raises:
            ApiError: the server answered with an error.
            TransportError: there was no answer, or the answer broke off or was silent for ``idle_timeout`` seconds.
        """
        ...
