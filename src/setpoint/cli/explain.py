"""``setpoint explain``: asks a running controller why an object does not converge."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from setpoint.cli.debug_client import DebugClient, ProcessError
from setpoint.controller.explain.explanation import AttemptEntry, Explanation
from setpoint.manager.debug_pages.controllers_page import PATH
from setpoint.meta.text_escaping import visible

if TYPE_CHECKING:
    from rich.text import Text

COLOURS: Final = {
    "idle": "green", "deleted": "green", "running": "cyan", "queued": "cyan", "waiting": "cyan", "standby": "blue",
    "not in this shard": "blue", "filtered": "yellow", "being deleted": "yellow", "unknown": "yellow",
    "warned": "yellow", "paused": "yellow", "running long": "yellow",
    "not synced": "yellow",
}  # fmt: skip
_RESULTS: Final = {"success": "green", "requeue_after": "cyan", "requeue": "yellow", "paused": "yellow"}


def explain(
    *, kind: str, key: str, addresses: Sequence[str], token_file: Path | None = None, ca_file: Path | None = None
) -> None:
    """Asks every process and prints the answers; prints to standard error why a process did not answer.

    Raises:
        UsageError: the token file or the CA file can't be used, or the token would be sent in plain text.
        SystemExit: no process could be reached, or none has the controller that ``kind`` names.
    """
    answered, problems = asyncio.run(
        _answers(kind, key, DebugClient(addresses, token_file=token_file, ca_file=ca_file))
    )
    explanations_by_address = [
        (address, explanation) for address, explanations in answered for explanation in explanations
    ]
    for number, (address, explanation) in enumerate(explanations_by_address):
        if number:
            print()  # noqa: T201 - this is the user's terminal
        show(explanation, address if len(addresses) > 1 else "")
    for problem in problems:
        print(visible(f"setpoint explain: {problem}"), file=sys.stderr)  # noqa: T201
    if not answered:
        raise SystemExit(1)


def show(explanation: Explanation, address: str = "") -> None:
    """Prints a verdict and its timeline: in colour on a terminal, as plain text in a pipe."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    title = Text(f"{explanation.kind} {explanation.key}", "bold")
    title.append(f"  controller {explanation.controller}", "dim")
    if address:
        title.append(f"  at {address}", "dim")
    console.print(title)
    line = Text()
    line.append(explanation.state, f"bold {COLOURS.get(explanation.state, 'red')}")
    line.append(f": {explanation.text}")
    if explanation.until is not None:
        line.append(f" (at {_clock(explanation.until)})", "dim")
    console.print(line)
    if explanation.resource_version:
        generation = f"generation {explanation.generation}, " if explanation.generation else ""
        console.print(Text(f"object: {generation}version {explanation.resource_version}", "dim"))
    for trouble in explanation.caches:
        console.print(Text(trouble, "yellow"))
    for cause in explanation.pending:
        console.print(Text(f"pending: {cause}", "dim"))
    for moment in explanation.timeline:
        console.print(_line(moment))
        for text in _details(moment):
            console.print(Text(f"    {text}"))


def _details(moment: AttemptEntry) -> Iterator[str]:
    """The waits, reads and writes of an attempt."""
    parts = []
    if moment.waited is not None:
        parts.append(f"{_short(moment.waited)} in the queue")
    if moment.cache_wait >= 0.001:
        parts.append(f"{_short(moment.cache_wait)} until the caches showed its last writes")
    if moment.resource_version:
        parts.append(f"seen {_as_of(moment.age)}")
    if parts:
        yield "; ".join(parts)
    for read in moment.reads:
        times = f" in {read.reads} reads" if read.reads > 1 else ""
        yield f"read: {read.objects} {read.kind}{times}, {_as_of(read.age)}"
    for write in moment.writes:
        about = write.effect or ", ".join(write.fields)
        version = f" (version {write.resource_version})" if write.resource_version and not write.effect else ""
        yield f"wrote: {write.verb} {write.kind} {write.key}{f': {about}' if about else ''}{version}"
    if moment.more_writes:
        yield f"wrote: {moment.more_writes} more"


def _short(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.3g} s"


def _as_of(age: float | None) -> str:
    """The freshness of a read in words: the time since the cache last heard from the server, or ``live`` if the read
    went to the server.
    """
    return "live" if age is None else f"as of {_short(age)} before"


def _line(moment: AttemptEntry) -> Text:
    from rich.text import Text

    line = Text(f"  {_clock(moment.at)}  {moment.seconds * 1000:8.1f} ms  ")
    line.append(f"{moment.result:<13}", _RESULTS.get(moment.result, "red"))
    at = f"generation {moment.generation}" if moment.generation else f"version {moment.resource_version}"
    line.append(f"  {at if moment.resource_version else 'no object'}")
    if moment.causes:
        more = f" and {len(moment.causes) - 1} more" if len(moment.causes) > 1 else ""
        line.append(f"  because of {moment.causes[-1]}{more}")
    if moment.detail:
        line.append(f"  {moment.detail}", "yellow")
    if moment.next is not None:
        line.append(f"  next at {_clock(moment.next)}", "dim")
    return line


def _clock(moment: datetime) -> str:
    return f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03d}"


async def _answers(kind: str, key: str, client: DebugClient) -> tuple[list[tuple[str, list[Explanation]]], list[str]]:
    answers: list[tuple[str, list[Explanation]]] = []
    problems: list[str] = []
    async with client:
        for address in client.addresses:
            try:
                answers.append(
                    (address, await client.get(address, PATH, {"kind": kind, "key": key}, list[Explanation]))
                )
            except ProcessError as problem:
                problems.append(str(problem))
    return answers, problems
