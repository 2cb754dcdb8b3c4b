"""``setpoint top``: shows the queues, workers, caches and objects of running processes in a terminal."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from setpoint.cli.debug_client import DebugClient, ProcessError, escape_output
from setpoint.cli.explain import COLOURS
from setpoint.controller.explain.explanation import Summary
from setpoint.controller.explain.object_listing import Listed, Listing
from setpoint.manager.debug_pages.controllers_page import PATH as CONTROLLERS
from setpoint.manager.debug_pages.manager_page import MANAGER, OBJECTS, ManagerSummary
from setpoint.meta.text_escaping import visible

if TYPE_CHECKING:
    from rich.console import Console, Group, RenderableType

MOST: Final = 200
"""The maximum number of objects to request; a terminal shows as many as fit."""


class Look(NamedTuple):
    """The answers from one process, and the event loop time at which they arrived."""

    at: float
    address: str
    manager: ManagerSummary
    controllers: list[Summary]
    listing: Listing


def top(
    *,
    addresses: Sequence[str],
    find: str = "",
    states: Sequence[str] = (),
    every: float = 2.0,
    once: bool = False,
    token_file: Path | None = None,
    ca_file: Path | None = None,
) -> None:
    """Shows the processes until Ctrl-C on a terminal, and once elsewhere.

    Raises:
        UsageError: the token file or the CA file can't be used, or the token would be sent in plain text.
        SystemExit: the state was printed once, and no process has answered; or Ctrl-C was pressed.
    """
    from rich.console import Console

    escape_output()
    console = Console(highlight=False)
    client = DebugClient(addresses, token_file=token_file, ca_file=ca_file)
    query: dict[str, str | list[str]] = {"find": find, "state": list(states), "limit": str(MOST)}
    try:
        if once or not console.is_terminal:
            asyncio.run(look_once(client, query))
        else:
            asyncio.run(_watch(client, query, every, console))
    except KeyboardInterrupt:
        raise SystemExit(130) from None


async def look_once(client: DebugClient, query: dict[str, str | list[str]]) -> None:
    """Prints the current answers from all processes in the form of `lines`; prints to standard error why a process did
    not answer. Raises `SystemExit` if no process has answered.
    """
    async with client:
        looks, problems = await look_at(client, query)
    for look in looks:
        for line in lines(look, with_address=len(client.addresses) > 1):
            print(line)  # noqa: T201 - this is the user's terminal
    for problem in problems:
        print(visible(f"setpoint top: {problem}"), file=sys.stderr)  # noqa: T201
    if not looks:
        raise SystemExit(1)


async def _watch(client: DebugClient, query: dict[str, str | list[str]], every: float, console: Console) -> None:
    from rich.live import Live

    before: dict[str, Look] = {}
    async with client:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                looks, problems = await look_at(client, query)
                live.update(screen(looks, before, problems, console.height), refresh=True)
                before = {look.address: look for look in looks}
                await asyncio.sleep(every)


async def look_at(client: DebugClient, query: dict[str, str | list[str]]) -> tuple[list[Look], list[str]]:
    """The answers that have arrived, and a message for each process that has not answered."""
    looks: list[Look] = []
    problems: list[str] = []
    for address in client.addresses:
        try:
            manager = await client.get(address, MANAGER, {}, ManagerSummary)
            controllers = await client.get(address, CONTROLLERS, {}, list[Summary])
            listing = await client.get(address, OBJECTS, query, Listing)
        except ProcessError as problem:
            problems.append(str(problem))
        else:
            looks.append(Look(asyncio.get_running_loop().time(), address, manager, controllers, listing))
    return looks, problems


def lines(look: Look, *, with_address: bool = False) -> Iterator[str]:
    """The answers from a process as plain lines, for pipes: one line for each controller, cache and object. The first
    word of a line names its subject.
    """
    address = f" at {look.address}" if with_address else ""
    yield f"process{address}: {_leadership(look.manager)}"
    for name, problem in {**look.manager.unready, **look.manager.unhealthy}.items():
        yield f"failing {name}: {problem}"
    for run in look.controllers:
        problem_text = f"; {run.problem}" if run.problem else ""
        yield (
            f"controller {run.name}: {run.state}, {run.running} of {run.workers} workers busy, "
            f"{run.ready} queued, {run.delayed} delayed, errors so far: {run.results.get('error', 0)}{problem_text}"
        )
        for cache in run.caches:
            age = "no answer yet" if cache.age is None else f"last answer {cache.age:.0f} s ago"
            word = "object" if cache.objects == 1 else "objects"
            yield f"cache {cache.resource} of {run.name}: {cache.objects} {word}, {age}" + (
                f"; {cache.error}" if cache.error else ""
            )
    counts = ", ".join(f"{number} {state}" for state, number in look.listing.counts.items())
    yield f"objects: {counts or 'none'}"
    for row in look.listing.objects:
        yield f"{row.kind} {row.key}: {row.state}: {row.text}"
    if look.listing.matched > len(look.listing.objects):
        yield f"and {look.listing.matched - len(look.listing.objects)} more: narrow the list with --find or --state"


def screen(looks: Sequence[Look], before: dict[str, Look], problems: Sequence[str], height: int) -> Group:
    """The answers from all processes, laid out for a terminal that is ``height`` lines high."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [Text(f"setpoint top: {problem}", "red") for problem in problems]
    used = len(problems)
    for look in looks:
        title = Text(look.address, "bold")
        title.append(f"  {_leadership(look.manager)}  {look.manager.now:%H:%M:%S}", "dim")
        parts.append(title)
        parts += [
            Text(f"{name}: {why}", "red") for name, why in {**look.manager.unready, **look.manager.unhealthy}.items()
        ]
        parts.append(_controllers(look, before.get(look.address)))
        used += 4 + len(look.controllers)
    room = max((height - used) // max(len(looks), 1) - 3, 3)
    parts += [_objects(look.listing, room) for look in looks]
    return Group(*parts)


def _controllers(look: Look, before: Look | None) -> RenderableType:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("controller", no_wrap=True)
    table.add_column("state")
    for head in ("busy", "queued", "delayed", "reconciles/s", "errors/s", "errors", "oldest cache"):
        table.add_column(head, justify="right")
    past: list[Summary] = before.controllers if before is not None else []
    if [controller.name for controller in past] != [controller.name for controller in look.controllers]:
        past = []
    for number, controller in enumerate(look.controllers):
        ages = [cache.age for cache in controller.caches if cache.age is not None]
        failing = [cache.error for cache in controller.caches if cache.error]
        was, seconds = past[number] if past else None, look.at - before.at if before is not None else 0.0
        table.add_row(
            controller.name,
            controller.problem or controller.state,
            f"{controller.running}/{controller.workers}",
            str(controller.ready),
            str(controller.delayed),
            _rate(was, controller, seconds, ""),
            _rate(was, controller, seconds, "error"),
            str(controller.results.get("error", 0)),
            failing[0] if failing else f"{max(ages):.0f} s" if ages else "never",
            style="red" if controller.problem or failing else "",
        )
    return table


def _objects(listing: Listing, room: int) -> RenderableType:
    from rich.table import Table

    counts = "  ".join(f"{number} {state}" for state, number in listing.counts.items())
    table = Table(
        box=None, pad_edge=False, expand=True, header_style="dim", title=counts or "no objects", title_justify="left"
    )
    for head in ("state", "object", "why"):
        table.add_column(head, no_wrap=True, overflow="ellipsis", ratio=1 if head == "why" else None)
    for row in listing.objects[:room]:
        table.add_row(row.state, f"{row.kind} {row.key}", row.text, style=_style(row))
    if (more := listing.matched - min(len(listing.objects), room)) > 0:
        table.caption = f"and {more} more"
    return table


def _style(row: Listed) -> str:
    return "" if row.state == "idle" else COLOURS.get(row.state, "red")


def _rate(was: Summary | None, now: Summary, seconds: float, result: str) -> str:
    if was is None or seconds <= 0:
        return "–"

    def total(summary: Summary) -> int:
        return summary.results.get(result, 0) if result else sum(summary.results.values())

    return f"{max(total(now) - total(was), 0) / seconds:.1f}"


def _leadership(manager: ManagerSummary) -> str:
    if manager.election is not None:
        if manager.election.leads:
            return f"leads, by the lease {manager.election.lease}"
        return f"standby: {manager.election.leader or 'no process'} leads"
    if manager.sharding is not None:
        return f"member of the group {manager.sharding.group}, members: {len(manager.sharding.members)}"
    return "works without an election"
