"""Services know where their pods are."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cluster.workloads import service, stateful_set

from setpoint.apiserver import ApiServer
from setpoint.apiserver.resources.service_networks import service_networks
from setpoint.client import Client, InProcessTransport
from setpoint.cluster import ControlPlane
from setpoint.cluster.nodes.node_networks import host_ips, pod_cidrs, pod_ips
from setpoint.models.core_v1 import Container, ContainerPort, Endpoints, Node, Pod, PodSpec, Service, ServicePort
from setpoint.models.discovery_v1 import EndpointSlice
from setpoint.testing import advance, cluster, virtual_time

LABEL = "kubernetes.io/service-name"


async def ready_of(world: Any) -> list[str]:
    (result,) = await world.list(EndpointSlice, selector={LABEL: "web"})
    return sorted(endpoint.target_ref.name for endpoint in result.endpoints if endpoint.conditions.ready)


@virtual_time
async def test_slices_and_endpoints_have_the_addresses_of_ready_pods() -> None:
    async with cluster() as world:
        await world.create(service())
        await world.create(stateful_set(2))
        await world.settle()
        assert await ready_of(world) == ["web-0", "web-1"]
        (result,) = await world.list(EndpointSlice, selector={LABEL: "web"})
        assert [(port.name, port.port, port.protocol) for port in result.ports] == [("", 8080, "TCP")]
        assert [endpoint.hostname for endpoint in result.endpoints] == ["web-0", "web-1"]
        assert result.metadata.controller is not None
        (subset,) = (await world.get(Endpoints, "web")).subsets
        assert {address.ip for address in subset.addresses} == {pod.status.pod_ip for pod in await world.list(Pod)}
        new_pod = await world.get(Pod, "web-1")
        new_pod.metadata.labels = {**new_pod.labels, "app": "other"}
        await world.update(new_pod)
        await advance(1)
        assert await ready_of(world) == ["web-0"]


@virtual_time
async def test_pods_that_are_not_ready_are_there_but_not_ready() -> None:
    async with cluster() as world:
        await world.create(service())
        slow = Pod.named("slow", "default", {"app": "web"}, spec=PodSpec(containers=[Container(name="a", image="a")]))
        slow.metadata.annotations = {"hollow.setpoint.io/ready-seconds": "20"}
        await world.create(slow)
        await advance(10)
        (result,) = await world.list(EndpointSlice, selector={LABEL: "web"})
        conditions = result.endpoints[0].conditions
        assert conditions is not None
        assert (conditions.ready, conditions.serving, conditions.terminating) == (False, False, False)
        (subset,) = (await world.get(Endpoints, "web")).subsets
        assert (len(subset.addresses), len(subset.not_ready_addresses)) == (0, 1)
        await advance(15)
        assert await ready_of(world) == ["slow"]


@virtual_time
@pytest.mark.parametrize("published", [False, True])
async def test_the_last_pod_of_a_service_leaves_its_endpoints_when_it_terminates(published: bool) -> None:
    async with cluster() as world:
        await world.create(service(publish_not_ready_addresses=published))
        slow = Pod.named("slow", "default", {"app": "web"}, spec=PodSpec(containers=[Container(name="a", image="a")]))
        slow.metadata.annotations = {"hollow.setpoint.io/stop-seconds": "20"}
        await world.create(slow)
        await world.settle()
        assert [len(subset.addresses) for subset in (await world.get(Endpoints, "web")).subsets] == [1]
        await world.client.delete(await world.get(Pod, "slow"))
        await advance(10)
        (result,) = await world.list(EndpointSlice, selector={LABEL: "web"})
        conditions = result.endpoints[0].conditions
        assert conditions is not None
        assert (conditions.ready, conditions.serving, conditions.terminating) == (published, True, True)
        assert [len(subset.addresses) for subset in (await world.get(Endpoints, "web")).subsets] == [1] * published
        await advance(15)
        (result,) = await world.list(EndpointSlice, selector={LABEL: "web"})
        assert result.endpoints == []
        assert (await world.get(Endpoints, "web")).subsets == []


@virtual_time
async def test_a_pod_without_the_port_of_that_name_is_in_no_endpoints() -> None:
    async with cluster() as world:
        await world.create(service(ports=[ServicePort(name="http", port=80, target_port="web")]))
        spec = PodSpec(containers=[Container(name="a", image="a")])
        await world.create(Pod.named("other", "default", {"app": "web"}, spec=spec))
        await world.settle()
        assert (await world.get(Endpoints, "web")).subsets == []


@virtual_time
async def test_ports_with_names_are_looked_up_in_each_pod() -> None:
    async with cluster() as world:
        await world.create(service(ports=[ServicePort(name="http", port=80, target_port="web")]))
        for number in (1, 2):
            port = ContainerPort(name="web", container_port=9000 + number)
            spec = PodSpec(containers=[Container(name="a", image="a", ports=[port])])
            await world.create(Pod.named(f"pod-{number}", "default", {"app": "web"}, spec=spec))
        await world.settle()
        endpoint_slices = await world.list(EndpointSlice, selector={LABEL: "web"})
        assert sorted(port.port or 0 for endpoint_slice in endpoint_slices for port in endpoint_slice.ports) == [
            9001,
            9002,
        ]
        assert len((await world.get(Endpoints, "web")).subsets) == 2


@virtual_time
async def test_what_a_service_had_goes_with_it_and_others_stay() -> None:
    async with cluster() as world:
        await world.create(service())
        await world.create(Endpoints.named("by-hand", "default"))
        await world.settle()
        assert await world.find(Endpoints, "web") is not None
        await world.delete(await world.get(Service, "web"))
        await world.settle()
        assert await world.find(Endpoints, "web") is None
        assert await world.list(EndpointSlice, namespace="default", selector={LABEL: "web"}) == []
        assert await world.find(Endpoints, "by-hand") is not None


@given(number=st.integers(0, 2**14), uid=st.uuids())
def test_the_addresses_of_nodes_and_pods_are_canonical(number: int, uid: UUID) -> None:
    for text in (*host_ips(number, (4, 6)), *pod_ips(str(uid), (4, 6))):
        assert str(ip_address(text)) == text
    for text in pod_cidrs(number, (4, 6)):
        assert str(ip_network(text)) == text


def test_an_address_of_a_pod_in_the_first_network_is_canonical() -> None:
    texts = [text for index in range(1000) for text in pod_ips(f"uid-{index}", (6,))]
    assert any(text.startswith("fd00:10:64::") for text in texts)
    assert [str(ip_address(text)) for text in texts] == texts


@virtual_time
@pytest.mark.parametrize(
    ("texts", "primary"), [(["10.0.0.0/24", "fd00::/112"], "."), (["fd00::/112", "10.0.0.0/24"], ":")]
)
async def test_a_dual_stack_service_has_a_slice_of_each_family(texts: list[str], primary: str) -> None:
    async with (
        ApiServer(service_networks=service_networks(texts)) as server,
        Client(InProcessTransport(server.handle)) as client,
        ControlPlane(client, server=server),
    ):
        await client.create(service(ip_family_policy="RequireDualStack"))
        await client.create(stateful_set(2))
        await advance(10)
        pods = await client.list(Pod, namespace="default")
        for pod in pods:
            assert [pod.status.pod_ip, pod.status.host_ip] == [pod.status.pod_ips[0].ip, pod.status.host_ips[0].ip]
            assert [primary in address.ip for address in pod.status.pod_ips] == [True, False]
        (node,) = await client.list(Node)
        assert [cidr.count("::") for cidr in node.spec.pod_cidrs] == ([0, 1] if primary == "." else [1, 0])
        slices = {item.address_type: item for item in await client.list(EndpointSlice, namespace="default")}
        for family, sign in (("IPv4", "."), ("IPv6", ":")):
            addresses = [address for endpoint in slices[family].endpoints for address in endpoint.addresses]
            assert addresses == [item.ip for pod in pods for item in pod.status.pod_ips if sign in item.ip]
        (subset,) = (await client.get(Endpoints, "web", namespace="default")).subsets
        assert {address.ip for address in subset.addresses} == {pod.status.pod_ip for pod in pods}
        await client.patch(Service, "web", {"spec": {"ipFamilyPolicy": "SingleStack"}}, namespace="default")
        await advance(10)
        (rest,) = await client.list(EndpointSlice, namespace="default")
        assert rest.address_type == ("IPv4" if primary == "." else "IPv6")
