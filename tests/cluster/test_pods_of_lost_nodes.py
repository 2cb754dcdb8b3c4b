"""Pods whose node has gone, and roles that are made of others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from setpoint.controller import Context
from setpoint.meta import LabelSelector, from_wire
from setpoint.models.core_v1 import Node, Pod
from setpoint.models.rbac_v1 import AggregationRule, ClusterRole, PolicyRule
from setpoint.testing import advance, cluster, virtual_time


def pod(name: str, **spec: object) -> Pod:
    containers = [{"name": "main", "image": "web:1"}]
    metadata = {"name": name, "namespace": "default", "finalizers": ["example.com/seen"]}
    return from_wire(Pod, {"metadata": metadata, "spec": {"containers": containers, **spec}})


@virtual_time
async def test_the_pods_of_a_node_that_has_gone_fail_and_go_after_a_while() -> None:
    async with cluster(control_plane=["podgc"], nodes=0) as world:
        node = await world.create(Node.named("a"))
        await world.create(pod("web", nodeName="a"))
        await world.delete(node)
        await advance(30)
        assert not (await world.get(Pod, "web")).is_deleting, "the node may come back"
        await advance(60)
        gone = await world.get(Pod, "web")
        assert gone.is_deleting
        assert gone.status.phase == "Failed"
        (condition,) = [condition for condition in gone.status.conditions if condition.type == "DisruptionTarget"]
        assert (condition.status, condition.reason, condition.message) == (
            "True", "DeletionByPodGC", "PodGC: node no longer exists",
        )  # fmt: skip


@virtual_time
async def test_a_node_that_comes_back_keeps_its_pods() -> None:
    async with cluster(control_plane=["podgc"], nodes=0) as world:
        node = await world.create(Node.named("a"))
        await world.create(pod("web", nodeName="a"))
        await world.delete(node)
        await advance(20)
        await world.create(Node.named("a"))
        await advance(600)
        assert not (await world.get(Pod, "web")).is_deleting


@virtual_time
async def test_every_absence_of_a_node_has_its_own_quarantine() -> None:
    async with cluster(control_plane=["podgc"], nodes=0) as world:
        first = pod("first", nodeName="a")
        first.metadata.finalizers = []
        await world.create(first)
        await advance(10)
        await world.client.delete(first, grace_period_seconds=0)
        await advance(600)
        node = await world.create(Node.named("a"))
        await world.settle()
        await world.delete(node)
        await world.create(pod("second", nodeName="a"))
        await advance(30)
        assert not (await world.get(Pod, "second")).is_deleting
        await advance(30)
        assert (await world.get(Pod, "second")).is_deleting


@virtual_time
async def test_a_node_that_comes_while_a_reconcile_looks_for_it_was_not_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    get = Context.get

    async def slow(context: Context, kind: Any, name: str, **options: Any) -> Any:
        result = await get(context, kind, name, **options)
        await asyncio.sleep(5)
        return result

    monkeypatch.setattr(Context, "get", slow)
    async with cluster(control_plane=["podgc"], nodes=0) as world:
        await world.create(pod("web", nodeName="a"))
        await advance(2)
        node = await world.create(Node.named("a"))
        await advance(600)
        await world.delete(node)
        await advance(30)
        assert not (await world.get(Pod, "web")).is_deleting
        await advance(30)
        assert (await world.get(Pod, "web")).is_deleting


def role(name: str, labels: dict[str, str], *verbs: str) -> ClusterRole:
    cluster_role = ClusterRole.named(name, labels=labels)
    cluster_role.rules = [PolicyRule(api_groups=[""], resources=["pods"], verbs=[verb]) for verb in verbs]
    return cluster_role


@virtual_time
async def test_a_role_has_the_rules_of_all_that_it_selects() -> None:
    async with cluster(control_plane=["clusterrole-aggregation"], nodes=0) as world:
        whole = ClusterRole.named("whole")
        whole.aggregation_rule = AggregationRule(cluster_role_selectors=[LabelSelector(match_labels={"part": "yes"})])
        await world.create(whole)
        await world.create(role("b", {"part": "yes"}, "list", "get"))
        await world.create(role("a", {"part": "yes"}, "watch", "list"))
        await world.create(role("c", {}, "delete"))
        await world.settle()
        cluster_role = await world.get(ClusterRole, "whole")
        assert [rule.verbs for rule in cluster_role.rules] == [["watch"], ["list"], ["get"]]
        await world.delete(await world.get(ClusterRole, "a"))
        await world.settle()
        cluster_role = await world.get(ClusterRole, "whole")
        assert [rule.verbs for rule in cluster_role.rules] == [["list"], ["get"]]
        version = cluster_role.metadata.resource_version
        await advance(3600)
        assert (await world.get(ClusterRole, "whole")).metadata.resource_version == version
