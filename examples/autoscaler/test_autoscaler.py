"""The tests of autoscaler.py: its queues are a system outside of the cluster, which fails as such systems do."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from http.client import HTTPConnection
from http.server import HTTPServer
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from autoscaler import Queues, controller
from queues import Lengths
from scalekinds import QueueScaler, QueueScalerSpec, Target
from scalewindows import proposal

import setpoint as sp
from setpoint.client import Invalid
from setpoint.models.apps_v1 import Deployment, DeploymentSpec, StatefulSet, StatefulSetSpec
from setpoint.models.autoscaling_v2 import (
    CrossVersionObjectReference,
    HorizontalPodAutoscaler,
    HorizontalPodAutoscalerSpec,
)
from setpoint.models.core_v1 import Container, PodSpec, PodTemplateSpec


class Fake(sp.simulation.External, Queues):
    """The lengths of queues."""

    def __init__(self, **lengths: Any) -> None:
        self.lengths = lengths

    @sp.simulation.call
    async def length(self, name: str) -> int:
        length = self.lengths[name]
        if isinstance(length, Exception):
            raise length
        return length  # type: ignore[no-any-return]


class Fleet(
    sp.CustomResource,
    group="test.example.com",
    version="v1",
    scale=sp.ScaleSubresource(spec_replicas=".spec.ships", status_replicas=".status.ships"),
):
    """A kind of which the operator knows nothing."""

    class Spec(sp.Model):
        ships: int = 1

    class Status(sp.Model):
        ships: int = 0

    spec: Spec = Spec()
    status: Status = Status()


SELECTOR = sp.LabelSelector(match_labels={"app": "web"})
TEMPLATE = PodTemplateSpec(
    metadata=sp.ObjectMeta(labels={"app": "web"}), spec=PodSpec(containers=[Container(name="main", image="web:1")])
)


def web_deployment(replicas: int = 1, name: str = "web") -> Deployment:
    spec = DeploymentSpec(replicas=replicas, selector=SELECTOR, template=TEMPLATE)
    return Deployment.named(name, "default", spec=spec)


def scaler(name: str = "web", target: Target | None = None, **spec: Any) -> QueueScaler:
    wanted: dict[str, Any] = {"messages_per_replica": 10, "max_replicas": 10} | spec
    scaler_spec = QueueScalerSpec(scale_target_ref=target or Target(name="web"), queue="jobs", **wanted)
    return QueueScaler.named(name, "default", spec=scaler_spec)


def using(queues: Queues) -> Any:
    @asynccontextmanager
    async def lifespan(manager: sp.Manager) -> AsyncGenerator[Queues]:
        yield queues

    return lifespan


def running(queues: Queues, *objects: sp.Object, **options: Any) -> Any:
    options = {"control_plane": False, "lifespan": using(queues), "objects": objects} | options
    return sp.testing.cluster(controller, **options)


async def replicas(cluster: sp.testing.Cluster, kind: type[sp.Object] = Deployment) -> int:
    scale = await cluster.client.get_scale(kind, "web", namespace="default")
    return scale.spec.replicas or 0


async def active(cluster: sp.testing.Cluster, name: str = "web") -> tuple[str, str]:
    conditions = (await cluster.get(QueueScaler, name)).status.conditions
    (condition,) = [condition for condition in conditions if condition.type == "ScalingActive"]
    return condition.status, condition.reason


@sp.testing.virtual_time
async def test_more_messages_are_more_replicas_at_once_and_fewer_are_fewer_after_the_window() -> None:
    queues = Fake(jobs=35)
    async with running(queues, web_deployment(), scaler()) as cluster:
        await sp.testing.advance(1)
        assert await replicas(cluster) == 4
        queues.lengths["jobs"] = 12
        await sp.testing.advance(290)
        assert await replicas(cluster) == 4
        await sp.testing.advance(30)
        assert await replicas(cluster) == 2
        status = (await cluster.get(QueueScaler, "web")).status
        assert (status.messages, status.current_replicas, status.desired_replicas) == (12, 2, 2)
        assert await active(cluster) == ("True", "ValidMetricFound")


@sp.testing.virtual_time
async def test_the_window_remembers_the_highest_need_through_restarts_and_a_short_dip_changes_nothing() -> None:
    queues = Fake(jobs=50)
    async with sp.testing.cluster(
        crds=[QueueScaler], objects=[web_deployment(), scaler()], control_plane=False
    ) as cluster:
        for length, expected in ((50, 5), (10, 5), (30, 5), (10, 5)):
            queues.lengths["jobs"] = length
            options = sp.ManagerOptions(now=cluster.now, random=cluster.random)
            manager = sp.Manager(cluster.client, controllers=[controller], lifespan=using(queues), options=options)
            async with manager:
                await sp.testing.advance(60)
                assert await replicas(cluster) == expected
        async with sp.Manager(cluster.client, controllers=[controller], lifespan=using(queues), options=options):
            await sp.testing.advance(150)
            assert await replicas(cluster) == 3, "the last five minutes needed three at least"
            await sp.testing.advance(150)
            assert await replicas(cluster) == 1


@sp.testing.virtual_time
async def test_a_window_upwards_waits_and_bounds_hold() -> None:
    queues = Fake(jobs=0)
    patient = scaler(scale_up_window=sp.Duration(minutes=1), min_replicas=2, max_replicas=4)
    async with running(queues, web_deployment(2), patient) as cluster:
        await sp.testing.advance(100)
        queues.lengths["jobs"] = 1000
        await sp.testing.advance(50)
        assert await replicas(cluster) == 2
        await sp.testing.advance(40)
        assert await replicas(cluster) == 4
        conditions = (await cluster.get(QueueScaler, "web")).status.conditions
        assert [condition.reason for condition in conditions if condition.type == "ScalingLimited"] == [
            "TooManyReplicas"
        ]
        await cluster.apply(scaler(min_replicas=0, scale_down_window=sp.Duration(0)))
        queues.lengths["jobs"] = 0
        await sp.testing.advance(40)
        assert await replicas(cluster) == 0
        queues.lengths["jobs"] = 1
        await sp.testing.advance(40)
        assert await replicas(cluster) == 1


@pytest.mark.parametrize("wrong", [ConnectionError("away"), -1, "12", None, True, 1.5])
@sp.testing.virtual_time
async def test_without_a_length_that_is_one_nothing_is_scaled(wrong: Any) -> None:
    queues = Fake(jobs=40)
    async with running(queues, web_deployment(), scaler()) as cluster:
        await sp.testing.advance(1)
        queues.lengths["jobs"] = wrong
        await sp.testing.advance(1000)
        assert await replicas(cluster) == 4
        assert await active(cluster) == ("False", "NoMetric")
        queues.lengths["jobs"] = 60
        await sp.testing.advance(20)
        assert await replicas(cluster) == 6


@sp.testing.virtual_time
async def test_a_number_that_a_person_has_set_stays_until_the_spec_changes() -> None:
    queues = Fake(jobs=40)
    async with running(queues, web_deployment(), scaler()) as cluster:
        await sp.testing.advance(1)
        await cluster.client.patch_scale(Deployment, "web", 7, namespace="default")
        await sp.testing.advance(1000)
        assert await replicas(cluster) == 7
        assert await active(cluster) == ("False", "ChangedByAnother")
        await cluster.client.patch_scale(Deployment, "web", 0, namespace="default")
        queues.lengths["jobs"] = 90
        await sp.testing.advance(1000)
        assert await replicas(cluster) == 0
        await cluster.apply(scaler(max_replicas=8))
        await sp.testing.advance(20)
        assert await replicas(cluster) == 8
        assert await active(cluster) == ("True", "ValidMetricFound")


def hpa() -> HorizontalPodAutoscaler:
    target = CrossVersionObjectReference(api_version="apps/v1", kind="Deployment", name="web")
    spec = HorizontalPodAutoscalerSpec(max_replicas=3, scale_target_ref=target)
    return HorizontalPodAutoscaler.named("theirs", "default", spec=spec)


@sp.testing.virtual_time
async def test_the_target_of_an_hpa_is_the_hpas_until_that_is_gone() -> None:
    async with running(Fake(jobs=40), web_deployment(), scaler(), hpa()) as cluster:
        await sp.testing.advance(60)
        assert (await replicas(cluster), await active(cluster)) == (1, ("False", "OtherAutoscaler"))
        await cluster.client.patch_scale(Deployment, "web", 3, namespace="default")
        await cluster.delete(await cluster.get(HorizontalPodAutoscaler, "theirs"))
        await sp.testing.advance(20)
        assert (await replicas(cluster), await active(cluster)) == (4, ("True", "ValidMetricFound"))
        await cluster.create(hpa())
        await sp.testing.advance(1)
        assert await active(cluster) == ("False", "OtherAutoscaler")


@sp.testing.virtual_time
async def test_of_two_scalers_of_one_target_the_older_one_scales() -> None:
    async with running(Fake(jobs=40), web_deployment(), scaler()) as cluster:
        await sp.testing.advance(5)
        await cluster.create(scaler("second", messages_per_replica=5))
        await sp.testing.advance(60)
        assert (await replicas(cluster), await active(cluster, "second")) == (4, ("False", "OtherAutoscaler"))
        await cluster.delete(await cluster.get(QueueScaler, "web"))
        await sp.testing.advance(60)
        assert (await replicas(cluster), await active(cluster, "second")) == (8, ("True", "ValidMetricFound"))


@sp.testing.virtual_time
async def test_every_kind_with_a_scale_is_a_target() -> None:
    ships = scaler(target=Target(api_version="test.example.com/v1", kind="Fleet", name="web"))
    stateful = StatefulSetSpec(replicas=1, selector=SELECTOR, service_name="web", template=TEMPLATE)
    objects = (StatefulSet.named("web", "default", spec=stateful), Fleet.named("web", "default"))
    sets = scaler("sets", target=Target(kind="StatefulSet", name="web"))
    async with running(Fake(jobs=40), *objects, sets, ships, crds=[QueueScaler, Fleet]) as cluster:
        await sp.testing.advance(1)
        assert (await cluster.get(Fleet, "web")).spec.ships == 4
        assert await replicas(cluster, StatefulSet) == 4


@sp.testing.virtual_time
async def test_a_target_that_is_missing_or_unknown_is_told_and_may_come_late() -> None:
    odd = scaler("odd", target=Target(api_version="nowhere.example.com/v1", kind="Nothing", name="web"))
    async with running(Fake(jobs=40), scaler(), odd) as cluster:
        await sp.testing.advance(1)
        assert await active(cluster) == ("False", "NoTarget")
        assert await active(cluster, "odd") == ("False", "UnknownKind")
        await cluster.create(web_deployment())
        await sp.testing.advance(20)
        assert await replicas(cluster) == 4
        await cluster.delete(await cluster.get(Deployment, "web"))
        await sp.testing.advance(20)
        await cluster.create(web_deployment(2))
        await sp.testing.advance(20)
        assert await replicas(cluster) == 4, "the new Deployment is another target"


@sp.testing.virtual_time
async def test_a_spec_that_can_not_hold_is_refused() -> None:
    async with running(Fake()) as cluster:
        with pytest.raises(Invalid, match="minReplicas must not be more"):
            await cluster.create(scaler(min_replicas=11))
        with pytest.raises(Invalid, match="poll must be"):
            await cluster.create(scaler(poll=sp.Duration(0)))
        with pytest.raises(Invalid, match=r"spec\.messagesPerReplica"):
            await cluster.create(scaler(messages_per_replica=0))


def test_a_tenth_more_or_less_changes_nothing() -> None:
    assert [proposal(messages, 10, 4) for messages in (0, 1, 35, 36, 44, 45)] == [0, 1, 4, 4, 4, 5]
    assert proposal(1, 10, 0) == 1


async def test_lengths_come_over_http_and_failures_are_told() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"messages": 12}) if request.path == "/queues/jobs" else web.Response(text="x")

    app = web.Application()
    app.router.add_get("/queues/{name}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with aiohttp.ClientSession() as session:
        queues = Queues(session, f"http://127.0.0.1:{runner.addresses[0][1]}/queues")
        assert await queues.length("jobs") == 12
        with pytest.raises(OSError, match="mimetype"):
            await queues.length("others")
        await runner.cleanup()
        with pytest.raises(OSError, match="127"):
            await queues.length("jobs")


def simulated(budget: sp.simulation.Budget, **options: Any) -> sp.simulation.Report:
    """Simulates the scenario under faults; test_survival.py runs it."""
    queues = Fake(jobs=40)

    async def scenario(cluster: sp.testing.Cluster) -> None:
        async def has(number: int) -> bool:
            return await replicas(cluster) == number

        await cluster.apply(scaler(scale_down_window=sp.Duration(0)))
        await cluster.until(lambda: has(4))
        queues.lengths["jobs"] = 20
        await cluster.until(lambda: has(2))
        queues.lengths["jobs"] = 60
        await cluster.until(lambda: has(6))

    return sp.simulation.check(
        scenario,
        lambda: [controller],
        objects=[web_deployment()],
        control_plane=False,
        lifespan=using(queues),
        externals=[queues],
        budget=budget,
        **options,
    )


def test_the_server_of_queues_answers_a_length_that_is_not_a_number_and_keeps_the_former_one() -> None:
    with HTTPServer(("127.0.0.1", 0), Lengths) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        connection = HTTPConnection("127.0.0.1", server.server_port)

        def put(length: str) -> int:
            connection.request("PUT", "/queues/jobs", length)
            answer = connection.getresponse()
            answer.read()
            return answer.status

        assert [put("42"), put("nonsense"), put("-5"), put("")] == [200, 400, 400, 400]
        connection.request("GET", "/queues/jobs")
        assert connection.getresponse().read() == b'{"messages": 42}'
        connection.close()
        server.shutdown()
