"""Fences: no write of a process that may have lost what it works on without knowing.

A fence is what stops a process that was paused for longer than its lease: its first request after that is a mistake
that nobody else would catch.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from setpoint.client import Request, Response, Transport, TransportError
from setpoint.controller.context import current
from setpoint.meta import ObjectKey


class WriteRefused(TransportError):
    """A write was not sent, because what it is about may be another process's by now."""


class Fence(Protocol):
    def may_act(self) -> bool:
        """Whether no other process can have taken over from this one yet, by this one's clock."""
        ...

    def may_write(self, controller: str, key: ObjectKey) -> bool:
        """Whether that holds for a reconcile of the key."""
        ...


class FencedTransport:
    """A transport that refuses to write what another process may be writing by now. Reads pass.

    With ``reconciles_only`` the fence is asked about writes of reconciles alone, and of those alone that it guards: for
    a client that others use, too.
    """

    def __init__(self, transport: Transport, fence: Fence, *, reconciles_only: bool = False) -> None:
        self._transport = transport
        self._fence = fence
        self._reconciles_only = reconciles_only

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        """Raises `WriteRefused`."""
        if request.method not in ("GET", "HEAD", "OPTIONS"):
            context, fence = current.get(), self._fence
            if self._reconciles_only and (context is None or not context.guarded):
                allowed = True
            else:
                allowed = fence.may_act() if context is None else fence.may_write(context.run_name, context.key)
            if not allowed:
                raise WriteRefused(
                    f"{request.method} {request.path} refused: another process may have taken over by now", sent=False
                )
        return self._transport.send(request)

    async def close(self) -> None:
        """The wrapped transport belongs to somebody else."""
