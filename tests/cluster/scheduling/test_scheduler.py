"""The scheduler: what keeps a pod from a node, in upstream's words, and what wakes a pod that waits."""

from __future__ import annotations

from typing import Any

from tests.cluster.scheduling.pods import events_of, place, pod, refused, why

from setpoint.cluster import HollowNode
from setpoint.meta import LabelSelector
from setpoint.models.core_v1 import (
    Affinity,
    ContainerPort,
    Namespace,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PodSchedulingGate,
    PreferredSchedulingTerm,
    Taint,
    Toleration,
    TopologySpreadConstraint,
)
from setpoint.testing import advance, cluster, virtual_time

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


def term(app: str, topology: str, **fields: Any) -> PodAffinityTerm:
    return PodAffinityTerm(label_selector=LabelSelector(match_labels={"app": app}), topology_key=topology, **fields)


def near(app: str, topology: str, **fields: Any) -> Affinity:
    required = [term(app, topology, **fields)]
    return Affinity(pod_affinity=PodAffinity(required_during_scheduling_ignored_during_execution=required))


def apart(app: str, topology: str) -> Affinity:
    required = [term(app, topology)]
    return Affinity(pod_anti_affinity=PodAntiAffinity(required_during_scheduling_ignored_during_execution=required))


def on(**labels: str) -> Affinity:
    node_selector_requirements = [
        NodeSelectorRequirement(key=key, operator="In", values=[value]) for key, value in labels.items()
    ]
    required = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_expressions=node_selector_requirements)])
    return Affinity(node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=required))


@virtual_time
async def test_a_pod_is_bound_through_its_binding_and_both_say_so() -> None:
    async with cluster(nodes=1) as world:
        await world.create(pod("a"))
        await world.settle()
        assert await place(world, "a") == "hollow-0"
        assert ("Normal", "Scheduled", "Successfully assigned default/a to hollow-0") in await events_of(world, "a")
        (condition,) = [
            condition for condition in (await world.get(Pod, "a")).status.conditions if condition.type == "PodScheduled"
        ]
        assert condition.status == "True"


@virtual_time
async def test_without_nodes_of_its_own_a_cluster_binds_pods_to_those_of_other_programs() -> None:
    async with cluster(nodes=0) as world:
        await world.create(pod("a"))
        await advance(10)
        assert await place(world, "a") is None
        await world.create(Node.named("theirs"))
        resources = {"cpu": "4", "memory": "8Gi", "pods": "10"}
        ready = [{"type": "Ready", "status": "True"}]
        change = {"status": {"capacity": resources, "allocatable": resources, "conditions": ready}}
        await world.client.patch(Node, "theirs", change, subresource="status")
        await advance(10)
        assert await place(world, "a") == "theirs"
        assert (await world.get(Pod, "a")).status.phase != "Running"


@virtual_time
async def test_requests_are_held_against_what_nodes_have_and_a_pod_that_goes_makes_room() -> None:
    async with cluster(nodes=[HollowNode(cpu="2", memory="1Gi", extended={"example.com/gpu": "1"})] * 1) as world:
        first = await world.create(pod("first", requests={"cpu": "1500m"}))
        await world.create(pod("second", requests={"cpu": "600m", "memory": "2Gi", "example.com/gpu": "2"}))
        await world.create(pod("third", requests={"cpu": "501m"}))
        await world.settle()
        reasons = "1 Insufficient cpu, 1 Insufficient example.com/gpu, 1 Insufficient memory"
        assert await why(world, "second") == refused(1, reasons, helpless=1)
        expected = refused(1, "1 Insufficient cpu", without_victims=1)
        assert await why(world, "third") == expected
        assert ("Warning", "FailedScheduling", expected) in await events_of(world, "third")
        await world.delete(first)
        await world.settle()
        assert await place(world, "third") == "hollow-0"


@virtual_time
async def test_a_node_takes_as_many_pods_as_it_says() -> None:
    async with cluster(nodes=[HollowNode(pods=2)]) as world:
        for name in "abc":
            await world.create(pod(name))
        await world.settle()
        assert await why(world, "c") == refused(1, "1 Too many pods", without_victims=1)


