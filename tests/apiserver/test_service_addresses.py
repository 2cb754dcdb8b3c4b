"""The addresses that the server gives to services, and those that it refuses, as a kube-apiserver 1.37 does."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any

import pytest
from tests.apiserver.harness import Api, serving

SERVICES = "/api/v1/namespaces/default/services"
IP_ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
CIDRS = "/apis/networking.k8s.io/v1/servicecidrs"


def service(name: str = "web", **spec: Any) -> dict[str, Any]:
    ports = [{"port": 80}]
    return {"metadata": {"name": name}, "spec": {"ports": ports, "selector": {"a": "b"}, **spec}}


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        ({"clusterIP": "x"}, "spec.clusterIPs[0]", "must be a valid IP address"),
        ({"clusterIPs": ["10.96.0.9"]}, "spec.clusterIPs", "must be empty when `clusterIP` is not specified"),
        ({"clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.8"]}, "spec.clusterIPs", "first value must match"),
        ({"clusterIP": "None", "clusterIPs": ["None", "10.96.0.8"]}, "spec.clusterIPs", "'None' must be the first"),
        ({"clusterIP": "fd00::1"}, "spec.clusterIPs[0]", "IPv6 is not configured on this cluster"),
        ({"clusterIP": "10.96.0.9", "ipFamilies": ["IPv6"]}, "spec.clusterIPs[0]", "expected an IPv6 value"),
        ({"ipFamilies": ["IPv6"]}, "spec.ipFamilies[0]", "not configured on this cluster"),
        ({"ipFamilies": ["IPv4", "IPv4"]}, "spec.ipFamilies[1]", "Duplicate value"),
        ({"ipFamilies": ["IPv5"]}, "spec.ipFamilies[0]", 'supported values: "IPv4", "IPv6"'),
        ({"ipFamilies": ["IPv4", "IPv6"]}, "spec.ipFamilyPolicy", "when multiple IP families are specified"),
        ({"ipFamilyPolicy": "RequireDualStack"}, "spec.ipFamilyPolicy", "not configured for dual-stack services"),
        ({"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]}, "spec.ports[0].nodePort", "30000-32767"),
        (
            {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30007}]},
            "spec.ports[0].nodePort",
            "already allocated",
        ),
        ({"clusterIP": "10.95.255.255"}, "spec.clusterIPs", "the provided network does not match the current range"),
        ({"clusterIP": "10.96.0.0"}, "spec.clusterIPs", "failed to allocate IP 10.96.0.0: the provided network"),
        ({"clusterIP": "10.111.255.255"}, "spec.clusterIPs", "the provided network does not match the current range"),
        ({"clusterIP": "10.96.0.1"}, "spec.clusterIPs", "failed to allocate IP 10.96.0.1: provided IP is already"),
    ],
)
async def test_what_can_not_be_had_is_refused_alone(spec: dict[str, Any], field: str, words: str) -> None:
    async with serving() as api:
        taken = service("other", type="NodePort", clusterIP="10.96.0.1", ports=[{"port": 1, "nodePort": 30007}])
        (await api.post(SERVICES, taken)).ok()
        bad = {**spec, "sessionAffinity": "Nonsense"}
        status = (await api.post(SERVICES, service(**bad))).failed(422, "Invalid", words)
        assert [cause["field"] for cause in status["details"]["causes"]] == [field]


async def test_an_address_may_be_of_any_network_of_services() -> None:
    async with serving() as api:
        (await api.post(SERVICES, service(clusterIP="10.111.255.254"))).ok()
        wanted = service("more", clusterIP="192.168.7.7")
        (await api.post(SERVICES, wanted)).failed(422, "Invalid", "the provided network does not match")
        cidrs = {"metadata": {"name": "more"}, "spec": {"cidrs": ["192.168.7.0/24", "fd00::/64"]}}
        (await api.post(CIDRS, cidrs)).ok()
        (await api.post(SERVICES, wanted)).ok()


async def test_a_dry_run_checks_the_range_of_an_address_only() -> None:
    async with serving() as api:
        (await api.post(SERVICES, service(clusterIP="10.96.0.9"))).ok()
        (await api.post(SERVICES, service("two", clusterIP="10.96.0.9"), dryRun="All")).ok()
        words = "the provided IP (1.1.1.1) is not in the valid range. The range of valid IPs is 10.96.0.0/12"
        (await api.post(SERVICES, service("two", clusterIP="1.1.1.1"), dryRun="All")).failed(422, "Invalid", words)


async def test_a_service_that_finds_no_free_port_is_told_so() -> None:
    async with serving() as api:
        ports = [{"name": f"p{number}", "port": number} for number in range(1, 2769)]
        (await api.post(SERVICES, service("all", type="NodePort", ports=ports))).ok()
        words = "failed to allocate a nodePort: range is full"
        (await api.post(SERVICES, service(type="NodePort"))).failed(500, "InternalError", words)
        local = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "allocateLoadBalancerNodePorts": False}
        words = "failed to allocate a HealthCheck NodePort 0: range is full"
        (await api.post(SERVICES, service(**local))).failed(500, "InternalError", words)
        (await api.post(SERVICES, service())).ok()


async def test_addresses_are_in_the_network_of_the_server() -> None:
    async with serving(service_networks=[IPv4Network("10.0.0.0/24")]) as api:
        assert (await api.post(SERVICES, service())).ok()["spec"]["clusterIP"] == "10.0.0.10"
        (await api.post(SERVICES, service("high", clusterIP="10.0.0.254"))).ok()
        (await api.post(SERVICES, service("other", clusterIP="10.96.0.9"))).failed(422, "Invalid", "does not match")
        words = "The range of valid IPs is 10.0.0.0/24"
        (await api.post(SERVICES, service(clusterIP="10.96.0.9"), dryRun="All")).failed(422, "Invalid", words)


async def test_no_address_is_given_of_a_network_that_is_not_ready_or_is_deleted() -> None:
    async with serving(service_networks=[IPv4Network("10.0.0.0/29")]) as api:
        for number in range(1, 7):
            (await api.post(SERVICES, service(f"s{number}"))).ok()
        cidr = {"metadata": {"name": "more", "finalizers": ["a.b/c"]}, "spec": {"cidrs": ["fd00::/64", "10.1.0.0/29"]}}
        (await api.post(CIDRS, cidr)).ok()
        condition = {"type": "Ready", "reason": "x", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for status in ("False", "True"):
            conditions = {"status": {"conditions": [{**condition, "status": status}]}}
            (await api.patch(f"{CIDRS}/more/status", conditions)).ok()
            new_service = await api.post(SERVICES, service(f"more-{status.lower()}"))
            wanted = await api.post(SERVICES, service(f"own-{status.lower()}", clusterIP="10.1.0.5"))
            if status == "True":
                assert new_service.ok()["spec"]["clusterIP"] == "10.1.0.1"
                wanted.ok()
            else:
                new_service.failed(
                    500, "InternalError", 'failed to allocate a serviceIP for Service "more-false": range is full'
                )
                wanted.failed(422, "Invalid", "the provided network does not match the current range")
        (await api.delete(f"{CIDRS}/more")).ok()
        (await api.post(SERVICES, service("late"))).failed(500, "InternalError", "range is full")


async def test_a_service_that_finds_no_free_address_is_told_so() -> None:
    async with serving(service_networks=[IPv4Network("10.96.0.0/28")]) as api:
        for number in (*range(10, 15), *range(1, 10)):
            new_service = (await api.post(SERVICES, service(f"s{number}"))).ok()
            assert new_service["spec"]["clusterIP"] == f"10.96.0.{number}"
        words = 'failed to allocate a serviceIP for Service "web": range is full'
        (await api.post(SERVICES, service())).failed(500, "InternalError", words)


async def test_a_headless_service_without_pods_has_both_families() -> None:
    async with serving() as api:
        spec = (await api.post(SERVICES, service(clusterIP="None", selector=None))).ok()["spec"]
        assert (spec["clusterIPs"], spec["ipFamilies"], spec["ipFamilyPolicy"]) == (
            ["None"],
            ["IPv4", "IPv6"],
            "RequireDualStack",
        )


async def test_balancers_that_keep_traffic_local_get_a_port_for_health_checks() -> None:
    async with serving() as api:
        local = {"type": "LoadBalancer", "externalTrafficPolicy": "Local"}
        new_service = (await api.post(SERVICES, service(**local))).ok()
        port = new_service["spec"]["healthCheckNodePort"]
        assert 30000 <= port <= 32767
        assert port != new_service["spec"]["ports"][0]["nodePort"]
        new_service["spec"].pop("healthCheckNodePort")
        new_service["spec"]["sessionAffinity"] = "ClientIP"
        kept = (await api.put(f"{SERVICES}/web", new_service)).ok()
        assert kept["spec"]["healthCheckNodePort"] == port
        kept["spec"]["healthCheckNodePort"] = port + 1
        (await api.put(f"{SERVICES}/web", kept)).failed(422, "Invalid", "spec.healthCheckNodePort: Forbidden")
        change = {"spec": {"type": "ClusterIP"}}
        plain = (await api.patch(f"{SERVICES}/web", change)).ok()["spec"]
        assert not {"healthCheckNodePort", "externalTrafficPolicy", "allocateLoadBalancerNodePorts"} & plain.keys()
        assert "nodePort" not in plain["ports"][0]


async def test_a_name_of_elsewhere_has_no_address() -> None:
    async with serving() as api:
        external = {"type": "ExternalName", "externalName": "example.com."}
        spec = (await api.post(SERVICES, service(**external))).ok()["spec"]
        assert not {"clusterIP", "clusterIPs", "ipFamilies"} & spec.keys()
        bad = service("bad", **external, clusterIP="10.96.0.9", ipFamilies=["IPv4"])
        status = (await api.post(SERVICES, bad)).failed(422, "Invalid", "may not be set for ExternalName services")
        assert [cause["field"] for cause in status["details"]["causes"]] == ["spec.clusterIPs", "spec.ipFamilies"]
        back = (await api.patch(f"{SERVICES}/web", {"spec": {"type": "ClusterIP", "externalName": None}})).ok()["spec"]
        assert back["clusterIP"].startswith("10.")


async def test_node_ports_stay_with_their_names() -> None:
    async with serving() as api:
        ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
        new_service = (await api.post(SERVICES, service(type="NodePort", ports=ports))).ok()
        numbers = [port["nodePort"] for port in new_service["spec"]["ports"]]
        new_service["spec"]["ports"] = [{"name": "b", "port": 90}, {"name": "a", "port": 80}]
        after = (await api.put(f"{SERVICES}/web", new_service)).ok()["spec"]["ports"]
        assert [port["nodePort"] for port in after] == [*reversed(numbers)]


async def test_the_address_may_not_move() -> None:
    async with serving() as api:
        new_service = (await api.post(SERVICES, service())).ok()
        await moved(api, new_service, "10.96.0.99")
        new_service["spec"] |= {"clusterIP": "10.96.0.99", "clusterIPs": ["10.96.0.99"]}
        (await api.put(f"{SERVICES}/web", new_service)).failed(
            422, "Invalid", "spec.clusterIPs[0]", "may not change once set"
        )


async def moved(api: Api, obj: dict[str, Any], address: str) -> None:
    """Said in one of the two fields it counts for both."""
    changed = {**obj, "spec": {**obj["spec"], "clusterIP": address}}
    (await api.put(f"{SERVICES}/web", changed)).failed(422, "Invalid", "may not change once set")


async def addresses(api: Api) -> list[str]:
    return [item["metadata"]["name"] for item in (await api.get(IP_ADDRESSES)).ok()["items"]]


async def test_a_service_has_an_ip_address_object_as_long_as_it_has_the_address() -> None:
    async with serving() as api:
        created = (await api.post(SERVICES, service(clusterIP="10.96.201.7"))).ok()
        place = (await api.get(f"{IP_ADDRESSES}/10.96.201.7")).ok()
        assert place["spec"] == {"parentRef": {"resource": "services", "namespace": "default", "name": "web"}}
        assert place["metadata"]["labels"] == {
            "ipaddress.kubernetes.io/ip-family": "IPv4",
            "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
        }
        assert int(place["metadata"]["resourceVersion"]) < int(created["metadata"]["resourceVersion"])
        external = {**created, "spec": {"type": "ExternalName", "externalName": "a.example.com"}}
        outside = (await api.put(f"{SERVICES}/web", external)).ok()
        assert await addresses(api) == []
        (await api.put(f"{SERVICES}/web", {**outside, "spec": {"ports": [{"port": 80}]}})).ok()
        assert await addresses(api) == ["10.96.0.10"]
        (await api.delete(f"{SERVICES}/web")).ok()
        assert await addresses(api) == []


async def test_headless_services_and_refused_ones_have_no_ip_address_objects() -> None:
    async with serving() as api:
        (await api.post(SERVICES, service(clusterIP="None"))).ok()
        (await api.post(SERVICES, service("dry"), dryRun="All")).ok()
        (await api.post(SERVICES, service("bad", sessionAffinity="Nonsense"))).failed(422, "Invalid", "sessionAffinity")
        (await api.post(SERVICES, service("web"))).failed(409, "AlreadyExists", "already exists")
        (await api.post(SERVICES, service(""))).failed(422, "Invalid", "name or generateName is required")
        outside = service("outside", type="ExternalName", externalName="a.example.com", clusterIPs=["x"])
        (await api.post(SERVICES, outside)).failed(422, "Invalid", "clusterIPs")
        assert await addresses(api) == []


async def test_an_address_with_an_ip_address_object_of_another_is_taken() -> None:
    async with serving() as api:
        parent = {"resource": "services", "namespace": "default", "name": "other"}
        for address in ("10.96.0.10", "10.96.0.20"):
            place = {"metadata": {"name": address}, "spec": {"parentRef": parent}}
            (await api.post(IP_ADDRESSES, place)).ok()
        wanted = service("web", clusterIP="10.96.0.20")
        (await api.post(SERVICES, wanted)).failed(422, "Invalid", "provided IP is already allocated")
        created = (await api.post(SERVICES, service("web"))).ok()
        assert created["spec"]["clusterIP"] == "10.96.0.11"
        (await api.delete(f"{SERVICES}/web")).ok()
        assert await addresses(api) == ["10.96.0.10", "10.96.0.20"]
