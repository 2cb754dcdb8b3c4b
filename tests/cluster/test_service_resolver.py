"""Webhooks behind Services of the embedded cluster: which address is called."""

from __future__ import annotations

import pytest

import setpoint as sp
from setpoint.apiserver import CallFailed
from setpoint.cluster.networking.service_resolver import AT, ServiceAddresses
from setpoint.models.core_v1 import Container, Pod, PodSpec, Service, ServicePort, ServiceSpec

PLACE = ("default", "hooks", 443)


def pod(name: str, at: str = "", **more: str) -> Pod:
    notes = {**more, **({AT: at} if at else {})}
    return Pod.named(
        name, "default", {"app": "hooks"}, notes, spec=PodSpec(containers=[Container(name="main", image="hooks:1")])
    )


def service() -> Service:
    port = ServicePort(name="https", port=443, target_port=9443)
    return Service.named("hooks", "default", spec=ServiceSpec(selector={"app": "hooks"}, ports=[port]))


def addresses(cluster: sp.testing.Cluster) -> ServiceAddresses:
    return ServiceAddresses(cluster.server.storage)


@sp.testing.virtual_time
async def test_ready_pods_are_called_in_turns_where_programs_answer_for_them() -> None:
    async with sp.testing.cluster() as cluster:
        await cluster.create(service())
        await cluster.create(pod("a", "8080=127.0.0.1:1, 9443=127.0.0.1:2"))
        await cluster.create(pod("b", "9443=127.0.0.1:3"))
        await cluster.create(pod("late", "9443=127.0.0.1:4", **{"hollow.setpoint.io/ready-seconds": "never"}))
        await cluster.create(pod("hollow"))
        await cluster.settle()
        find = addresses(cluster)
        assert {find(PLACE) for _ in range(6)} == {"127.0.0.1:2", "127.0.0.1:3"}
        await cluster.delete(await cluster.get(Pod, "a"))
        await cluster.settle()
        assert {find(PLACE) for _ in range(6)} == {"127.0.0.1:3"}


@sp.testing.virtual_time
async def test_turns_are_remembered_for_a_limited_number_of_services(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("setpoint.cluster.networking.service_resolver._MAX_TURNS", 3)
    async with sp.testing.cluster() as cluster:
        hooks = service()
        hooks.spec.ports = [ServicePort(name=f"p{port}", port=port, target_port=9443) for port in range(440, 450)]
        await cluster.create(hooks)
        for name in "ab":
            await cluster.create(pod(name, f"9443=127.0.0.1:{ord(name)}"))
        await cluster.settle()
        find = addresses(cluster)
        for port in range(440, 450):
            assert find(("default", "hooks", port)) != find(("default", "hooks", port))
            assert len(find._turns) <= 3


@sp.testing.virtual_time
async def test_a_refusal_says_what_is_missing() -> None:
    async with sp.testing.cluster() as cluster:
        find = addresses(cluster)
        assert find(PLACE) is None
        await cluster.create(service())
        await cluster.settle()
        with pytest.raises(CallFailed, match='no endpoints available for service "hooks"'):
            find(PLACE)
        with pytest.raises(CallFailed, match='no service port 80 found for service "hooks"'):
            find(("default", "hooks", 80))
        await cluster.create(pod("hollow"))
        await cluster.settle()
        with pytest.raises(
            CallFailed, match=r"no route to host \(the pod is hollow and has no annotation hollow\.setpoint\.io/at\)"
        ):
            find(PLACE)


@sp.testing.virtual_time
async def test_a_service_may_be_another_name() -> None:
    async with sp.testing.cluster() as cluster:
        await cluster.create(
            Service.named("hooks", "default", spec=ServiceSpec(type="ExternalName", external_name="hooks.example.com"))
        )
        assert addresses(cluster)(PLACE) == "hooks.example.com:443"