@virtual_time
async def test_pods_that_have_ended_take_nothing() -> None:
    async with cluster(nodes=[HollowNode(cpu="1")]) as world:
        short = pod("short", requests={"cpu": "1"}, restart_policy="Never")
        short.metadata.annotations = {"hollow.setpoint.io/run-seconds": "20"}
        await world.create(short)
        await world.settle(patience=0)
        await world.create(pod("next", requests={"cpu": "1"}))
        await world.settle(patience=0)
        assert await why(world, "next") == refused(1, "1 Insufficient cpu", without_victims=1)
        await advance(21)
        assert await place(world, "next") == "hollow-0"


@virtual_time
async def test_selectors_taints_and_cordons_leave_nodes_out_and_each_is_named() -> None:
    nodes = [HollowNode(), HollowNode(taints=(Taint(key="special", effect="NoSchedule"),)), HollowNode()]
    async with cluster(nodes=nodes) as world:
        await world.settle()
        cordoned = await world.get(Node, "hollow-2")
        cordoned.spec.unschedulable = True
        await world.update(cordoned)
        await world.create(pod("picky", node_selector={"disk": "ssd"}))
        await world.settle()
        reasons = (
            "1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s), "
            "1 node(s) were unschedulable"
        )
        assert await why(world, "picky") == refused(3, reasons, helpless=3)
        node = await world.get(Node, "hollow-0")
        node.metadata.labels = {**node.labels, "disk": "ssd"}
        await world.update(node)
        await world.settle()
        assert await place(world, "picky") == "hollow-0"
        await world.create(
            pod("tolerant", affinity=on(**{HOST: "hollow-1"}), tolerations=[Toleration(operator="Exists")])
        )
        await world.settle()
        assert await place(world, "tolerant") == "hollow-1"


@virtual_time
async def test_ports_of_a_node_are_used_once() -> None:
    async with cluster(nodes=1) as world:
        await world.create(pod("a", ports=[ContainerPort(container_port=80, host_port=80)]))
        await world.create(pod("b", ports=[ContainerPort(container_port=80, host_port=80, protocol="UDP")]))
        await world.create(pod("c", ports=[ContainerPort(container_port=80, host_port=80, host_ip="127.0.0.1")]))
        await world.settle()
        assert await place(world, "b") == "hollow-0"
        reason = "1 node(s) didn't have free ports for the requested pod ports"
        assert await why(world, "c") == refused(1, reason, without_victims=1)


@virtual_time
async def test_pods_are_near_and_apart_as_their_affinities_say() -> None:
    async with cluster(nodes=3) as world:
        await world.create(pod("db", labels={"app": "db"}, affinity=on(**{HOST: "hollow-1"})))
        await world.settle()
        await world.create(pod("web", affinity=near("db", ZONE)))
        await world.create(pod("lonely", labels={"app": "lonely"}, affinity=near("lonely", HOST)))
        await world.create(pod("nobody", affinity=near("none", HOST)))
        for number in range(4):
            await world.create(pod(f"apart-{number}", labels={"app": "apart"}, affinity=apart("apart", HOST)))
        await world.settle()
        assert await place(world, "web") == "hollow-1"
        assert await place(world, "lonely"), "the first of its kind draws itself"
        assert await why(world, "nobody") == refused(3, "3 node(s) didn't match pod affinity rules", helpless=3)
        assert {await place(world, f"apart-{number}") for number in range(3)} == {"hollow-0", "hollow-1", "hollow-2"}
        reason = "3 node(s) didn't match pod anti-affinity rules"
        assert await why(world, "apart-3") == refused(3, reason, without_victims=3)
        await world.create(pod("intruder", labels={"app": "apart"}))
        await world.settle()
        reason = "3 node(s) didn't satisfy existing pods anti-affinity rules"
        assert await why(world, "intruder") == refused(3, reason, without_victims=3)


@virtual_time
async def test_affinities_reach_into_the_namespaces_they_select() -> None:
    async with cluster(nodes=2) as world:
        await world.create(Namespace.named("other", labels={"team": "red"}))
        db = pod("db", labels={"app": "db"}, affinity=on(**{HOST: "hollow-1"}))
        db.metadata.namespace = "other"
        await world.create(db)
        await world.settle()
        await world.create(pod("blind", affinity=near("db", HOST)))
        chosen = LabelSelector(match_labels={"team": "red"})
        await world.create(pod("seeing", affinity=near("db", HOST, namespace_selector=chosen)))
        await world.settle()
        assert await place(world, "seeing") == "hollow-1"
        assert await why(world, "blind") == refused(2, "2 node(s) didn't match pod affinity rules", helpless=2)


