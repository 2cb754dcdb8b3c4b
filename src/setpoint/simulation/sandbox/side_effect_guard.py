"""Isolation: refuses what a simulated process would do to the real world: connections, subprocesses, foreign files."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import FrameType
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
        "socket.getnameinfo",
        "socket.sendmsg",
        "socket.sendto",
        "syslog.openlog",
        "syslog.syslog",
    }
)
_STARTS: Final = frozenset(
    {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn", "subprocess.Popen"}
)
_SIGNALS: Final = frozenset({"os.kill", "os.killpg"})
_CHANGES: Final = {
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.link": ((0, 2), (1, 3)),
    "os.mkdir": ((0, 2),),
    "os.remove": ((0, 1),),
    "os.removexattr": ((0, None),),
    "os.rename": ((0, 2), (1, 3)),
    "os.rmdir": ((0, 1),),
    "os.setxattr": ((0, None),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.utime": ((0, 3),),
    "shutil.rmtree": ((0, 1),),
    "sqlite3.connect": ((0, None),),
}
"""Audit events of changes to files: the places of the paths among their arguments, each with the place of the
descriptor of the folder to which the path is relative, if there may be one.
"""
_ENTRIES: Final = frozenset({"os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink"})
"""Those that change the entries of folders, and do not follow a link."""
_WATCHED: Final = frozenset({"open", *_CONNECTS, *_STARTS, *_SIGNALS, *_CHANGES})
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
    itself is not seen, and neither is what goes over a connection or into a file that was open before the run.
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

    def judge(self, event: str, arguments: tuple[Any, ...], frame: FrameType) -> None:
        """Raises `NotSimulated` if a simulated process may not do what the audit event is about. ``frame`` is that of
        the code that acts.
        """
        if event == "open":
            path, _, flags = arguments
            if not flags & _WRITING or self._may_write(path):
                return
            action = f"writes the file {os.fsdecode(path)} outside of the project"
        elif event in _CHANGES:
            paths = [_path_of(arguments, place, folder) for place, folder in _CHANGES[event]]
            foreign = [path for path in paths if not self._may_write(path, is_entry=event in _ENTRIES)]
            if not foreign:
                return
            action = f"changes the file {os.fsdecode(foreign[0])} outside of the project ({event})"
        elif event in _CONNECTS:
            action = f"opens a connection ({event} {arguments[-1] if event != 'socket.getaddrinfo' else arguments[0]})"
        elif event in _SIGNALS:
            action = f"sends a signal to a process ({event} {arguments[0]})"
        else:
            action = f"starts a subprocess ({event} {arguments[0] if arguments else ''})".replace(" )", ")")
        if self._is_simulated() and not _acting_file(frame).startswith(_OURS):
            raise self.refuse(action)

    def _is_simulated(self) -> bool:
        """Whether the code that runs belongs to a process of the run: to one of its tasks, or to a thread that was
        started meanwhile.
        """
        return ACTOR.get() is not None or threading.get_ident() not in self._others

    def _may_write(self, path: Any, *, is_entry: bool = False) -> bool:
        """Whether a file may be written or, with ``is_entry``, the entry of a folder, which may be a link to a file."""
        if isinstance(path, int) or path is None:
            return True
        name = os.fsdecode(path).removeprefix("file:").partition("?")[0]  # SQLite takes URIs
        if name in ("", ":memory:"):
            return True
        folder, last = os.path.split(name.rstrip(os.sep)) if is_entry else (name, "")
        return os.path.join(os.path.realpath(folder), last).startswith((*self._projects, "/dev/", "/proc/"))


def _path_of(arguments: tuple[Any, ...], place: int, folder: int | None) -> Any:
    """A path among the arguments of an audit event, joined with the folder to which it is relative."""
    path = arguments[place]
    descriptor = arguments[folder] if folder is not None and folder < len(arguments) else None
    if not isinstance(descriptor, int) or descriptor < 0 or isinstance(path, int):
        return path
    try:
        return os.path.join(os.readlink(f"/proc/self/fd/{descriptor}"), os.fsdecode(path))
    except OSError:  # no Linux
        return path


def _acting_file(frame: FrameType) -> str:
    """The file of the code that acts. It is not that of pathlib, which opens files for others."""
    while frame.f_globals.get("__name__", "").partition(".")[0] == "pathlib" and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename


_active: list[Isolation] = []
"""The isolation of the run under way."""


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _WATCHED and _active:
        _active[-1].judge(event, arguments, sys._getframe(1))


@cache
def _listen() -> None:
    """Adds the hook that all runs of this process share, since Python can't remove one; and one for what
    `multiprocessing` starts anew, of which there is no audit event.
    """
    sys.addaudithook(_audit)
    with suppress(ImportError):  # which is there on POSIX systems only
        import _posixsubprocess

        start = _posixsubprocess.fork_exec

        def fork_exec(arguments: Any, *others: Any) -> Any:
            if _active:
                _active[-1].judge("subprocess.Popen", tuple(arguments), sys._getframe(1))
            return start(arguments, *others)

        _posixsubprocess.fork_exec = fork_exec


@contextmanager
def isolated(isolation: Isolation) -> Iterator[None]:
    _listen()
    _active.append(isolation)
    try:
        yield
    finally:
        _active.remove(isolation)
