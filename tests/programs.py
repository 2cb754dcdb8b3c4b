"""Programs under test as real processes: started, listened to, signalled, and ended by their id."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

DEADLINE = 600.0
"""Seconds after which something that was waited for counts as missing. Generous: the machine may be busy."""


class Program:
    """A running program and the lines that it has printed."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.out: list[str] = []
        self.err: list[str] = []
        self._changed = asyncio.Event()
        assert process.stdout is not None
        assert process.stderr is not None
        self._readers = [
            asyncio.create_task(self._read(process.stdout, self.out)),
            asyncio.create_task(self._read(process.stderr, self.err)),
        ]

    async def _read(self, stream: asyncio.StreamReader, lines: list[str]) -> None:
        while line := await stream.readline():
            lines.append(line.decode().rstrip("\n"))
            self._changed.set()
        self._changed.set()

    async def until(self, done: Callable[[Program], bool], what: str) -> None:
        """Waits until ``done`` of what was printed so far."""
        await until([self], lambda: done(self), what)

    @property
    def silent(self) -> bool:
        """Whether it has ended, and nothing more will come."""
        return all(reader.done() for reader in self._readers)

    def seen(self) -> None:
        """The caller looks at what was printed now: `more` waits for what comes from here on."""
        self._changed.clear()

    async def more(self) -> None:
        """Waits for a line that came since `seen`, or the end."""
        await self._changed.wait()

    async def ended(self) -> int:
        """The exit status, when all output has been read."""
        async with asyncio.timeout(DEADLINE):
            status = await self.process.wait()
            await asyncio.gather(*self._readers)
            return status

    async def signalled(self, number: signal.Signals) -> int:
        """The exit status after that signal."""
        self.process.send_signal(number)
        return await self.ended()

    def printed(self) -> str:
        return "\n".join(["-- stdout", *self.out, "-- stderr", *self.err])


async def until(programs: Sequence[Program], done: Callable[[], bool], what: str) -> None:
    """Waits until ``done()`` of what the programs have printed so far. All of them but one may end meanwhile."""
    try:
        async with asyncio.timeout(DEADLINE):
            while True:
                for program in programs:  # before the look and in the same step, or a line that comes between is missed
                    program.seen()
                if done():
                    return
                speaking = [program for program in programs if not program.silent]
                assert speaking, f"ended before {what}:\n" + "\n".join(program.printed() for program in programs)
                waits = [asyncio.ensure_future(item.more()) for item in speaking]
                try:
                    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for wait in waits:
                        wait.cancel()
                    await asyncio.wait(waits)
    except TimeoutError:
        printed = "\n".join(program.printed() for program in programs)
        raise AssertionError(f"no {what} within {DEADLINE:g} s:\n{printed}") from None


def _hears_interrupts() -> None:
    """As in a terminal: what a shell starts in the background ignores SIGINT, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@asynccontextmanager
async def program(*words: str | Path, home: Path) -> AsyncIterator[Program]:
    """``python WORDS`` with an empty home directory and no kubeconfig; killed at the end if it still runs."""
    environment = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "HTTP_PROXY")}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *map(str, words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**environment, "HOME": str(home), "PYTHONUNBUFFERED": "1", "COLUMNS": "200"},
        preexec_fn=_hears_interrupts,
    )
    started = Program(process)
    try:
        yield started
    except BaseException as problem:
        status = "still running" if process.returncode is None else f"ended with {process.returncode}"
        problem.add_note(f"the program, {status}:\n{started.printed()}")
        raise
    finally:
        if process.returncode is None:
            process.kill()
            await started.ended()


@asynccontextmanager
async def server(home: Path, *words: str | Path) -> AsyncIterator[tuple[Program, str, Path]]:
    """``setpoint server`` with these options more: the program, its URL, its kubeconfig."""
    kubeconfig = home / "server.kubeconfig"
    options = ("--write-kubeconfig", kubeconfig, *words)
    if "--port" not in words:
        options = ("--port", "0", *options)
    async with program("-m", "setpoint", "server", *options, home=home) as running:
        await running.until(lambda p: any("serving" in line for line in p.out), "line that says where it serves")
        url = next(word for word in running.out[0].split() if word.startswith("http"))
        yield running, url, kubeconfig
