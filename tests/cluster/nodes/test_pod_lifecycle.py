"""The life of hollow pods: every state that a kubelet shows, at the time that the behaviour says."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster.scheduling.pods import events_of, pod
from tests.cluster.workloads import stateful_set

from setpoint.cluster import NEVER, ContainerBehaviour, PodBehaviour
from setpoint.cluster.nodes.pod_stopwatch import Stopwatch
from setpoint.models.core_v1 import (
    Container,
    ContainerPort,
    ContainerStatus,
    Event,
    Lifecycle,
    LifecycleHandler,
    Pod,
    PodCondition,
    PodReadinessGate,
    Probe,
    SleepAction,
    TCPSocketAction,
)
from setpoint.testing import Cluster, advance, cluster, virtual_time

HOLLOW = "hollow.setpoint.io"


def noted(name: str, notes: dict[str, str], **spec: Any) -> Pod:
    new_pod = pod(name, **spec)
    new_pod.metadata.annotations = {f"{HOLLOW}/{what}": value for what, value in notes.items()}
    return new_pod


def shown(status: ContainerStatus) -> str:
    """The state of a container in one word, as kubectl prints it."""
    state = status.state
    assert state is not None
    if state.waiting is not None:
        return state.waiting.reason or ""
    if state.terminated is not None:
        return f"{state.terminated.reason} {state.terminated.exit_code}"
    return "running"


async def look(world: Cluster, name: str = "a") -> tuple[str | None, list[str]]:
    """The phase of a pod and the states of its containers, init containers first."""
    pod = await world.get(Pod, name)
    states = [*pod.status.init_container_statuses, *pod.status.container_statuses]
    return pod.status.phase, [shown(state) for state in states]


async def conditions(world: Cluster, name: str = "a") -> dict[str, tuple[str, str | None, str | None]]:
    pod = await world.get(Pod, name)
    return {
        condition.type: (condition.status, condition.reason, condition.message) for condition in pod.status.conditions
    }


@virtual_time
async def test_an_image_takes_its_time_and_the_pod_is_pending_meanwhile() -> None:
    async with cluster() as world:
        await world.create(noted("a", {"pull-seconds": "5"}))
        await advance(4)
        assert await look(world) == ("Pending", ["ContainerCreating"])
        pod = await world.get(Pod, "a")
        assert pod.status.host_ip
        assert not pod.status.pod_ip
        assert (await conditions(world))["Ready"] == (
            "False",
            "ContainersNotReady",
            "containers with unready status: [main]",
        )
        await advance(2)
        assert await look(world) == ("Running", ["running"])
        assert (await world.get(Pod, "a")).status.pod_ip


@virtual_time
async def test_an_image_that_can_not_be_pulled_is_backed_off_from() -> None:
    async with cluster() as world:
        await world.create(noted("a", {"pull-seconds": "never"}))
        await advance(1)
        assert await look(world) == ("Pending", ["ErrImagePull"])
        await advance(10)
        assert await look(world) == ("Pending", ["ImagePullBackOff"])
        reasons = [(reason, message) for _, reason, message in await events_of(world, "a")]
        assert ("Failed", "Error: ImagePullBackOff") in reasons
        assert ("BackOff", 'Back-off pulling image "web:1"') in reasons


@virtual_time
async def test_events_say_what_becomes_of_the_containers_of_a_pod() -> None:
    async with cluster() as world:
        there = 'Container image "web:1" already present on machine and can be accessed by the pod'
        result = noted("a", {"run-seconds": "60", "exit-code": "1,0"}, restart_policy="OnFailure")
        await world.create(result)
        await advance(30)
        once = [
            ("Normal", "Pulled", there),
            ("Normal", "Created", "Container created"),
            ("Normal", "Started", "Container started"),
        ]
        assert (await events_of(world, "a"))[1:] == once
        await advance(600)
        assert (await events_of(world, "a"))[1:] == once, "of the second start the counts tell"
        events = [event for event in await world.list(Event) if event.reason == "Started"]
        assert [event.series.count for event in events if event.series is not None] == [2]


@virtual_time
async def test_events_say_that_an_image_is_pulled_and_that_containers_are_stopped_and_each_once() -> None:
    async with cluster() as world:
        result = noted("a", {"pull-seconds": "5", "stop-seconds": "20"})
        result.spec.termination_grace_period_seconds = 30
        await world.create(result)
        await advance(3)
        assert (await events_of(world, "a"))[1:] == [("Normal", "Pulling", 'Pulling image "web:1"')]
        await advance(3)
        pulled = 'Successfully pulled image "web:1" in 5s (5s including waiting). Image size: 0 bytes.'
        assert (await events_of(world, "a"))[2:] == [
            ("Normal", "Pulled", pulled),
            ("Normal", "Created", "Container created"),
            ("Normal", "Started", "Container started"),
        ]
        await world.client.delete(await world.get(Pod, "a"))
        await advance(10)
        assert (await events_of(world, "a"))[5:] == [("Normal", "Killing", "Stopping container main")]
        await advance(60)
        assert [event.series for event in await world.list(Event)] == [None] * 6


@virtual_time
async def test_probes_delay_what_they_are_about() -> None:
    async with cluster() as world:
        new_pod = pod("a")
        tcp = TCPSocketAction(port=80)
        new_pod.spec.containers[0].startup_probe = Probe(tcp_socket=tcp, initial_delay_seconds=5)
        new_pod.spec.containers[0].readiness_probe = Probe(
            tcp_socket=tcp, initial_delay_seconds=7, period_seconds=3, success_threshold=2
        )
        await world.create(new_pod)
        seen = []
        for _ in range(12):
            await advance(1)
            (status,) = (await world.get(Pod, "a")).status.container_statuses
            seen.append((status.started, status.ready))
        assert seen == [(False, False)] * 4 + [(True, False)] * 5 + [(True, True)] * 3


@virtual_time
async def test_a_container_whose_liveness_probe_fails_is_started_again_and_again() -> None:
    async with cluster() as world:
        result = noted("a", {"alive-seconds": "25", "stop-seconds": "2"})
        result.spec.termination_grace_period_seconds = 30
        probe = Probe(
            tcp_socket=TCPSocketAction(port=80), initial_delay_seconds=10, period_seconds=10, failure_threshold=2
        )
        result.spec.containers[0].liveness_probe = probe
        await world.create(result)
        await advance(41.5)  # looked at after 10, 20, 30 and 40 s; the last two fail, and it takes 2 s to end
        assert await restarts(world) == ("running", 0)
        await advance(1)
        assert await restarts(world) == ("running", 1)
        await advance(42)
        assert await restarts(world) == ("CrashLoopBackOff", 1)
        assert [item for item in await events_of(world, "a") if item[1] in ("Unhealthy", "Killing")] == [
            ("Warning", "Unhealthy", "Liveness probe failed: the hollow container does not answer"),
            ("Normal", "Killing", "Container main failed liveness probe, will be restarted"),
        ]
        (status,) = (await world.get(Pod, "a")).status.container_statuses
        assert status.last_state is not None
        assert status.last_state.terminated is not None
        assert (status.last_state.terminated.exit_code, status.last_state.terminated.reason) == (143, "Error")


async def restarts(world: Cluster) -> tuple[str, int]:
    (status,) = (await world.get(Pod, "a")).status.container_statuses
    return shown(status), status.restart_count


@virtual_time
async def test_a_container_that_does_not_start_in_time_is_started_again() -> None:
    async with cluster() as world:
        result = noted("a", {"started-seconds": "never", "stop-seconds": "60"})
        result.spec.termination_grace_period_seconds = 5
        probe = Probe(tcp_socket=TCPSocketAction(port=80), period_seconds=5, failure_threshold=3)
        result.spec.containers[0].startup_probe = probe
        await world.create(result)
        await advance(14.5)  # looked at at once, after 5 and 10 s; killed after 5 s more
        assert await restarts(world) == ("running", 0)
        await advance(1)
        assert await restarts(world) == ("running", 1)
        (status,) = (await world.get(Pod, "a")).status.container_statuses
        assert status.last_state is not None
        assert status.last_state.terminated is not None
        assert status.last_state.terminated.exit_code == 137


@virtual_time
async def test_a_container_without_a_liveness_probe_is_left_alone() -> None:
    async with cluster() as world:
        await world.create(noted("a", {"alive-seconds": "5"}))
        await advance(600)
        assert await restarts(world) == ("running", 0)


@virtual_time
async def test_a_pod_that_never_restarts_fails_with_its_liveness_probe() -> None:
    async with cluster() as world:
        result = noted("a", {"alive-seconds": "0"}, restart_policy="Never")
        result.spec.containers[0].liveness_probe = Probe(tcp_socket=TCPSocketAction(port=80), period_seconds=1)
        await world.create(result)
        await advance(5)
        assert await look(world) == ("Failed", ["Error 143"])


@virtual_time
async def test_statuses_of_containers_are_sorted_by_name_and_those_of_init_containers_as_in_the_spec() -> None:
    async with cluster() as world:
        new_pod = noted("a", {"pull-seconds": "5"})
        new_pod.spec.containers = [Container(name=name, image="a") for name in ("web", "app", "log")]
        new_pod.spec.init_containers = [Container(name=name, image="b") for name in ("second", "first")]
        await world.create(new_pod)
        await advance(1)
        message = "containers with unready status: [web app log]"
        assert (await conditions(world))["ContainersReady"][2] == message
        await advance(60)
        status = (await world.get(Pod, "a")).status
        assert [state.name for state in status.container_statuses] == ["app", "log", "web"]
        assert [state.name for state in status.init_container_statuses] == ["second", "first"]


@virtual_time
async def test_init_containers_come_one_after_the_other_and_a_sidecar_stays() -> None:
    def behaviour(_pod: Pod) -> PodBehaviour:
        slow = ContainerBehaviour(runs=3.0)
        return PodBehaviour(containers={"first": slow, "second": slow, "proxy": ContainerBehaviour(started=2.0)})

    async with cluster(behaviour=behaviour) as world:
        new_pod = pod("a")
        new_pod.spec.init_containers = [
            Container(name="first", image="a"),
            Container(name="proxy", image="b", restart_policy="Always"),
            Container(name="second", image="c"),
        ]
        await world.create(new_pod)
        seen = []
        for _ in range(5):
            await advance(2)
            seen.append(await look(world))
        waits = "PodInitializing"
        assert seen == [
            ("Pending", ["running", waits, waits, waits]),
            ("Pending", ["Completed 0", "running", waits, waits]),
            ("Pending", ["Completed 0", "running", "running", waits]),
            ("Running", ["Completed 0", "running", "Completed 0", "running"]),
            ("Running", ["Completed 0", "running", "Completed 0", "running"]),
        ]
        assert (await conditions(world))["Initialized"][0] == "True"


@virtual_time
async def test_an_init_container_that_fails_is_tried_again_or_fails_the_pod() -> None:
    async with cluster() as world:
        for name, policy in (("again", "OnFailure"), ("never", "Never")):
            new_pod = pod(name, restart_policy=policy)
            new_pod.metadata.annotations = {f"init.{HOLLOW}/exit-code": "1,0"}
            new_pod.spec.init_containers = [Container(name="init", image="a")]
            await world.create(new_pod)
        await advance(1)
        assert await look(world, "again") == ("Running", ["Completed 0", "running"])
        assert await look(world, "never") == ("Failed", ["Error 1", "PodInitializing"])
        assert (await conditions(world, "never"))["Initialized"] == (
            "False",
            "ContainersNotInitialized",
            "containers with incomplete status: [init]",
        )


@virtual_time
async def test_a_container_that_crashes_begins_again_later_and_later() -> None:
    async with cluster() as world:
        await world.create(noted("a", {"exit-code": "3"}))
        restarts = []
        for _ in range(8):
            await advance(10)
            (status,) = (await world.get(Pod, "a")).status.container_statuses
            restarts.append(status.restart_count)
        assert restarts == [2, 2, 3, 3, 3, 3, 4, 4]
        phase, states = await look(world)
        assert (phase, states) == ("Running", ["CrashLoopBackOff"])
        pod = await world.get(Pod, "a")
        (status,) = pod.status.container_statuses
        assert status.last_state is not None
        assert status.last_state.terminated is not None
        assert status.last_state.terminated.exit_code == 3
        assert status.state is not None
        assert status.state.waiting is not None
        assert status.state.waiting.message == (
            f"back-off 1m20s restarting failed container=main pod=a_default({pod.uid})"
        )
        text = f"Back-off restarting failed container main in pod a_default({pod.uid})"
        assert ("Warning", "BackOff", text) in await events_of(world, "a")


@virtual_time
async def test_after_a_long_run_the_back_off_begins_again() -> None:
    async def runs(world: Cluster, seconds: str) -> None:
        await world.client.patch(Pod, "a", {"metadata": {"annotations": {f"{HOLLOW}/run-seconds": seconds}}})

    async with cluster() as world:
        await world.create(noted("a", {"exit-code": "3"}))
        await advance(80)
        assert await restarts(world) == ("CrashLoopBackOff", 4)
        await runs(world, "3600")
        await advance(700)
        assert await restarts(world) == ("running", 5)
        await runs(world, "0")
        for delay, count in ((10, 6), (20, 7), (40, 8)):
            await advance(1)
            (status,) = (await world.get(Pod, "a")).status.container_statuses
            assert (shown(status), status.restart_count) == ("CrashLoopBackOff", count)
            assert status.state is not None
            assert status.state.waiting is not None
            assert (status.state.waiting.message or "").startswith(f"back-off {delay}s ")
            await advance(delay - 1)


@virtual_time
async def test_a_container_is_restarted_however_often_it_has_crashed() -> None:
    async with cluster() as world:
        await world.create(noted("a", {"exit-code": "3"}))
        await advance(5)
        pod = await world.get(Pod, "a")
        pod.status.container_statuses[0].restart_count = 2000
        await world.client.update_status(pod)
        await advance(400)
        assert await restarts(world) == ("CrashLoopBackOff", 2001)


@virtual_time
async def test_only_the_last_runs_are_looked_at_for_a_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: set[int] = set()
    between = Stopwatch.between

    def seen(stopwatch: Stopwatch, uid: str, first: str, second: str) -> float | None:
        looked.add(int(first.rpartition(" ")[2]))
        return between(stopwatch, uid, first, second)

    monkeypatch.setattr(Stopwatch, "between", seen)
    async with cluster() as world:
        await world.create(noted("a", {"exit-code": "3"}))
        await advance(3600)
        _, count = await restarts(world)
        looked.clear()
        await advance(300)
        assert await restarts(world) == ("CrashLoopBackOff", count + 1)
        assert looked == set(range(count - 5, count + 2))


@virtual_time
async def test_the_codes_of_single_runs_are_used_in_turn() -> None:
    async with cluster() as world:
        await world.create(noted("a", {"exit-code": "1,2,0", "run-seconds": "1"}, restart_policy="OnFailure"))
        await advance(60)
        assert await look(world) == ("Succeeded", ["Completed 0"])
        (status,) = (await world.get(Pod, "a")).status.container_statuses
        assert status.restart_count == 2
        assert (await conditions(world))["Ready"][:2] == ("False", "PodCompleted")


@virtual_time
async def test_a_sidecar_ends_when_the_work_is_done() -> None:
    async with cluster() as world:
        new_pod = pod("a", restart_policy="Never")
        new_pod.metadata.annotations = {f"main.{HOLLOW}/run-seconds": "5"}
        new_pod.spec.init_containers = [Container(name="proxy", image="b", restart_policy="Always")]
        await world.create(new_pod)
        await advance(4)
        assert await look(world) == ("Running", ["running", "running"])
        await advance(2)
        assert await look(world) == ("Succeeded", ["Error 143", "Completed 0"])


@virtual_time
async def test_containers_end_within_the_grace_period_or_are_killed() -> None:
    def behaviour(result: Pod) -> PodBehaviour:
        return PodBehaviour(stops=NEVER if result.name == "stubborn" else 2.0)

    async with cluster(behaviour=behaviour) as world:
        for name in ("stubborn", "polite", "sleepy"):
            new_pod = pod(name)
            new_pod.metadata.finalizers = ["example.com/look"]
            new_pod.spec.termination_grace_period_seconds = 10
            if name == "sleepy":
                sleep = LifecycleHandler(sleep=SleepAction(seconds=4))
                new_pod.spec.containers[0].lifecycle = Lifecycle(pre_stop=sleep)
            await world.create(new_pod)
        await advance(1)
        for current_pod in await world.list(Pod):
            await world.delete(current_pod)
        seen = []
        for _ in range(4):
            await advance(3)
            seen.append([(await look(world, name))[1][0] for name in ("polite", "sleepy", "stubborn")])
        assert seen == [
            ["Error 143", "running", "running"],
            ["Error 143", "Error 143", "running"],
            ["Error 143", "Error 143", "running"],
            ["Error 143", "Error 143", "Error 137"],
        ]
        assert (await look(world, "polite"))[0] == "Failed"


@virtual_time
async def test_a_pod_may_be_active_for_so_long_and_no_longer() -> None:
    async with cluster() as world:
        await world.create(pod("a", active_deadline_seconds=20))
        await advance(19)
        assert (await look(world))[0] == "Running"
        await advance(2)
        assert await look(world) == ("Failed", ["Error 137"])
        current_pod = await world.get(Pod, "a")
        assert current_pod.status.reason == "DeadlineExceeded"
        assert current_pod.status.message == "Pod was active on the node longer than the specified deadline"


@virtual_time
async def test_readiness_waits_for_gates_that_others_open() -> None:
    async with cluster() as world:
        await world.create(pod("a", readiness_gates=[PodReadinessGate(condition_type="example.com/open")]))
        await world.settle()
        assert (await conditions(world))["ContainersReady"][0] == "True"
        assert (await conditions(world))["Ready"] == (
            "False",
            "ReadinessGatesNotReady",
            'corresponding condition of pod readiness gate "example.com/open" does not exist.',
        )
        current_pod = await world.get(Pod, "a")
        current_pod.status.conditions = [
            *current_pod.status.conditions,
            PodCondition(type="example.com/open", status="True"),
        ]
        await world.client.update_status(current_pod)
        await world.settle()
        assert (await world.get(Pod, "a")).is_ready


@virtual_time
async def test_another_image_starts_the_container_again() -> None:
    async with cluster() as world:
        await world.create(pod("a"))
        await world.settle()
        current_pod = await world.get(Pod, "a")
        current_pod.spec.containers[0].image = "web:2"
        await world.update(current_pod)
        await world.settle()
        (status,) = (await world.get(Pod, "a")).status.container_statuses
        assert (status.image, status.restart_count, status.ready) == ("web:2", 1, True)


@virtual_time
async def test_all_conditions_are_about_the_generation_that_the_kubelet_has_seen() -> None:
    async with cluster() as world:
        await world.create(pod("a"))
        await world.settle()
        current_pod = await world.get(Pod, "a")
        current_pod.spec.containers[0].image = "another"
        await world.update(current_pod)
        await world.settle()
        current_pod = await world.get(Pod, "a")
        assert current_pod.status.observed_generation == current_pod.metadata.generation == 2
        assert {
            condition.type: condition.observed_generation for condition in current_pod.status.conditions
        } == dict.fromkeys(["PodScheduled", "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"], 2)


@virtual_time
async def test_a_function_says_what_pods_do_and_annotations_say_the_rest() -> None:
    def behaviour(current_pod: Pod) -> PodBehaviour | None:
        return PodBehaviour(ready=30.0) if current_pod.labels.get("app") == "slow" else None

    async with cluster(behaviour=behaviour) as world:
        await world.create(pod("slow", labels={"app": "slow"}))
        await world.create(pod("quick"))
        await advance(29)
        assert [(pod.name, pod.is_ready) for pod in await world.list(Pod)] == [("quick", True), ("slow", False)]
        await advance(2)
        assert (await world.get(Pod, "slow")).is_ready


@virtual_time
async def test_nothing_is_written_of_pods_that_have_settled() -> None:
    async with cluster() as world:
        await world.create(pod("a"))
        await world.create(noted("b", {"pull-seconds": "never"}))
        await advance(60)
        before = {pod.name: pod.metadata.resource_version for pod in await world.list(Pod)}
        await advance(3600)
        assert {pod.name: pod.metadata.resource_version for pod in await world.list(Pod)} == before


@virtual_time
async def test_the_pods_of_helm_hooks_end_as_those_of_jobs_do() -> None:
    async with cluster() as world:
        new_pod = pod("a", restart_policy="Never")
        new_pod.metadata.annotations = {"helm.sh/hook": "test"}
        await world.create(new_pod)
        await advance(2)
        assert await look(world) == ("Succeeded", ["Completed 0"])


@virtual_time
async def test_a_pod_whose_host_port_is_taken_on_its_node_is_rejected_and_made_again_by_its_owner() -> None:
    port = ContainerPort(container_port=80, host_port=8080)
    async with cluster() as world:
        first = await world.create(pod("a", ports=[port], node_name="hollow-0"))
        await world.settle()
        await world.create(pod("b", ports=[port], node_name="hollow-0"))
        await world.settle()
        rejected = (await world.get(Pod, "b")).status
        told_of = "node(s) didn't have free ports for the requested pod ports"
        assert (rejected.phase, rejected.reason) == ("Failed", "NodePorts")
        assert rejected.message == f"Pod was rejected: Predicate NodePorts failed: {told_of}"
        assert ("Warning", "NodePorts", f"Predicate NodePorts failed: {told_of}") in await events_of(world, "b")
        assert (await world.get(Pod, "a")).is_running

        claimed = stateful_set(1)
        claimed.spec.template.spec.node_name = "hollow-0"
        claimed.spec.template.spec.containers[0].ports = [port]
        await world.create(claimed)
        await advance(30)
        rejections = [event for event in await world.list(Event) if event.reason == "NodePorts"]
        told_pods = {
            rejection.involved_object.uid for rejection in rejections if rejection.involved_object.name == "web-0"
        }
        assert len(told_pods) > 1, "it was made again"
        before = await world.list(Pod, selector="app=web")  # none, if it is looked for between two of them
        assert not any(item.is_running for item in before)
        await world.delete(first)
        await advance(1000)
        (after,) = await world.list(Pod, selector="app=web")
        assert after.is_running
        assert after.uid not in {item.uid for item in before}
