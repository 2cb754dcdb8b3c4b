"""``setpoint step-down``: asks the leader of an election to hand over, and says what came of it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.manager.simulated import world
from tests.programs import program

import setpoint as sp
from setpoint.apps.error_reports import UsageError
from setpoint.cli.step_down import hand_over
from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.manager import LeaderElection
from setpoint.meta.user_error import UserError
from setpoint.models.coordination_v1 import Lease, LeaseSpec
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import advance, cluster, virtual_time

STANDBY = {"elects": True, "lost_lease": "standby"}


async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
    """Nothing to do."""


def candidate(embedded: EmbeddedCluster, identity: str) -> sp.Manager:
    election = LeaderElection(name="lamp", identity=identity, lost_lease="standby")
    return sp.Manager(embedded.client, controllers=[sp.Controller(ConfigMap, reconcile)], leader_election=election)


async def test_a_leader_hands_over_to_another_replica(tmp_path: Path) -> None:
    async with EmbeddedCluster(control_plane=False) as embedded, AsyncExitStack() as stack:
        embedded.write_kubeconfig(tmp_path / "kubeconfig")
        first = await stack.enter_async_context(candidate(embedded, "first"))
        await first.elected.wait()
        second = await stack.enter_async_context(candidate(embedded, "second"))
        words = ("-m", "setpoint", "step-down", "--kubeconfig", str(tmp_path / "kubeconfig"), "lamp", "-n", "default")
        async with program(*words, home=tmp_path) as command:
            assert await command.ended() == 0, command.printed()
            assert command.out == ["first has handed over to second (the Lease default/lamp)"]
        await second.elected.wait()
        assert not first.elected.is_set()


@virtual_time
async def test_a_leader_without_another_replica_leads_again() -> None:
    async with world("a", keys=1, **STANDBY) as new_world:
        await advance(3)
        (process,) = new_world.processes
        with pytest.raises(UserError, match=r"a has stepped down and leads again, .*: start another replica first"):
            await hand_over(new_world.client, "default/group", None, 60)
        await advance(1)
        assert process.manager.elected.is_set()
        assert not (await new_world.client.get(Lease, "group", namespace="default")).metadata.annotations


@virtual_time
async def test_a_leader_that_does_not_step_down_is_named() -> None:
    async with world("a", keys=1, elects=True) as new_world:
        await advance(3)
        with pytest.raises(UserError, match="no other process has taken the Lease default/group from a within 60"):
            await hand_over(new_world.client, "group", "default", 60)
        lease = await new_world.client.get(Lease, "group", namespace="default")
        assert not lease.metadata.annotations, "nothing is left for a leader that would obey it later"


@virtual_time
async def test_a_lease_that_no_process_holds_is_named() -> None:
    async with world("a", keys=1) as new_world:
        with pytest.raises(UsageError, match="there is no Lease group in namespace default: kubectl get leases -A"):
            await hand_over(new_world.client, "default/group", None, 60)
        await new_world.client.create(Lease.named("group", "default", spec=LeaseSpec(holder_identity="")))
        with pytest.raises(UserError, match="no process holds the Lease default/group"):
            await hand_over(new_world.client, "default/group", None, 60)


@virtual_time
async def test_the_named_leader_is_the_one_that_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with cluster(control_plane=False) as world:
        client = world.client
        await client.create(Lease.named("group", "default", spec=LeaseSpec(holder_identity="first")))
        patch = client.patch

        async def after_another_leader(*words: Any, **options: Any) -> Any:
            await patch(Lease, "group", {"spec": {"holderIdentity": "second"}}, namespace="default")
            return await patch(*words, **options)

        monkeypatch.setattr(client, "patch", after_another_leader)
        with pytest.raises(UserError, match="no other process has taken the Lease default/group from second within"):
            await hand_over(client, "group", "default", 60)


async def test_a_request_that_nobody_follows_and_an_invalid_name_are_one_line_each(tmp_path: Path) -> None:
    async with EmbeddedCluster(control_plane=False) as embedded:
        embedded.write_kubeconfig(tmp_path / "kubeconfig")
        await embedded.client.create(Lease.named("group", "default", spec=LeaseSpec(holder_identity="x")))
        for words, line in (
            (("default/group", "--timeout", "0.1"), "setpoint: no other process has taken the Lease default/"),
            (("a/b/c",), "setpoint: the namespace 'a/b' may not contain '/'"),
        ):
            command = ("-m", "setpoint", "step-down", "--kubeconfig", str(tmp_path / "kubeconfig"), *words)
            async with program(*command, home=tmp_path) as process:
                assert await process.ended() == 1
                assert len(process.err) == 1, process.printed()
                assert process.err[0].startswith(line)
