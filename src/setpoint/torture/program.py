"""Program: the process under test and its descendants, in a process group of its own."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

_PLACE: Final = re.compile(r"\{(kubeconfig|server|port)\}")
_DEATH: Final = 5.0
"""The maximum time in seconds to wait for the end of a process after SIGKILL. Only a process that hangs in the kernel
takes longer.
"""


class Program:
    """The program from one start to its end. `kill` ends it and every process of its group, but no other process.

    Its output is appended to ``log``. Its environment is that of this process, without the variables ``SETPOINT_*`` and
    ``KUBERNETES_SERVICE_*`` (which Kubernetes sets in pods), and with ``KUBECONFIG`` for the trial's server.

    Raises:
        OSError: the program can't be started.
    """

    def __init__(self, words: Sequence[str], *, kubeconfig: Path, server: str, log: Path) -> None:
        self.log = log
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("KUBERNETES_SERVICE_", "SETPOINT_"))
        } | {"KUBECONFIG": str(kubeconfig)}
        self.words = filled(words, kubeconfig=kubeconfig, server=server)
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - to run it is what the user asked for
                self.words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        self.pid = self._process.pid
        self.killed = False
        self._status: int | None = None

    @property
    def alive(self) -> bool:
        return not self.killed and self.ended() is None

    def ended(self) -> int | None:
        """The exit status (negative for a signal); None while the program runs. The process is not reaped, so its
        process id, which is also the id of its group, is not reused.
        """
        if self._status is None:
            status = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if status is not None:
                exited = status.si_code == os.CLD_EXITED
                self._status = status.si_status if exited else -status.si_status
        return self._status

    def kill(self) -> None:
        """Sends SIGKILL to the whole group, and waits at most 5 seconds until the program has ended."""
        if self.killed:
            return
        self.killed = True
        self._signal(signal.SIGKILL)
        deadline = time.monotonic() + _DEATH
        while self.ended() is None and time.monotonic() < deadline:
            time.sleep(0.001)
        self._process.poll()

    def pause(self) -> None:
        if not self.killed:
            self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        if not self.killed:
            self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):  # all of the group are gone
            os.killpg(self.pid, number)


def filled(words: Sequence[str], *, kubeconfig: Path, server: str) -> list[str]:
    """``words`` with the placeholders ``{kubeconfig}``, ``{server}`` and ``{port}`` filled in; a different free port is
    chosen for each ``{port}``.
    """
    with ExitStack() as sockets:  # until all ports are chosen, so that none is chosen twice

        def value(match: re.Match[str]) -> str:
            return {"kubeconfig": str(kubeconfig), "server": server}.get(match[1]) or str(_free_port(sockets))

        return [_PLACE.sub(value, word) for word in words]


def _free_port(sockets: ExitStack) -> int:
    """A free port, which stays bound until ``sockets`` is closed."""
    free = sockets.enter_context(socket.socket())
    free.bind(("127.0.0.1", 0))
    port: int = free.getsockname()[1]
    return port


def tail(log: Path, lines: int = 12) -> str:
    """The last ``lines`` lines of a log, from at most its last 16 KiB; ``""`` if the log does not exist."""
    try:
        text = log.read_bytes()[-16384:].decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
