"""``setpoint step-down``: asks the leader of an election to hand over, and says what came of it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.manager.simulated import world
from tests.programs import program

import setpoint as sp
from setpoint.apps.error_reports import UsageError
from setpoint.cli.step_down import hand_over
from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.manager import LeaderElection
from setpoint.models.coordination_v1 import Lease, LeaseSpec
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import advance, virtual_time

STANDBY = {"elects": True, "lost_lease": "standby"}


async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
    """Nothing to do."""


def candidate(cluster: EmbeddedCluster, identity: str) -> sp.Manager:
    election = LeaderElection(name="lamp", identity=identity, lost_lease="standby")
    return sp.Manager(cluster.client, controllers=[sp.Controller(ConfigMap, reconcile)], leader_election=election)


async def test_a_leader_hands_over_to_another_replica(tmp_path: Path) -> None:
    async with EmbeddedCluster(control_plane=False) as cluster, AsyncExitStack() as stack:
        cluster.write_kubeconfig(tmp_path / "kubeconfig")
        first = await stack.enter_async_context(candidate(cluster, "first"))
        await first.elected.wait()
        second = await stack.enter_async_context(candidate(cluster, "second"))
        words = ("-m", "setpoint", "step-down", "--kubeconfig", str(tmp_path / "kubeconfig"), "lamp", "-n", "default")
        async with program(*words, home=tmp_path) as command:
            assert await command.ended() == 0, command.printed()
            assert command.out == ["first has handed over to second (the Lease default/lamp)"]
        await second.elected.wait()
        assert not first.elected.is_set()


@virtual_time
async def test_a_leader_without_another_replica_leads_again() -> None:
    async with world("a", keys=1, **STANDBY) as made:
        await advance(3)
        (process,) = made.processes
        with pytest.raises(SystemExit, match=r"a has stepped down and leads again, .*: start another replica first"):
            await hand_over(made.client, "default/group", None, 60)
        await advance(1)
        assert process.manager.elected.is_set()


@virtual_time
async def test_a_leader_that_does_not_step_down_is_named() -> None:
    async with world("a", keys=1, elects=True) as made:
        await advance(3)
        with pytest.raises(SystemExit, match=r"a still holds the Lease default/group after 60 s: it steps down if it"):
            await hand_over(made.client, "group", "default", 60)


@virtual_time
async def test_a_lease_that_no_process_holds_is_named() -> None:
    async with world("a", keys=1) as made:
        with pytest.raises(UsageError, match="there is no Lease group in namespace default: kubectl get leases -A"):
            await hand_over(made.client, "default/group", None, 60)
        await made.client.create(Lease.named("group", "default", spec=LeaseSpec(holder_identity="")))
        with pytest.raises(UsageError, match="no process holds the Lease default/group"):
            await hand_over(made.client, "default/group", None, 60)
