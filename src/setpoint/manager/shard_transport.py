"""ShardTransport: no write of a process, or of a reconcile, that has lost its keys."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from setpoint.client import Request, Response, Transport
from setpoint.controller.context import current
from setpoint.manager.leader_election import WriteRefused
from setpoint.manager.shard_member import ShardMember


class ShardTransport:
    """A transport that refuses to write what another process may be writing by now.

    That is every write in a process whose lease has run out without its knowing, and every write of a reconcile that
    is not under way any more. Reads pass.
    """

    def __init__(self, transport: Transport, member: ShardMember) -> None:
        self._transport = transport
        self._member = member

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]:
        """Raises `WriteRefused`."""
        if request.method not in ("GET", "HEAD", "OPTIONS"):
            context = current.get()
            member = self._member
            if not (member.may_act() if context is None else member.may_write(context.controller, context.key)):
                raise WriteRefused(
                    f"{request.method} {request.path} refused: the key may be another process's by now", sent=False
                )
        return self._transport.send(request)

    async def close(self) -> None:
        """The wrapped transport belongs to somebody else."""
