"""DaemonSets, as kubectl's users know them."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.cluster.workloads import daemon_set, template

from setpoint.models.apps_v1 import ControllerRevision, DaemonSet, DaemonSetUpdateStrategy, RollingUpdateDaemonSet
from setpoint.models.core_v1 import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    Taint,
    Toleration,
)
from setpoint.testing import advance, cluster, virtual_time


async def places(world: Any) -> dict[str, str]:
    return {str(pod.spec.node_name): str(pod.spec.containers[0].image) for pod in await world.list(Pod)}


async def changed(world: Any, **spec: Any) -> None:
    result = await world.get(DaemonSet, "web")
    for name, value in spec.items():
        setattr(result.spec, name, value)
    await world.update(result)
    await world.settle()


@virtual_time
async def test_every_node_has_its_pod_and_a_new_node_gets_one() -> None:
    async with cluster(nodes=3) as world:
        await world.create(daemon_set())
        await world.settle()
        assert sorted(await places(world)) == ["hollow-0", "hollow-1", "hollow-2"]
        result = await world.get(DaemonSet, "web")
        status = result.status
        assert (status.desired_number_scheduled, status.current_number_scheduled, status.number_ready) == (3, 3, 3)
        assert (status.number_available, status.updated_number_scheduled, status.number_misscheduled) == (3, 3, 0)
        assert status.observed_generation == result.metadata.generation
        keys = {toleration.key for toleration in (await world.list(Pod))[0].spec.tolerations}
        assert {"node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready"} <= keys
        await world.create(Node.named("other"))
        await world.settle()
        assert (await world.get(DaemonSet, "web")).status.desired_number_scheduled == 4
        assert len(await world.list(Pod)) == 4
        await world.delete((await world.list(Pod))[0])
        await world.settle()
        assert len(await world.list(Pod)) == 4


@virtual_time
async def test_selectors_affinity_and_taints_say_which_nodes() -> None:
    async with cluster(nodes=3) as world:
        node = await world.get(Node, "hollow-0")
        node.metadata.labels = {**node.labels, "disk": "ssd"}
        await world.update(node)
        tainted = await world.get(Node, "hollow-1")
        tainted.spec.taints = [Taint(key="special", effect="NoSchedule")]
        await world.update(tainted)
        await world.create(daemon_set())
        await world.settle()
        assert sorted(await places(world)) == ["hollow-0", "hollow-2"]
        await changed(world, template=template("web:1", tolerations=[Toleration(key="special", operator="Exists")]))
        assert sorted(await places(world)) == ["hollow-0", "hollow-1", "hollow-2"]
        await changed(world, template=template("web:1", node_selector={"disk": "ssd"}))
        assert sorted(await places(world)) == ["hollow-0"]
        term = NodeSelectorTerm(match_expressions=[NodeSelectorRequirement(key="disk", operator="DoesNotExist")])
        required = NodeSelector(node_selector_terms=[term])
        affinity = Affinity(node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=required))
        await changed(world, template=template("web:1", affinity=affinity))
        assert sorted(await places(world)) == ["hollow-2"]


@virtual_time
async def test_a_taint_that_executes_ends_a_pod_and_one_that_schedules_does_not() -> None:
    async with cluster(nodes=2) as world:
        await world.create(daemon_set())
        await world.settle()
        for effect, left in (("NoSchedule", 2), ("NoExecute", 1)):
            node = await world.get(Node, "hollow-0")
            node.spec.taints = [Taint(key="special", effect=effect)]
            await world.update(node)
            await world.settle()
            assert len(await places(world)) == left
        assert (await world.get(DaemonSet, "web")).status.desired_number_scheduled == 1


@virtual_time
async def test_an_update_replaces_as_many_at_once_as_may_be_missing() -> None:
    for most, first in ((1, 1), (2, 2), ("100%", 4)):
        async with cluster(nodes=4) as world:
            strategy = DaemonSetUpdateStrategy(
                type="RollingUpdate", rolling_update=RollingUpdateDaemonSet(max_unavailable=most)
            )
            await world.create(daemon_set(update_strategy=strategy))
            await world.settle()
            result = await world.get(DaemonSet, "web")
            result.spec.template = template("web:2", annotations={"hollow.setpoint.io/ready-seconds": "5"})
            await world.update(result)
            await advance(2)
            assert list((await places(world)).values()).count("web:2") == first
            await advance(30)
            assert set((await places(world)).values()) == {"web:2"}
            assert len(await world.list(ControllerRevision)) == 2


@virtual_time
async def test_a_surge_makes_new_pods_before_the_old_ones_go() -> None:
    async with cluster(nodes=3) as world:
        rolling = RollingUpdateDaemonSet(max_surge=1, max_unavailable=0)
        strategy = DaemonSetUpdateStrategy(type="RollingUpdate", rolling_update=rolling)
        await world.create(daemon_set(update_strategy=strategy))
        await world.settle()
        result = await world.get(DaemonSet, "web")
        result.spec.template = template("web:2", annotations={"hollow.setpoint.io/ready-seconds": "5"})
        await world.update(result)
        for _ in range(20):
            pods = await world.list(Pod)
            assert sum(pod.is_ready and not pod.is_deleting for pod in pods) >= 3
            assert sum(not pod.is_deleting for pod in pods) <= 4
            await advance(1)
        assert set((await places(world)).values()) == {"web:2"}


@virtual_time
async def test_on_delete_leaves_pods_until_somebody_deletes_them() -> None:
    async with cluster(nodes=2) as world:
        await world.create(daemon_set(update_strategy=DaemonSetUpdateStrategy(type="OnDelete")))
        await world.settle()
        await changed(world, template=template("web:2"))
        assert set((await places(world)).values()) == {"web:1"}
        await world.delete((await world.list(Pod))[0])
        await world.settle()
        assert sorted((await places(world)).values()) == ["web:1", "web:2"]


@virtual_time
async def test_a_revision_has_the_bytes_that_go_clients_compare_and_tells_the_cause_of_the_change() -> None:
    async with cluster() as world:
        result = daemon_set()
        result.metadata.annotations = {"kubernetes.io/change-cause": "the first"}
        result.spec.template.metadata.labels |= {"z": "1", "b": "2"}
        await world.create(result)
        await world.settle()
        (revision,) = await world.list(ControllerRevision)
        assert revision.annotations["kubernetes.io/change-cause"] == "the first"
        assert msgspec.json.encode(revision.data) == msgspec.json.encode(revision.data, order="deterministic")
