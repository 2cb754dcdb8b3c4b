"""Nodes that die, come back, are tainted and cordoned: what they show, and what becomes of their pods."""

from __future__ import annotations

from tests.cluster.scheduling.pods import events_of, place, pod

from setpoint.cluster import HollowNode
from setpoint.models.coordination_v1 import Lease
from setpoint.models.core_v1 import Node, NodeCondition, NodeSpec, Pod, Taint, Toleration
from setpoint.models.events_v1 import Event
from setpoint.testing import Cluster, advance, cluster, virtual_time
from setpoint.webhook import Admission, Review

DEAD = "hollow.setpoint.io/node"


async def annotate(world: Cluster, name: str, value: str | None) -> None:
    node = await world.get(Node, name)
    notes = {key: text for key, text in node.annotations.items() if key != DEAD}
    node.metadata.annotations = notes if value is None else {**notes, DEAD: value}
    await world.update(node)


async def ready(world: Cluster, name: str) -> tuple[str, str | None]:
    node = await world.get(Node, name)
    (result,) = [condition for condition in node.status.conditions if condition.type == "Ready"]
    return result.status, result.reason


async def taints(world: Cluster, name: str) -> list[str]:
    node = await world.get(Node, name)
    return sorted(f"{taint.key}:{taint.effect}" for taint in node.spec.taints)


@virtual_time
async def test_nodes_have_zones_addresses_capacity_and_a_lease() -> None:
    async with cluster(nodes=[HollowNode(cpu="4", labels={"disk": "ssd"}), *[HollowNode()] * 3]) as world:
        await world.settle()
        nodes = await world.list(Node)
        zones = [node.labels["topology.kubernetes.io/zone"] for node in nodes]
        assert zones == ["hollow-a", "hollow-b", "hollow-c", "hollow-a"]
        assert nodes[0].labels["disk"] == "ssd"
        assert nodes[0].status.allocatable["cpu"] == "4"
        assert len({address.address for node in nodes for address in node.status.addresses}) == 8
        assert {condition.type: condition.status for condition in nodes[0].status.conditions} == {
            "MemoryPressure": "False",
            "DiskPressure": "False",
            "PIDPressure": "False",
            "Ready": "True",
        }
        leases = await world.list(Lease, namespace="kube-node-lease")
        assert [lease.spec.holder_identity for lease in leases] == [node.name for node in nodes]


@virtual_time
async def test_a_dead_node_is_unreachable_and_its_pods_move_after_five_minutes() -> None:
    async with cluster(nodes=1) as world:
        await world.create(pod("a"))
        await world.settle()
        await annotate(world, "hollow-0", "dead")
        await advance(49)
        assert await ready(world, "hollow-0") == ("True", "KubeletReady")
        await advance(2)
        assert await ready(world, "hollow-0") == ("Unknown", "NodeStatusUnknown")
        unreachable = "node.kubernetes.io/unreachable"
        assert await taints(world, "hollow-0") == [f"{unreachable}:NoExecute", f"{unreachable}:NoSchedule"]
        assert not (await world.get(Pod, "a")).is_ready
        assert ("Warning", "NodeNotReady", "Node is not ready") in await events_of(world, "a")
        await advance(298)
        assert not (await world.get(Pod, "a")).is_deleting
        await advance(3)
        left = await world.find(Pod, "a")
        assert left is None or left.is_deleting
        assert ("Normal", "TaintManagerEviction", "Marking for deletion Pod default/a") in await events_of(world, "a")


@virtual_time
async def test_a_node_that_never_reported_is_unknown_and_conditions_of_others_stay() -> None:
    async with cluster(nodes=1) as world:
        silent = Node.named("silent", annotations={DEAD: "dead"}, spec=NodeSpec(provider_id="hollow://silent"))
        silent = await world.create(silent)
        network = NodeCondition(type="NetworkUnavailable", status="False", reason="RouteCreated")
        silent.status.conditions = [network]
        await world.client.update_status(silent)
        await advance(60)
        await world.settle()
        conditions = (await world.get(Node, "silent")).status.conditions
        never = ("Unknown", "NodeStatusNeverUpdated", "Kubelet never posted node status.")
        assert {
            condition.type: (condition.status, condition.reason, condition.message) for condition in conditions
        } == {
            "NetworkUnavailable": ("False", "RouteCreated", None),
            **dict.fromkeys(("Ready", "MemoryPressure", "DiskPressure", "PIDPressure"), never),
        }
        assert [event for event in await world.list(Event) if event.regarding.name == "silent"] == []
        assert await taints(world, "silent") == [
            "node.kubernetes.io/unreachable:NoExecute", "node.kubernetes.io/unreachable:NoSchedule",
        ]  # fmt: skip


@virtual_time
async def test_a_node_of_the_name_of_a_dead_one_has_a_grace_period_of_its_own() -> None:
    async with cluster(nodes=1) as world:
        for _ in range(2):
            silent = Node.named("silent", annotations={DEAD: "dead"}, spec=NodeSpec(provider_id="hollow://silent"))
            silent = await world.create(silent)
            silent.status.conditions = [NodeCondition(type="Ready", status="True", reason="KubeletReady")]
            await world.client.update_status(silent)
            await advance(40)
            assert await ready(world, "silent") == ("True", "KubeletReady")
            await world.delete(silent)
            await advance(1)


