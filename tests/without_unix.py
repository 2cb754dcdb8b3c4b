"""Runs a program as if Windows were below it, without what only Unix has: modules, functions, signals and handlers.

    python tests/without_unix.py PROGRAM ARGUMENTS

It is not Windows: paths, sockets and the event loop are those of this system.
"""

from __future__ import annotations

import asyncio
import importlib.util
import multiprocessing
import os
import pathlib
import runpy
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from typing import Any

import aiohttp
import cyclopts
import rich.console

sysconfig.get_config_vars()
ssl.enum_certificates = lambda _store: []  # type: ignore[attr-defined]
LOADED = (
    aiohttp,
    cyclopts,
    rich.console,
    asyncio,
    multiprocessing,
    pathlib,
    shutil,
    sqlite3,
    ssl,
    subprocess,
    tempfile,
    zipfile,
)
"""These have code of their own for Windows, which would not run here: they are loaded before."""
MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty")
FUNCTIONS = (
    *("fork", "forkpty", "getgid", "getuid", "geteuid", "killpg", "mkfifo", "nice", "setsid", "sched_getaffinity"),
    *("posix_spawn", "sysconf", "uname", "wait3", "wait4", "fchmod", "getpgid", "setpgid"),
)
SIGNALS = ("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPROF", "SIGUSR1", "SIGUSR2", "alarm", "setitimer")


class Missing:
    """Finds none of the modules that only Unix has."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def hide() -> None:
    find_spec = importlib.util.find_spec
    importlib.util.find_spec = lambda name, package=None: None if name in MODULES else find_spec(name, package)
    sys.meta_path.insert(0, Missing())  # type: ignore[arg-type]
    for name in MODULES:
        sys.modules.pop(name, None)
    for owner, names in ((os, FUNCTIONS), (signal, SIGNALS), (socket, ("SO_REUSEPORT",))):
        for name in names:
            vars(owner).pop(name, None)
    signal.SIGBREAK = signal.SIGTERM  # type: ignore[attr-defined]
    popen = subprocess.Popen.__init__

    def without_descriptors(self: Any, *args: Any, **options: Any) -> None:
        if options.get("pass_fds"):
            raise ValueError("pass_fds not supported on Windows.")
        popen(self, *args, **options)

    subprocess.Popen.__init__ = without_descriptors  # type: ignore[method-assign]
    for loop in (asyncio.SelectorEventLoop, asyncio.unix_events._UnixSelectorEventLoop):
        for name in ("add_signal_handler", "remove_signal_handler"):
            setattr(loop, name, _not_implemented)
    sys.platform = "win32"


def _not_implemented(*_: Any) -> None:
    raise NotImplementedError


if __name__ == "__main__":
    hide()
    sys.argv = sys.argv[1:]
    sys.path[0] = str(pathlib.Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
