"""``setpoint explain``: asks a running controller why an object does not converge."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from setpoint.cli.debug_client import DebugClient, ProcessError, escape_output
from setpoint.controller.explain.explanation import AttemptEntry, Explanation
from setpoint.controller.explain.object_listing import ConditionEntry, Detail
from setpoint.manager.debug_pages.controllers_page import PATH
from setpoint.manager.debug_pages.manager_page import DETAILS
from setpoint.meta.owner_tree import MOST, TreeNode
from setpoint.meta.text_escaping import visible

if TYPE_CHECKING:
    from rich.text import Text

COLOURS: Final = {
    "idle": "green", "deleted": "green", "running": "cyan", "queued": "cyan", "waiting": "cyan", "standby": "blue",
    "not in this shard": "blue", "filtered": "yellow", "being deleted": "yellow", "unknown": "yellow",
    "warned": "yellow", "paused": "yellow", "running long": "yellow",
    "not synced": "yellow", "not ready": "yellow", "in progress": "yellow", "current": "green",
}  # fmt: skip
_LINES: Final = ("├── ", "└── ", "│   ", "    ")
_ASCII: Final = ("+-- ", "`-- ", "|   ", "    ")
_RESULTS: Final = {"success": "green", "requeue_after": "cyan", "requeue": "yellow", "paused": "yellow"}


def explain(
    *, kind: str, key: str, addresses: Sequence[str], token_file: Path | None = None, ca_file: Path | None = None
) -> None:
    """Asks every process and prints the answers; prints to standard error why a process did not answer.

    Raises:
        UsageError: the token file or the CA file can't be used, or the token would be sent in plain text.
        SystemExit: no process could be reached, or none has the controller that ``kind`` names.
    """
    escape_output()
    answers, problems, answered = asyncio.run(
        ask(kind, key, DebugClient(addresses, token_file=token_file, ca_file=ca_file))
    )
    for number, (address, explanation, detail) in enumerate(answers):
        if number:
            print()  # noqa: T201 - this is the user's terminal
        show(explanation, detail, address if len(addresses) > 1 else "")
    for problem in problems:
        print(visible(f"setpoint explain: {problem}"), file=sys.stderr)  # noqa: T201
    if not answered:
        raise SystemExit(1)


def show(
    explanation: Explanation, detail: Detail | None = None, address: str = "", *, stream: TextIO | None = None
) -> None:
    """Prints a verdict, the conditions and the tree of owners in ``detail``, and the timeline: in colour on a terminal,
    as plain text in a pipe or another ``stream``.
    """
    from rich.console import Console
    from rich.text import Text

    forced = None if stream is None else False  # also if FORCE_COLOR is set
    console = Console(highlight=False, soft_wrap=True, file=stream, force_terminal=forced)
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
    if detail is not None:
        for condition in detail.conditions:
            console.print(_condition(condition))
        if detail.owners or detail.owned:
            for line in _tree(explanation, detail, _ASCII if console.options.ascii_only else _LINES):
                console.print(line)
            if detail.more_owned:
                console.print(Text(f"it owns more objects: {MOST} are listed", "dim"))
    for line in timeline_lines(explanation.timeline):
        console.print(line)


def timeline_lines(timeline: list[AttemptEntry]) -> Iterator[Text]:
    """The attempts as lines; failures with the same error, one after the other, are one entry."""
    from rich.text import Text

    for attempts in _runs(timeline):
        yield _line(attempts[-1])
        for text in _details(attempts[-1]):
            yield Text(f"    {text}")
        if len(attempts) > 1:
            times = "once before, at" if len(attempts) == 2 else f"{len(attempts) - 1} times before, since"
            yield Text(f"    the same {times} {_clock(attempts[0].at)}")


def _condition(condition: ConditionEntry) -> Text:
    from rich.text import Text

    line = Text(f"condition {condition.type}={condition.status}")
    if condition.reason:
        line.append(f" ({condition.reason})")
    if condition.message:
        line.append(f": {condition.message}")
    return line.append(f"  since {condition.since}" if condition.since else "", "dim")


def _tree(explanation: Explanation, detail: Detail, guides: tuple[str, ...]) -> Iterator[Text]:
    """The lines of a tree with the object between its owners and the objects that it owns."""
    from rich.text import Text

    between, last, further, nothing = guides
    above = [_owners(level) for level in reversed(detail.owners)]
    own = Text(f"{explanation.kind} {explanation.key}  this object", "bold")
    for depth, line in enumerate([*above, own]):
        yield Text(nothing * (depth - 1) + last if depth else "").append(line)

    def below(nodes: list[TreeNode], prefix: str) -> Iterator[Text]:
        for node in nodes:
            is_last = node is nodes[-1]
            yield Text(prefix + (last if is_last else between)).append(_node(node))
            yield from below(node.owns, prefix + (nothing if is_last else further))

    yield from below(detail.owned, nothing * len(above))


def _owners(nodes: list[TreeNode]) -> Text:
    from rich.text import Text

    return Text(", ").join(_node(node) for node in nodes)


def _node(node: TreeNode) -> Text:
    from rich.text import Text

    line = Text(f"{node.kind} {node.key}")
    if node.state:
        line.append("  ").append(node.state, COLOURS.get(node.state, "red"))
    reason = "; ".join(dict.fromkeys(text for text in (node.ready, node.text) if text))
    return line.append(f": {reason}" if reason else "")


def _runs(timeline: list[AttemptEntry]) -> Iterator[list[AttemptEntry]]:
    """The attempts in groups: failures with the same error, one after the other, and every other attempt alone."""
    group: list[AttemptEntry] = []
    for attempt in timeline:
        if group and not (group[-1].result == attempt.result == "error" and group[-1].detail == attempt.detail):
            yield group
            group = []
        group.append(attempt)
    if group:
        yield group


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


async def ask(
    kind: str, key: str, client: DebugClient
) -> tuple[list[tuple[str, Explanation, Detail | None]], list[str], bool]:
    """The explanations, each with the address of its process and, from a process that serves its page (``--ui``), with
    details; the problems; and whether any process has answered.
    """
    answers: list[tuple[str, Explanation, Detail | None]] = []
    problems: list[str] = []
    answered = False
    async with client:
        for address in client.addresses:
            try:
                explanations = await client.get(address, PATH, {"kind": kind, "key": key}, list[Explanation])
            except ProcessError as problem:
                problems.append(str(problem))
                continue
            answered = True
            for explanation in explanations:
                query = {"controller": explanation.controller, "key": key}
                try:
                    detail = await client.get(address, DETAILS, query, Detail)
                except ProcessError as problem:
                    if problem.status != 404:
                        problems.append(str(problem))
                    answers.append((address, explanation, None))
                else:
                    answers.append((address, detail.explanation, detail))
    return answers, problems, answered