@virtual_time
async def test_a_refused_eviction_prolongs_no_other_toleration() -> None:
    refused: list[str] = []

    def refuse(obj: Pod, review: Review[Pod]) -> None:
        if obj.name == "a" and len(refused) < 3:
            refused.append(obj.name)
            review.deny("not yet")

    async with cluster(nodes=1, webhooks=[Admission(Pod).validates(refuse, on=("delete",))]) as world:
        for name, seconds in (("a", 20), ("b", 60)):
            toleration = Toleration(key="broken", operator="Exists", effect="NoExecute", toleration_seconds=seconds)
            await world.create(pod(name, tolerations=[toleration]))
        await world.settle()
        node = await world.get(Node, "hollow-0")
        node.spec.taints = [Taint(key="broken", effect="NoExecute")]
        await world.update(node)
        await advance(61)
        assert (len(refused), await world.list(Pod)) == (3, [])


@virtual_time
async def test_a_dead_kubelet_ends_nothing_and_goes_on_when_it_is_back() -> None:
    async with cluster(nodes=1) as world:
        for name in "ab":
            new_pod = pod(name)
            new_pod.spec.termination_grace_period_seconds = 30
            await world.create(new_pod)
        await world.settle()
        await annotate(world, "hollow-0", "dead")
        await world.delete(await world.get(Pod, "a"))
        await advance(100)
        assert (await world.get(Pod, "a")).is_deleting
        assert not (await world.get(Pod, "b")).is_ready
        await annotate(world, "hollow-0", None)
        await world.settle()
        assert await world.find(Pod, "a") is None
        assert (await world.get(Pod, "b")).is_ready
        assert await ready(world, "hollow-0") == ("True", "KubeletReady")
        assert await taints(world, "hollow-0") == []


@virtual_time
async def test_a_taint_that_executes_ends_pods_when_they_tolerate_it_no_longer() -> None:
    async with cluster(nodes=2) as world:
        some = Toleration(key="broken", operator="Exists", effect="NoExecute", toleration_seconds=60)
        every = Toleration(key="broken", operator="Exists", effect="NoExecute")
        for name, tolerations in (("none", []), ("some", [some]), ("every", [every])):
            await world.create(pod(name, tolerations=tolerations, node_selector={"kubernetes.io/hostname": "hollow-1"}))
        await world.settle()
        node = await world.get(Node, "hollow-1")
        node.spec.taints = [Taint(key="broken", effect="NoExecute")]
        await world.update(node)
        await advance(1)
        assert [pod.name for pod in await world.list(Pod)] == ["every", "some"]
        await advance(58)
        assert len(await world.list(Pod)) == 2
        await advance(2)
        assert [pod.name for pod in await world.list(Pod)] == ["every"]
        await world.create(pod("late", tolerations=[some], node_selector={"kubernetes.io/hostname": "hollow-1"}))
        await advance(30)
        assert await place(world, "late") == "hollow-1"
        await advance(31)
        assert [pod.name for pod in await world.list(Pod)] == ["every"]


@virtual_time
async def test_the_first_toleration_that_fits_a_taint_counts_and_finished_pods_go_too() -> None:
    async with cluster(nodes=1) as world:
        seconds = Toleration(key="broken", operator="Exists", effect="NoExecute", toleration_seconds=60)
        for_ever = Toleration(operator="Exists")
        for name, tolerations in (("short", [seconds, for_ever]), ("long", [for_ever, seconds])):
            await world.create(pod(name, tolerations=tolerations))
        ended = pod("ended", restart_policy="Never")
        ended.metadata.annotations = {"hollow.setpoint.io/run-seconds": "1"}
        await world.create(ended)
        await advance(5)
        node = await world.get(Node, "hollow-0")
        node.spec.taints = [Taint(key="broken", effect="NoExecute")]
        await world.update(node)
        await advance(1)
        assert [pod.name for pod in await world.list(Pod)] == ["long", "short"]
        await advance(60)
        assert [pod.name for pod in await world.list(Pod)] == ["long"]


@virtual_time
async def test_a_taint_that_goes_in_time_lets_the_pods_stay_and_says_so() -> None:
    async with cluster(nodes=1) as world:
        seconds = Toleration(key="broken", operator="Exists", effect="NoExecute", toleration_seconds=60)
        await world.create(pod("a", tolerations=[seconds]))
        await world.settle()
        for taints_then in ([Taint(key="broken", effect="NoExecute")], []):
            node = await world.get(Node, "hollow-0")
            node.spec.taints = taints_then
            await world.update(node)
            await advance(40)
        await advance(100)
        assert (await world.get(Pod, "a")).is_ready
        assert ("Normal", "TaintManagerEviction", "Cancelling deletion of Pod default/a") in await events_of(world, "a")


@virtual_time
async def test_conditions_and_cordons_become_taints_and_go_with_them() -> None:
    async with cluster(nodes=1) as world:
        await world.settle()
        node = await world.get(Node, "hollow-0")
        node.spec.unschedulable = True
        node.spec.taints = [Taint(key="mine", effect="NoSchedule")]
        await world.update(node)
        await world.settle()
        node = await world.get(Node, "hollow-0")
        for condition in node.status.conditions:
            condition.status = {"Ready": "False", "DiskPressure": "True"}.get(condition.type, condition.status)
        await world.client.update_status(node)
        await world.settle()
        prefix = "node.kubernetes.io/"
        assert await taints(world, "hollow-0") == [
            "mine:NoSchedule",
            f"{prefix}disk-pressure:NoSchedule",
            f"{prefix}not-ready:NoExecute",
            f"{prefix}not-ready:NoSchedule",
            f"{prefix}unschedulable:NoSchedule",
        ]
        node = await world.get(Node, "hollow-0")
        node.spec.unschedulable = None
        for condition in node.status.conditions:
            condition.status = "True" if condition.type == "Ready" else "False"
        await world.client.update_status(node)
        await world.settle()
        node = await world.get(Node, "hollow-0")
        node.spec.unschedulable = None
        await world.update(node)
        await world.settle()
        assert await taints(world, "hollow-0") == ["mine:NoSchedule"]
