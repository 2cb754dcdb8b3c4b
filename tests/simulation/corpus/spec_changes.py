"""Spec changes: changes of a spec that the controller does not carry out."""

from __future__ import annotations

from typing import Annotated, Any

from tests.simulation.corpus.pair import Pair

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap, Service, ServicePort, ServiceSpec


class GatewaySpec(sp.Model):
    hosts: list[str] = []
    mode: str = "round-robin"
    annotations: dict[str, str] = {}
    port: Annotated[int, sp.Field(ge=1, le=65535)] = 80


class GatewayStatus(sp.ConditionedStatus):
    hosts: int = 0
    problem: str = ""


class Gateway(sp.CustomResource, group="corpus.example.com", version="v1"):
    """A proxy."""

    spec: GatewaySpec = GatewaySpec()
    status: GatewayStatus = GatewayStatus()


MODES = ("round-robin", "least-connections")


def changes(*specs: GatewaySpec) -> Any:
    async def scenario(cluster: sp.testing.Cluster) -> None:
        for spec in specs:
            await cluster.apply(Gateway.named("edge", "default", spec=spec))
            await cluster.settle()

    return scenario


# -- only the length of a list -----------------------------------------------------------------------------------------


async def compares_lengths(gateway: Gateway, ctx: sp.Context) -> None:
    present = await ctx.get(ConfigMap, gateway.name)
    hosts = present.data["hosts"].split() if present is not None else []
    if present is None or len(hosts) != len(gateway.spec.hosts):
        await ctx.apply(ConfigMap.named(gateway.name, data={"hosts": " ".join(gateway.spec.hosts)}))


async def compares_lists(gateway: Gateway, ctx: sp.Context) -> None:
    present = await ctx.get(ConfigMap, gateway.name)
    if present is None or present.data["hosts"].split() != gateway.spec.hosts:
        await ctx.apply(ConfigMap.named(gateway.name, data={"hosts": " ".join(gateway.spec.hosts)}))


# -- an invalid value, and back ----------------------------------------------------------------------------------------


async def keeps_a_trace_of_what_was_wrong(gateway: Gateway, ctx: sp.Context) -> None:
    if gateway.spec.mode not in MODES:
        gateway.status.problem = f"unknown mode {gateway.spec.mode}"
        return
    await ctx.apply(ConfigMap.named(gateway.name, data={"mode": gateway.spec.mode}))


async def takes_the_problem_back(gateway: Gateway, ctx: sp.Context) -> None:
    if gateway.spec.mode not in MODES:
        gateway.status.problem = f"unknown mode {gateway.spec.mode}"
        return
    gateway.status.problem = ""
    await ctx.apply(ConfigMap.named(gateway.name, data={"mode": gateway.spec.mode}))


# -- annotations that stay forever ------------------------------------------------------------------------------------


async def only_adds_annotations(gateway: Gateway, ctx: sp.Context) -> None:
    present = await ctx.get(Service, gateway.name)
    if present is None:
        spec = ServiceSpec(selector={"app": gateway.name}, ports=[ServicePort(port=gateway.spec.port)])
        present = await ctx.create(Service.named(gateway.name, spec=spec))
    missing = {key: value for key, value in gateway.spec.annotations.items() if present.annotations.get(key) != value}
    if missing:
        await ctx.patch(present, {"metadata": {"annotations": missing}})


async def applies_annotations(gateway: Gateway, ctx: sp.Context) -> None:
    spec = ServiceSpec(selector={"app": gateway.name}, ports=[ServicePort(port=gateway.spec.port)])
    service = Service.named(gateway.name, spec=spec)
    service.metadata.annotations = dict(gateway.spec.annotations)
    await ctx.apply(service)


# -- a set in no order -------------------------------------------------------------------------------------------------


async def joins_a_set(gateway: Gateway, ctx: sp.Context) -> None:
    hosts = set(gateway.spec.hosts)
    await ctx.apply(ConfigMap.named(gateway.name, data={"hosts": " ".join(hosts)}))


async def joins_a_sorted_set(gateway: Gateway, ctx: sp.Context) -> None:
    hosts = sorted(set(gateway.spec.hosts))
    await ctx.apply(ConfigMap.named(gateway.name, data={"hosts": " ".join(hosts)}))


# -- what the server refuses is forgotten ------------------------------------------------------------------------------


async def forgets_what_was_refused(gateway: Gateway, ctx: sp.Context) -> None:
    if gateway.status.observed_generation == gateway.metadata.generation:
        return  # nothing new
    gateway.status.hosts = len(gateway.spec.hosts)
    await ctx.apply(ConfigMap.named(gateway.name, data={"hosts": " ".join(gateway.spec.hosts)}))


async def does_it_every_time(gateway: Gateway, ctx: sp.Context) -> None:
    gateway.status.hosts = len(gateway.spec.hosts)
    await ctx.apply(ConfigMap.named(gateway.name, data={"hosts": " ".join(gateway.spec.hosts)}))


async def change_and_lose_the_child(cluster: sp.testing.Cluster) -> None:
    await changes(GatewaySpec(hosts=["a"]), GatewaySpec(hosts=["a", "b"]))(cluster)
    await cluster.delete(await cluster.get(ConfigMap, "edge"))
    await cluster.settle()


PAIRS = [
    Pair(
        name="compares-only-list-length",
        root="R71",
        source="tidb-operator #4635",
        scenario=changes(GatewaySpec(hosts=["a", "b"]), GatewaySpec(hosts=["a", "c"])),
        buggy=lambda: [sp.Controller(Gateway, compares_lengths).owns(ConfigMap)],
        correct=lambda: [sp.Controller(Gateway, compares_lists).owns(ConfigMap)],
    ),
    Pair(
        name="error-status-never-cleared",
        root="R71",
        source="Acto's rollbacks: K8SPSMDB-696, zookeeper-operator #547",
        scenario=changes(GatewaySpec(), GatewaySpec(mode="best-effort"), GatewaySpec()),
        buggy=lambda: [sp.Controller(Gateway, keeps_a_trace_of_what_was_wrong).owns(ConfigMap)],
        correct=lambda: [sp.Controller(Gateway, takes_the_problem_back).owns(ConfigMap)],
    ),
    Pair(
        name="removed-annotations-stay",
        root="R72",
        source="Acto #89, K8SPSMDB-697",
        scenario=changes(GatewaySpec(annotations={"team": "a", "tier": "b"}), GatewaySpec(annotations={"team": "a"})),
        buggy=lambda: [sp.Controller(Gateway, only_adds_annotations).owns(Service)],
        correct=lambda: [sp.Controller(Gateway, applies_annotations).owns(Service)],
    ),
    Pair(
        name="unordered-set-in-spec",
        root="R68",
        source="kro #1339; derived",
        scenario=changes(GatewaySpec(hosts=[f"{letter}.example.com" for letter in "abcdefghijkl"])),
        buggy=lambda: [sp.Controller(Gateway, joins_a_set).owns(ConfigMap)],
        correct=lambda: [sp.Controller(Gateway, joins_a_sorted_set).owns(ConfigMap)],
    ),
    Pair(
        name="observed-generation-before-work",
        root="R24",
        source="zookeeper-operator #453; kro #516",
        scenario=change_and_lose_the_child,
        buggy=lambda: [sp.Controller(Gateway, forgets_what_was_refused).owns(ConfigMap)],
        correct=lambda: [sp.Controller(Gateway, does_it_every_time).owns(ConfigMap)],
    ),
]
