"""Isolation: refuses what a simulated process would do to the real world: connections, subprocesses, foreign files."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

from setpoint.simulation.sandbox.actor import ACTOR
from setpoint.testing.user_code import HOME, find_user_line

_CONNECTS: Final = frozenset(
    {
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.gethostbyaddr",
        "socket.gethostbyname",
        "socket.sendmsg",
        "socket.sendto",
    }
)
_STARTS: Final = frozenset(
    {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn", "subprocess.Popen"}
)
_CHANGES: Final = {
    "os.chmod": 1,
    "os.chown": 1,
    "os.link": 2,
    "os.mkdir": 1,
    "os.remove": 1,
    "os.rename": 2,
    "os.rmdir": 1,
    "os.symlink": 2,
    "os.truncate": 1,
    "os.utime": 1,
    "shutil.rmtree": 1,
    "sqlite3.connect": 1,
}
"""Audit events of changes to files, each with the number of its arguments that are paths."""
_WATCHED: Final = frozenset({"open", *_CONNECTS, *_STARTS, *_CHANGES})
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_OURS: Final = (HOME, "<frozen importlib")
"""Files whose code may write: this framework's, and Python's own import, which keeps what it has compiled."""
HOW: Final = (
    "replace it by a setpoint.simulation.External, given as check(externals=...) or yielded by check(lifespan=...)"
)
"""The advice of every refusal."""


class NotSimulated(RuntimeError):
    """A simulated process reached for something real: a socket, a subprocess, or a file outside of the project."""


class Isolation:
    """The limits of the processes of one run. ``refused`` is called with the line of the user's code and with a
    sentence, once for every attempt. Files below ``projects`` may be written.

    *Caveats*: only what Python's audit events show is refused. A library in another language that opens sockets by
    itself is not seen.
    """

    def __init__(self, refused: Callable[[str, str], None], projects: Iterable[Path]) -> None:
        self._refused = refused
        self._projects = tuple(f"{project}{os.sep}" for project in projects)
        self._others = {thread.ident for thread in threading.enumerate()}
        """The threads that do not belong to the run: its loop's own, of which the actor says what it works for, and
        those that were there before.
        """

    def refuse(self, action: str) -> NotSimulated:
        """Reports what the process under way tried to do. Returns the error to raise."""
        place = find_user_line()
        message = f"a simulated process {action}{f' at {place}' if place else ''}, outside of the simulation: {HOW}"
        self._refused(place or action, message)
        return NotSimulated(message)

    def judge(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Raises `NotSimulated` if a simulated process may not do what the audit event is about."""
        if event == "open":
            path, _, flags = arguments
            if not flags & _WRITING or self._may_write(path):
                return
            action = f"writes the file {os.fsdecode(path)} outside of the project"
        elif event in _CHANGES:
            foreign = [path for path in arguments[: _CHANGES[event]] if not self._may_write(path)]
            if not foreign:
                return
            action = f"changes the file {os.fsdecode(foreign[0])} outside of the project ({event})"
        elif event in _CONNECTS:
            action = f"opens a connection ({event} {arguments[-1] if event != 'socket.getaddrinfo' else arguments[0]})"
        else:
            action = f"starts a subprocess ({event} {arguments[0] if arguments else ''})".replace(" )", ")")
        if self._is_simulated() and not _acting_file().startswith(_OURS):
            raise self.refuse(action)

    def _is_simulated(self) -> bool:
        """Whether the code that runs belongs to a process of the run: to one of its tasks, or to a thread that was
        started meanwhile.
        """
        return ACTOR.get() is not None or threading.get_ident() not in self._others

    def _may_write(self, path: Any) -> bool:
        if isinstance(path, int) or path is None:
            return True
        name = os.fsdecode(path).removeprefix("file:").partition("?")[0]  # SQLite takes URIs
        return name in ("", ":memory:") or os.path.realpath(name).startswith((*self._projects, "/dev/", "/proc/"))


def _acting_file() -> str:
    """The file of the code that acts. It is not that of pathlib, which opens files for others."""
    frame = sys._getframe(3)  # beyond the hook and `Isolation.judge`
    while frame.f_globals.get("__name__", "").partition(".")[0] == "pathlib" and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename


_active: list[Isolation] = []
"""The isolation of the run under way."""


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _WATCHED and _active:
        _active[-1].judge(event, arguments)


@cache
def _listen() -> None:
    """Adds the hook that all runs of this process share, since Python can't remove one."""
    sys.addaudithook(_audit)


@contextmanager
def isolated(isolation: Isolation) -> Iterator[None]:
    """Puts the isolation into effect."""
    _listen()
    _active.append(isolation)
    try:
        yield
    finally:
        _active.remove(isolation)
