"""Addresses and networks that programs read differently are refused, as by a kube-apiserver; stored ones may stay."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from tests.apiserver.harness import PODS, Api, pod, serving

from setpoint.apiserver.strategies.addresses import address_errors, cidr_errors, special_errors

NODES = "/api/v1/nodes"
SERVICES = "/api/v1/namespaces/default/services"
POLICIES = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
RANGES = "/apis/networking.k8s.io/v1/servicecidrs"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
ANNOTATION = "service.beta.kubernetes.io/load-balancer-source-ranges"
NOT_A_NETWORK = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
NOT_AN_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NETWORKS = [
    ("10.2.0.1/24", "must not have bits set beyond the prefix length"),
    ("fe80::1/64", "must not have bits set beyond the prefix length"),
    ("010.2.0.0/24", "must not have leading 0s in IP or prefix length"),
    ("10.2.0.0/024", "must not have leading 0s in IP or prefix length"),
    ("::ffff:10.2.0.0/120", "must not have an IPv4-mapped IPv6 address"),
    ("10.2.0.0/255.255.255.0", NOT_A_NETWORK),
    ("fe80::%1/64", NOT_A_NETWORK),
    ("10.2.0.0", NOT_A_NETWORK),
]


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with serving() as api:
        yield api


def node(network: str) -> dict[str, Any]:
    return {"metadata": {"name": "one"}, "spec": {"podCIDRs": [network]}}


def balanced(network: str) -> dict[str, Any]:
    spec = {"type": "LoadBalancer", "ports": [{"port": 80}], "loadBalancerSourceRanges": [network]}
    return {"metadata": {"name": "one"}, "spec": spec}


def annotated(network: str) -> dict[str, Any]:
    spec = {"type": "LoadBalancer", "ports": [{"port": 80}]}
    return {"metadata": {"name": "one", "annotations": {ANNOTATION: network}}, "spec": spec}


def policy(network: str) -> dict[str, Any]:
    peers = [{"ipBlock": {"cidr": network}}]
    return {"metadata": {"name": "one"}, "spec": {"podSelector": {}, "ingress": [{"from": peers}]}}


def service_range(network: str) -> dict[str, Any]:
    return {"metadata": {"name": "one"}, "spec": {"cidrs": [network]}}


@pytest.mark.parametrize(
    ("path", "expected", "field"),
    [
        (NODES, node, "spec.podCIDRs[0]"),
        (SERVICES, balanced, "spec.LoadBalancerSourceRanges[0]"),
        (SERVICES, annotated, f"metadata.annotations[{ANNOTATION}]"),
        (POLICIES, policy, "spec.ingress[0].from[0].ipBlock.cidr"),
        (RANGES, service_range, "spec.cidrs[0]"),
    ],
)
async def test_a_network_has_one_meaning(
    api: Api, path: str, expected: Callable[[str], dict[str, Any]], field: str
) -> None:
    for network, why in NETWORKS:
        (await api.post(path, expected(network))).failed(422, "Invalid", f'{field}: Invalid value: "{network}": {why}')
    (await api.post(path, expected("10.2.0.0/24"))).ok()


async def test_networks_of_services_are_in_one_form(api: Api) -> None:
    refused = await api.post(RANGES, service_range("fd00:0abc::/64"))
    refused.failed(422, "Invalid", 'must be in canonical form ("fd00:abc::/64")')


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("010.1.1.1", "must not have leading 0s"),
        ("::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address"),
        ("fe80::1%1", NOT_AN_ADDRESS),
        ("1.2.3", NOT_AN_ADDRESS),
        ("٠.1.1.1", NOT_AN_ADDRESS),
    ],
)
async def test_an_address_has_one_meaning(api: Api, address: str, why: str) -> None:
    wrong = f'"{address}": {why}'
    service = {"metadata": {"name": "one"}, "spec": {"ports": [{"port": 80}], "externalIPs": [address]}}
    (await api.post(SERVICES, service)).failed(422, "Invalid", f"spec.externalIPs[0]: Invalid value: {wrong}")
    service["spec"] = {"ports": [{"port": 80}], "clusterIP": address}
    (await api.post(SERVICES, service)).failed(422, "Invalid", f"spec.clusterIPs[0]: Invalid value: {wrong}")
    aliased = pod()
    aliased["spec"]["hostAliases"] = [{"ip": address, "hostnames": ["a"]}]
    (await api.post(PODS, aliased)).failed(422, "Invalid", f"spec.hostAliases[0].ip: Invalid value: {wrong}")
    kind = "IPv6" if ":" in address else "IPv4"
    slice_ = {"metadata": {"name": "one"}, "addressType": kind, "endpoints": [{"addresses": [address]}]}
    (await api.post(SLICES, slice_)).failed(422, "Invalid", f"endpoints[0].addresses[0]: Invalid value: {wrong}")


async def test_a_pods_address_is_never_half_set(api: Api) -> None:
    new_pod = (await api.post(PODS, pod())).ok()
    new_pod["status"]["podIPs"] = [{}]
    refused = await api.put(f"{PODS}/web/status", new_pod)
    refused.failed(422, "Invalid", '[{"IP":""}]: podIP and podIPs must either both be set or both be unset')


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("0.0.0.0", "may not be unspecified"),
        ("::ffff:0.0.0.0", "may not be unspecified"),
        ("127.0.0.2", "may not be in the loopback range"),
        ("::ffff:127.0.0.1", "may not be in the loopback range"),
        ("169.254.1.1", "may not be in the link-local range"),
        ("::ffff:169.254.1.1", "may not be in the link-local range"),
        ("fe80::1", "may not be in the link-local range"),
        ("224.0.0.5", "may not be in the link-local multicast range"),
        ("::ffff:224.0.0.5", "may not be in the link-local multicast range"),
        ("ff02::1", "may not be in the link-local multicast range"),
        ("ff12::1", "may not be in the link-local multicast range"),
        ("224.0.1.1", ""),
        ("239.1.1.1", ""),
        ("ff05::1", ""),
    ],
)
def test_special_addresses_are_those_of_go(address: str, why: str) -> None:
    errors = [str(error) for error in special_errors(address, "spec.externalIPs[0]")]
    assert len(errors) == (1 if why else 0)
    assert all(why in error for error in errors)


def test_what_an_object_has_already_may_stay() -> None:
    assert not address_errors("010.1.1.1", "spec.externalIPs[0]", ["010.1.1.1"])
    assert not cidr_errors("10.2.0.1/24", "spec.cidr", {"10.2.0.1/24"})
