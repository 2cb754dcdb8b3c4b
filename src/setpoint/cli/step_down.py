"""``setpoint step-down``: asks the leader of an election to hand over to another process."""

from __future__ import annotations

import asyncio
from typing import Final

from setpoint.apps.error_reports import UsageError
from setpoint.cli.pause import MANAGER, say, with_client
from setpoint.cli.run_flags import KubeconfigFlags
from setpoint.client import Client, NotFound
from setpoint.manager.leader_election.leader_elector import STEP_DOWN
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
    Returns a sentence that names both processes.

    Raises:
        UsageError: the Lease does not exist, or no process holds it.
        SystemExit: no other process has taken over.
    """
    space, _, short = name.rpartition("/")
    space = space or namespace or client.namespace
    place = f"the Lease {space}/{short}"
    try:
        holder = _holder(await client.get(Lease, short, namespace=space))
    except NotFound:
        raise UsageError(f"there is no Lease {short} in namespace {space}: kubectl get leases -A lists them") from None
    if not holder:
        raise UsageError(f"no process holds {place}, so none can step down")
    patch = {"metadata": {"annotations": {STEP_DOWN: "true"}}}
    await client.patch(Lease, short, patch, namespace=space, field_manager=MANAGER)
    try:
        async with asyncio.timeout(timeout):
            successor = await _successor(client, short, space, holder)
    except TimeoutError:
        raise SystemExit(
            f"setpoint step-down: {holder} still holds {place} after {timeout:g} s: it steps down if it runs with "
            "--lost-lease standby, when its reconciles have ended; or delete its pod"
        ) from None
    if successor == holder:
        raise SystemExit(
            f"setpoint step-down: {holder} has stepped down and leads again, since no other process took {place}: "
            "start another replica first"
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
