"""ChildProcess: the supervisor's side of a process that it has started."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from setpoint.manager.http_server import Answer
from setpoint.manager.processes.messages import Answered, Ask, Channel, Message, State
from setpoint.manager.processes.parent_link import VARIABLE, Seat

SILENT_AFTER: Final = 5.0
"""Seconds without a message after which a process is not ready."""
STUCK_AFTER: Final = 30.0
"""Seconds without a message after which a process is unhealthy as well."""


class ChildProcess:
    """A process that has been started. `run` reads its messages until the process has ended."""

    def __init__(self, index: int, process: asyncio.subprocess.Process, channel: Channel) -> None:
        self.index = index
        self.pid = process.pid
        self.state: State | None = None
        self._last_message_at = asyncio.get_running_loop().time()
        self._process = process
        self._channel = channel
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._asks = 0

    @property
    def ended(self) -> bool:
        return self._process.returncode is not None

    @property
    def has_started(self) -> bool:
        """Whether the manager of the process has started everything that does not need an election."""
        return self.state is not None and self.state.started

    def send(self, message: Message) -> bool:
        """Sends the process a message; returns False if the message was not sent. Even a message that was sent may not
        arrive.
        """
        return not self.ended and self._channel.send(message)

    def kill(self) -> None:
        """Ends the process at once (SIGKILL)."""
        if not self.ended:
            self._process.send_signal(signal.SIGKILL)

    async def run(self) -> int:
        """Waits until the process has ended; returns its exit status, or the negative number of the signal that ended
        it.

        If the call is cancelled, the process is killed first.
        """
        try:
            while (message := await self._channel.receive()) is not None:
                self._last_message_at = asyncio.get_running_loop().time()
                if isinstance(message, State):
                    self.state = message
                elif isinstance(message, Answered):
                    waiting = self._waiting.get(message.id)
                    if waiting is not None and not waiting.done():
                        waiting.set_result(Answer(message.status, message.body, message.content_type))
            return await self._process.wait()
        finally:
            self.kill()
            await self._process.wait()
            self._channel.close()
            for waiting in self._waiting.values():
                waiting.cancel()

    async def ask(self, path: str, query: Mapping[str, list[str]], *, within: float) -> Answer | None:
        """Requests the page at ``path`` from the process and returns its answer; None if no answer arrives in time."""
        self._asks += 1
        waiting = self._waiting[self._asks] = asyncio.get_running_loop().create_future()
        number = self._asks
        try:
            if not self.send(Ask(number, path, dict(query))):
                return None
            await asyncio.wait((waiting,), timeout=within)
            return waiting.result() if waiting.done() and not waiting.cancelled() else None
        finally:
            self._waiting.pop(number, None)

    def seconds_since_message(self) -> float:
        return asyncio.get_running_loop().time() - self._last_message_at

    def unready(self) -> str:
        """The reason why the process is not ready; ``""`` if it is."""
        if self.seconds_since_message() > SILENT_AFTER:
            return f"process {self.index} (pid {self.pid}) has not answered for {self.seconds_since_message():.0f} s"
        if self.state is None or not self.state.started:
            return f"process {self.index} (pid {self.pid}) has not started yet"
        return "; ".join(f"{name}: {why}" for name, why in self.state.readyz.items())

    def unhealthy(self) -> str:
        """The reason why the process is not healthy; ``""`` if it is."""
        if self.seconds_since_message() > STUCK_AFTER:
            return f"process {self.index} (pid {self.pid}) has not answered for {self.seconds_since_message():.0f} s"
        return "; ".join(f"{name}: {why}" for name, why in self.state.healthz.items()) if self.state else ""


class Launcher:
    """Starts child processes with a command, each in a process group of its own, so that a signal from the terminal
    reaches only the supervisor.

    A child process gets its partition from `Seat.from_environment`.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.kubeconfig = ""
        """The kubeconfig of the server to use; ``""`` for the one that the command would use."""
        self._command = command

    async def __call__(self, index: int, count: int) -> ChildProcess:
        """Starts number ``index`` of ``count`` processes."""
        mine, other = socket.socketpair()
        seat = Seat(index, count, other.fileno(), self.kubeconfig)
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                env={**os.environ, VARIABLE: msgspec.json.encode(seat).decode()},
                pass_fds=(other.fileno(),),
                process_group=0,
                stdin=asyncio.subprocess.DEVNULL,
            )
        except BaseException:
            mine.close()
            raise
        finally:
            other.close()
        return ChildProcess(index, process, await Channel.over(mine))
