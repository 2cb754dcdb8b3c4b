"""Source: all that a cache needs of a client."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from setpoint.client.transport import Response


class Source(Protocol):
    """Where lists and watches come from; `setpoint.client.Client` is one."""

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
        """An answer that is read as it comes; leaving the context closes it.

        Raises:
            ApiError: the server answered with an error.
            TransportError: there was no answer, it broke off, or nothing came for ``idle_timeout`` seconds.
        """
        ...
