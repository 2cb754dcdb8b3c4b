from __future__ import annotations

from typing import Any

from tests.apiserver.harness import serving

SERVICES = "/api/v1/namespaces/default/services"


def service(name: str, *ports: int, **spec: Any) -> dict[str, Any]:
    if ports:
        spec["ports"] = [{"name": f"p{port}", "port": port} for port in ports]
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


async def test_a_service_gets_what_was_left_out() -> None:
    async with serving() as api:
        new_service = (await api.post(SERVICES, service("a", 80, selector={"app": "web"}))).ok()
        assert new_service["spec"] == {
            "type": "ClusterIP",
            "clusterIP": "10.96.0.10",
            "clusterIPs": ["10.96.0.10"],
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
            "sessionAffinity": "None",
            "selector": {"app": "web"},
            "ports": [{"name": "p80", "port": 80, "protocol": "TCP", "targetPort": 80}],
        }
        assert new_service["status"] == {"loadBalancer": {}}


async def test_addresses_and_node_ports_are_given_once_and_again_when_they_are_free() -> None:
    async with serving() as api:
        specs = [(await api.post(SERVICES, service(name, 80, 81, type="NodePort"))).ok()["spec"] for name in "abc"]
        assert [spec["clusterIP"] for spec in specs] == ["10.96.0.10", "10.96.0.11", "10.96.0.12"]
        ports = [port["nodePort"] for spec in specs for port in spec["ports"]]
        assert ports == list(range(30000, 30006))
        await api.delete(f"{SERVICES}/b")
        again = (await api.post(SERVICES, service("d", 80, type="LoadBalancer"))).ok()["spec"]
        assert (again["clusterIP"], again["ports"][0]["nodePort"]) == ("10.96.0.11", 30002)


async def test_an_update_that_leaves_them_out_keeps_address_and_node_ports() -> None:
    async with serving() as api:
        before = (await api.post(SERVICES, service("a", 80, type="NodePort"))).ok()["spec"]
        after = (await api.put(f"{SERVICES}/a", service("a", 80, 81, type="NodePort"))).ok()["spec"]
        assert after["clusterIPs"] == before["clusterIPs"]
        assert [port["nodePort"] for port in after["ports"]] == [30000, 30001]
        inside = (await api.patch(f"{SERVICES}/a", {"spec": {"type": "ClusterIP"}})).ok()["spec"]
        assert inside["clusterIPs"] == before["clusterIPs"]
        assert not any("nodePort" in port for port in inside["ports"])
        outside = {"spec": {"type": "ExternalName", "externalName": "a.example", "clusterIP": None, "clusterIPs": None}}
        named = (await api.patch(f"{SERVICES}/a", outside)).ok()["spec"]
        assert "clusterIP" not in named


async def test_headless_services_have_no_address() -> None:
    async with serving() as api:
        spec = (await api.post(SERVICES, service("a", clusterIP="None"))).ok()["spec"]
        assert (spec["clusterIP"], spec["clusterIPs"]) == ("None", ["None"])


async def test_what_a_service_can_not_be_is_refused_with_its_field() -> None:
    async with serving() as api:
        await api.post(SERVICES, service("a", 80))
        change = await api.patch(f"{SERVICES}/a", {"spec": {"clusterIP": "10.96.1.1", "clusterIPs": ["10.96.1.1"]}})
        change.failed(422, "Invalid", "spec.clusterIPs[0]", "may not change once set")
        refused = {
            "spec.type: Unsupported value": service("b", 80, type="Magic"),
            "spec.ports: Required value": service("b"),
            "spec.externalName: Required value": service("b", type="ExternalName"),
            "spec.ports[0].port: Invalid value: 70000": service("b", 70000),
            "spec.clusterIPs[0]: Invalid value": service("b", 80, clusterIP="nonsense"),
            "provided IP is already allocated": service("b", 80, clusterIP="10.96.0.10"),
            "spec.ports[1].name: Required value": service("b", ports=[{"name": "x", "port": 1}, {"port": 2}]),
            "metadata.name: Invalid value": service("b_", 80),
        }
        for words, obj in refused.items():
            (await api.post(SERVICES, obj)).failed(422, "Invalid", words)
        assert len((await api.get(SERVICES)).ok()["items"]) == 1


async def test_an_external_name_has_no_policy_for_internal_traffic() -> None:
    async with serving() as api:
        created = (await api.post(SERVICES, service("a", ports=[{"port": 80}]))).ok()
        assert created["spec"]["internalTrafficPolicy"] == "Cluster"
        changed = (await api.patch(f"{SERVICES}/a", {"spec": {"type": "ExternalName", "externalName": "x.y"}})).ok()
        assert "internalTrafficPolicy" not in changed["spec"]
        changed = (await api.patch(f"{SERVICES}/a", {"spec": {"type": "ClusterIP", "externalName": None}})).ok()
        assert changed["spec"]["internalTrafficPolicy"] == "Cluster"
        unknown = service("b", type="ExternalName", externalName="x.y", internalTrafficPolicy="Odd")
        (await api.post(SERVICES, unknown)).failed(422, "Invalid", "spec.internalTrafficPolicy: Unsupported value")
