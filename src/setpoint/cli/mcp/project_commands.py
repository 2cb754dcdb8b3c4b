"""Runs commands of a project in processes of their own: a tool always sees the project's present code, and can be
cancelled.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Generic, NamedTuple, TypeVar

import anyio
import msgspec
from mcp.server.mcpserver.exceptions import ToolError

SETPOINT: Final = (sys.executable, "-P", "-m", "setpoint")
"""The command ``setpoint``. Like the script of that name, it does not import from the current folder (``-P``), where a
project may have a ``secrets.py`` or ``queue.py``.
"""
_OUTPUT: Final = 32 << 20
"""The maximum size of the output of a command, in bytes."""
_LINES: Final = 300
"""The number of lines of standard error that are kept."""
_LINE: Final = 1 << 20
"""The maximum length of such a line, in bytes."""
_REAPED: Final = 5.0
"""Seconds within which a killed process has to end."""
_CLUSTER: Final = ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
_COLOUR: Final = ("FORCE_COLOR", "CLICOLOR_FORCE", "PYTHON_COLORS")

Report = Callable[[str], Awaitable[None]]
T = TypeVar("T")


class Completed(NamedTuple, Generic[T]):
    """A command that has ended: its exit status, its JSON output, and the last lines of its standard error."""

    status: int
    document: T
    err: list[str]


class ProjectCommands:
    """Runs commands in the folder ``root``. `kill` ends those that are still running."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._running: set[asyncio.subprocess.Process] = set()

    async def run(
        self,
        words: Sequence[str],
        output: type[T],
        *,
        cluster: bool = False,
        timeout: float = 300.0,
        report: Report | None = None,
    ) -> Completed[T]:
        """Runs a command that ends with writing JSON of the type ``output``, and calls ``report`` with every line that
        it writes to standard error. The project's code may have printed lines before the JSON.

        Without ``cluster`` the command finds no kubeconfig and no service account, so that the code of the project
        can't reach a cluster that it was not meant for. A command that is cancelled is killed with all processes that
        it has started.

        Raises:
            ToolError: the command has failed, has not ended within ``timeout`` seconds, or its output does not end with
                such JSON.
        """
        process = await asyncio.create_subprocess_exec(
            *words,
            cwd=self._root,
            env=_environment(cluster),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            limit=_LINE,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        self._running.add(process)
        err: deque[str] = deque(maxlen=_LINES)
        try:
            async with asyncio.timeout(timeout), asyncio.TaskGroup() as group:
                stdout = group.create_task(_read(process.stdout))
                group.create_task(_lines(process.stderr, err, report))
                group.create_task(process.wait())
        except TimeoutError:
            raise ToolError(f"{' '.join(words[1:])}: no result within {timeout:g} s") from None
        except ExceptionGroup as problems:
            raise problems.exceptions[0] from None
        finally:
            _kill(process)
            with anyio.move_on_after(_REAPED, shield=True):
                await process.wait()
            self._running.discard(process)
        assert process.returncode is not None
        document = _document(stdout.result(), output)
        if document is None:
            raise ToolError(
                "\n".join(err) or f"{' '.join(words[1:])}: no result; it ended with status {process.returncode}"
            )
        return Completed(process.returncode, document, list(err))

    def kill(self) -> None:
        """Kills the commands that are running, with all processes that they have started."""
        for process in self._running:
            _kill(process)


def _environment(cluster: bool) -> Mapping[str, str]:
    environment = {name: value for name, value in os.environ.items() if name not in _COLOUR} | {"NO_COLOR": "1"}
    if cluster:
        if files := environment.get("KUBECONFIG"):  # relative to this process' folder, which is not the command's
            environment["KUBECONFIG"] = os.pathsep.join(
                os.path.abspath(file) for file in files.split(os.pathsep) if file
            )
        return environment
    environment = {name: value for name, value in environment.items() if name not in _CLUSTER}
    return environment | {"KUBECONFIG": os.path.join(os.sep, "no", "kubeconfig", "for", "tools")}


def _document(stdout: bytes, kind: type[T]) -> T | None:
    """The longest JSON of this type with which ``stdout`` ends."""
    decoder = msgspec.json.Decoder(kind)
    start = 0
    while start < len(stdout):
        if stdout.startswith((b"[", b"{"), start):
            try:
                return decoder.decode(memoryview(stdout)[start:])
            except (msgspec.DecodeError, UnicodeDecodeError):
                pass  # this line is the project's
        start = (stdout.find(b"\n", start) + 1) or len(stdout)
    return None


async def _read(stream: asyncio.StreamReader) -> bytes:
    output = bytearray()
    while chunk := await stream.read(1 << 16):
        output += chunk
        if len(output) > _OUTPUT:
            raise ToolError(f"the command has written more than {_OUTPUT >> 20} MB")
    return bytes(output)


async def _lines(stream: asyncio.StreamReader, lines: deque[str], report: Report | None) -> None:
    while line := await _line(stream):
        text = line.decode(errors="replace").rstrip()
        lines.append(text)
        if report is not None:
            await report(text)


async def _line(stream: asyncio.StreamReader) -> bytes:
    try:
        return await stream.readline()
    except ValueError:
        raise ToolError(f"the command has written a line of more than {_LINE >> 20} MB") from None


def _kill(process: asyncio.subprocess.Process) -> None:
    """Kills the process and, where there are process groups, all of its group, which may outlive it."""
    try:
        if sys.platform == "win32":
            if process.returncode is None:
                process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
