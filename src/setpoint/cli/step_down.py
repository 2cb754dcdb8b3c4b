"""``setpoint step-down``: asks the leader of an election to hand over to another process."""

from __future__ import annotations

import asyncio
from typing import Final

from setpoint.apps.error_reports import UsageError
from setpoint.cli.pause import MANAGER, say, with_client
from setpoint.cli.run_flags import KubeconfigFlags
from setpoint.client import Client, NotFound
from setpoint.manager.leader_election.leader_elector import STEP_DOWN
from setpoint.meta.user_error import UserError
from setpoint.models.coordination_v1 import Lease

_EVERY: Final = 0.5
"""Seconds between two looks at the Lease."""


def step_down(name: str, namespace: str | None, cluster: KubeconfigFlags, timeout: float) -> None:
    """Prints the result of `hand_over`."""

    async def work(client: Client) -> None:
        say(await hand_over(client, name, namespace, timeout))

    with_client(cluster, work)


async def hand_over(client: Client, name: str, namespace: str | None, timeout: float) -> str:
    """Annotates the Lease with `STEP_DOWN`, and waits until another process holds it, for ``timeout`` seconds at most.
    Returns a sentence that names both processes. After that time the annotation is removed, so that no later version of
    the leader obeys it; a leader that has seen it steps down all the same.

    Raises:
        UserError: the Lease does not exist, no process holds it, or no other process has taken over.
    """
    space, _, short = name.rpartition("/")
    space = space or namespace or client.namespace
    place = f"the Lease {space}/{short}"
    patch = {"metadata": {"annotations": {STEP_DOWN: "true"}}}
    try:
        # The holder is that of the patched version: an earlier one may have handed over since, and another was asked.
        holder = _holder(await client.patch(Lease, short, patch, namespace=space, field_manager=MANAGER))
    except NotFound:
        raise UsageError(f"there is no Lease {short} in namespace {space}: kubectl get leases -A lists them") from None
    except ValueError as problem:
        raise UsageError(str(problem)) from None
    if not holder:
        raise UserError(f"no process holds {place}, so none can step down")
    try:
        async with asyncio.timeout(timeout):
            successor = await _successor(client, short, space, holder)
    except TimeoutError:
        withdrawn = {"metadata": {"annotations": {STEP_DOWN: None}}}
        await client.patch(Lease, short, withdrawn, namespace=space, field_manager=MANAGER)
        raise UserError(
            f"no other process has taken {place} from {holder} within {timeout:g} s: if {holder} runs with "
            "--lost-lease standby, it steps down when its reconciles have ended; otherwise delete its pod"
        ) from None
    if successor == holder:
        raise UserError(
            f"{holder} has stepped down and leads again, since no other process took {place}: start another replica "
            "first"
        )
    return f"{holder} has handed over to {successor} ({place})"


async def _successor(client: Client, name: str, namespace: str, holder: str) -> str:
    """Waits for the next holder of the Lease, which may be the same one if the Lease was released in between."""
    is_released = False
    while True:
        await asyncio.sleep(_EVERY)
        present = _holder(await client.get(Lease, name, namespace=namespace))
        if present and (present != holder or is_released):
            return present
        is_released = is_released or not present


def _holder(lease: Lease) -> str:
    return (lease.spec.holder_identity if lease.spec is not None else None) or ""