@virtual_time
async def test_pods_spread_over_zones_and_a_node_without_the_label_is_named() -> None:
    async with cluster(nodes=[*[HollowNode()] * 3, HollowNode(labels={"no": "zone"})]) as world:
        await world.settle()
        bare = await world.get(Node, "hollow-3")
        bare.metadata.labels = {name: value for name, value in bare.labels.items() if name != ZONE}
        await world.update(bare)
        constraint = TopologySpreadConstraint(
            max_skew=1,
            topology_key=ZONE,
            when_unsatisfiable="DoNotSchedule",
            label_selector=LabelSelector(match_labels={"app": "web"}),
        )
        for number in range(6):
            await world.create(pod(f"web-{number}", labels={"app": "web"}, topology_spread_constraints=[constraint]))
        await world.settle()
        places = [await place(world, f"web-{number}") for number in range(6)]
        assert sorted(map(str, places)) == ["hollow-0", "hollow-0", "hollow-1", "hollow-1", "hollow-2", "hollow-2"]
        for name in ("hollow-0", "hollow-1"):
            node = await world.get(Node, name)
            node.spec.unschedulable = True
            await world.update(node)
        await world.create(pod("web-6", labels={"app": "web"}, topology_spread_constraints=[constraint]))
        await world.create(pod("web-7", labels={"app": "web"}, topology_spread_constraints=[constraint]))
        await world.settle()
        assert await place(world, "web-6") == "hollow-2"
        reasons = (
            "1 node(s) didn't match pod topology spread constraints, "
            "1 node(s) didn't match pod topology spread constraints (missing required label), "
            "2 node(s) were unschedulable"
        )
        assert await why(world, "web-7") == refused(4, reasons, helpless=3, without_victims=1)


@virtual_time
async def test_a_preference_is_followed_while_there_is_room() -> None:
    async with cluster(nodes=[HollowNode(), HollowNode(cpu="1"), HollowNode()]) as world:
        result = [NodeSelectorRequirement(key=HOST, operator="In", values=["hollow-1"])]
        preferred = PreferredSchedulingTerm(weight=1, preference=NodeSelectorTerm(match_expressions=result))
        likes = Affinity(node_affinity=NodeAffinity(preferred_during_scheduling_ignored_during_execution=[preferred]))
        for name in "ab":
            await world.create(pod(name, requests={"cpu": "600m"}, affinity=likes))
            await world.settle()
        assert await place(world, "a") == "hollow-1"
        assert await place(world, "b") != "hollow-1"


@virtual_time
async def test_a_gated_pod_waits_for_its_gate_and_says_so() -> None:
    async with cluster(nodes=1) as world:
        new_pod = await world.create(pod("gated", scheduling_gates=[PodSchedulingGate(name="example.com/wait")]))
        (condition,) = new_pod.status.conditions
        assert (condition.type, condition.status, condition.reason) == ("PodScheduled", "False", "SchedulingGated")
        assert condition.message == "Scheduling is blocked due to non-empty scheduling gates"
        await world.settle()
        assert await place(world, "gated") is None
        new_pod = await world.get(Pod, "gated")
        new_pod.spec.scheduling_gates = []
        await world.update(new_pod)
        await world.settle()
        assert await place(world, "gated") == "hollow-0"


@virtual_time
async def test_without_nodes_a_pod_says_that_there_are_none() -> None:
    async with cluster(nodes=1) as world:
        await world.settle()
        await world.delete(await world.get(Node, "hollow-0"))
        await world.create(pod("a"))
        await world.settle()
        assert await why(world, "a") == "no nodes available to schedule pods"
        await world.create(Node.named("new"))
        await world.settle()
        assert await why(world, "a") == refused(1, "1 Too many pods", without_victims=1)


def test_the_same_pods_come_to_the_same_nodes() -> None:
    @virtual_time
    async def places() -> list[str | None]:
        async with cluster(nodes=7) as world:
            for number in range(40):
                await world.create(pod(f"pod-{number}", requests={"cpu": f"{number % 5}"}))
            await world.settle()
            return [pod.spec.node_name for pod in await world.list(Pod)]

    first = places()
    assert first == places()
    assert len(set(first)) == 7
