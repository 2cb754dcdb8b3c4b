"""Services of a server with networks of both IP families have the families and addresses that a kube-apiserver 1.37
gives them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.apiserver.harness import Api, serving

from setpoint.apiserver import SqliteStorage
from setpoint.apiserver.resources.service_networks import service_networks

SERVICES = "/api/v1/namespaces/default/services"
IP_ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
IPV4, IPV6 = "10.0.0.0/24", "fd00::/112"
V4, V6 = ["IPv4"], ["IPv6"]
BOTH, REVERSE = ["IPv4", "IPv6"], ["IPv6", "IPv4"]
SINGLE, PREFER, REQUIRE = ({"ipFamilyPolicy": word} for word in ("SingleStack", "PreferDualStack", "RequireDualStack"))
HEADLESS: dict[str, Any] = {"clusterIP": "None"}
NO_SELECTOR: dict[str, Any] = {"selector": None}


def service(name: str = "web", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], "selector": {"a": "b"}, **spec}}


async def post(api: Api, **spec: Any) -> dict[str, Any]:
    return dict((await api.post(SERVICES, service(**spec))).ok()["spec"])


async def ip_addresses(api: Api) -> list[str]:
    return [item["metadata"]["name"] for item in (await api.get(IP_ADDRESSES)).ok()["items"]]


@pytest.mark.parametrize(
    ("networks", "spec", "policy", "families", "addresses"),
    [
        ([IPV4, IPV6], {}, "SingleStack", V4, ["10.0.0.10"]),
        ([IPV4, IPV6], PREFER, "PreferDualStack", BOTH, ["10.0.0.10", "fd00::a"]),
        ([IPV4, IPV6], REQUIRE, "RequireDualStack", BOTH, ["10.0.0.10", "fd00::a"]),
        ([IPV4, IPV6], {"ipFamilies": V6}, "SingleStack", V6, ["fd00::a"]),
        ([IPV4, IPV6], {**PREFER, "ipFamilies": V6}, "PreferDualStack", REVERSE, ["fd00::a", "10.0.0.10"]),
        ([IPV4, IPV6], {**REQUIRE, "ipFamilies": REVERSE}, "RequireDualStack", REVERSE, ["fd00::a", "10.0.0.10"]),
        ([IPV4, IPV6], {"clusterIP": "fd00::9"}, "SingleStack", V6, ["fd00::9"]),
        ([IPV4, IPV6], {"clusterIP": "fd00::ffff"}, "SingleStack", V6, ["fd00::ffff"]),
        ([IPV4, IPV6], {**PREFER, "clusterIP": "fd00::9"}, "PreferDualStack", REVERSE, ["fd00::9", "10.0.0.10"]),
        (
            [IPV4, IPV6],
            {**PREFER, "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9", "fd00::9"]},
            "PreferDualStack",
            BOTH,
            ["10.0.0.9", "fd00::9"],
        ),
        ([IPV4, IPV6], {**PREFER, "type": "NodePort"}, "PreferDualStack", BOTH, ["10.0.0.10", "fd00::a"]),
        ([IPV4, IPV6], HEADLESS, "SingleStack", V4, ["None"]),
        ([IPV4, IPV6], {**HEADLESS, **PREFER}, "PreferDualStack", BOTH, ["None"]),
        ([IPV4, IPV6], {**HEADLESS, **NO_SELECTOR}, "RequireDualStack", BOTH, ["None"]),
        ([IPV4, IPV6], {**HEADLESS, **NO_SELECTOR, "ipFamilies": V6}, "RequireDualStack", REVERSE, ["None"]),
        ([IPV4, IPV6], {**HEADLESS, **NO_SELECTOR, **SINGLE, "ipFamilies": V6}, "SingleStack", V6, ["None"]),
        ([IPV6, IPV4], {}, "SingleStack", V6, ["fd00::a"]),
        ([IPV6, IPV4], PREFER, "PreferDualStack", REVERSE, ["fd00::a", "10.0.0.10"]),
        ([IPV6, IPV4], {**HEADLESS, **NO_SELECTOR}, "RequireDualStack", REVERSE, ["None"]),
        ([IPV6], {}, "SingleStack", V6, ["fd00::a"]),
        ([IPV6], PREFER, "PreferDualStack", V6, ["fd00::a"]),
        ([IPV6], {**HEADLESS, **NO_SELECTOR}, "RequireDualStack", REVERSE, ["None"]),
        ([IPV4], PREFER, "PreferDualStack", V4, ["10.0.0.10"]),
        ([IPV4], {**HEADLESS, **PREFER}, "PreferDualStack", V4, ["None"]),
    ],
)
async def test_a_new_service_has_the_families_of_its_policy(
    networks: list[str], spec: dict[str, Any], policy: str, families: list[str], addresses: list[str]
) -> None:
    async with serving(service_networks=service_networks(networks)) as api:
        created = await post(api, **spec)
        assert (created["ipFamilyPolicy"], created["ipFamilies"], created["clusterIPs"]) == (
            policy,
            families,
            addresses,
        )
        assert created["clusterIP"] == addresses[0]
        assert await ip_addresses(api) == sorted(address for address in addresses if address != "None")


@pytest.mark.parametrize(
    ("networks", "spec", "field", "words"),
    [
        ([IPV4, IPV6], {"ipFamilies": BOTH}, "spec.ipFamilyPolicy", "when multiple IP families are specified"),
        (
            [IPV4, IPV6],
            {"clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9", "fd00::9"]},
            "spec.ipFamilyPolicy",
            "when multiple cluster IPs are specified",
        ),
        (
            [IPV4, IPV6],
            {**PREFER, "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9", "10.0.0.8"]},
            "spec.clusterIPs",
            "may specify no more than one IP for each IP family",
        ),
        (
            [IPV4, IPV6],
            {**PREFER, "ipFamilies": REVERSE, "clusterIP": "10.0.0.9"},
            "spec.clusterIPs[0]",
            "expected an IPv6 value as indicated by `ipFamilies[0]`",
        ),
        (
            [IPV4, IPV6],
            {**PREFER, "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9", "fd01::9"]},
            "spec.clusterIPs",
            "failed to allocate IP fd01::9: the provided network does not match the current range",
        ),
        (
            [IPV4, IPV6],
            {"clusterIP": "fd00:0::7"},
            "spec.clusterIPs",
            "failed to allocate IP fd00:0::7: provided IP is already allocated",
        ),
        ([IPV4, IPV6], {"clusterIP": "fd00::"}, "spec.clusterIPs", "the provided network does not match"),
        ([IPV6], {"ipFamilies": V4}, "spec.ipFamilies[0]", "not configured on this cluster"),
        ([IPV6], {"clusterIP": "10.0.0.9"}, "spec.clusterIPs[0]", "IPv4 is not configured on this cluster"),
        ([IPV6], REQUIRE, "spec.ipFamilyPolicy", "this cluster is not configured for dual-stack services"),
    ],
)
async def test_families_and_addresses_that_contradict_each_other_are_refused(
    networks: list[str], spec: dict[str, Any], field: str, words: str
) -> None:
    async with serving(service_networks=service_networks(networks)) as api:
        (await api.post(SERVICES, service("other", clusterIP="fd00::7"))).ok()
        status = (await api.post(SERVICES, service(**spec))).failed(422, "Invalid", words)
        assert [cause["field"] for cause in status["details"]["causes"]] == [field]
        assert await ip_addresses(api) == ["fd00::7"]


@pytest.mark.parametrize(
    ("before", "change", "families", "addresses"),
    [
        ({}, REQUIRE, BOTH, ["10.0.0.10", "fd00::a"]),
        ({}, PREFER, BOTH, ["10.0.0.10", "fd00::a"]),
        ({}, {**REQUIRE, "clusterIPs": ["10.0.0.10", "fd00::9"]}, BOTH, ["10.0.0.10", "fd00::9"]),
        ({}, {**REQUIRE, "ipFamilies": BOTH}, BOTH, ["10.0.0.10", "fd00::a"]),
        ({"ipFamilies": V6}, PREFER, REVERSE, ["fd00::a", "10.0.0.10"]),
        (REQUIRE, SINGLE, V4, ["10.0.0.10"]),
        (REQUIRE, {**SINGLE, "clusterIPs": ["10.0.0.10"], "ipFamilies": V4}, V4, ["10.0.0.10"]),
        (REQUIRE, {**SINGLE, "clusterIPs": ["10.0.0.10"]}, V4, ["10.0.0.10"]),
        (REQUIRE, {**SINGLE, "ipFamilies": V4}, V4, ["10.0.0.10"]),
        (REQUIRE, PREFER, BOTH, ["10.0.0.10", "fd00::a"]),
        (REQUIRE, {"selector": {"a": "c"}}, BOTH, ["10.0.0.10", "fd00::a"]),
        ({**HEADLESS, **PREFER}, {"ipFamilies": REVERSE}, REVERSE, ["None"]),
        (HEADLESS, REQUIRE, BOTH, ["None"]),
        (
            {"type": "ExternalName", "externalName": "a.b"},
            {**REQUIRE, "type": "ClusterIP"},
            BOTH,
            ["10.0.0.10", "fd00::a"],
        ),
        (REQUIRE, {"type": "ExternalName", "externalName": "a.b"}, None, None),
    ],
)
async def test_a_policy_that_changes_gives_and_releases_the_second_address(
    before: dict[str, Any], change: dict[str, Any], families: list[str] | None, addresses: list[str] | None
) -> None:
    async with serving(service_networks=service_networks([IPV4, IPV6])) as api:
        await post(api, **before)
        spec = (await api.patch(f"{SERVICES}/web", {"spec": change})).ok()["spec"]
        assert (spec.get("ipFamilies"), spec.get("clusterIPs")) == (families, addresses)
        assert await ip_addresses(api) == sorted(address for address in addresses or () if address != "None")
        (await api.delete(f"{SERVICES}/web")).ok()
        assert await ip_addresses(api) == []


@pytest.mark.parametrize(
    ("before", "change", "field", "words"),
    [
        (REQUIRE, {"clusterIPs": ["10.0.0.10"]}, "spec.ipFamilyPolicy", "to release the secondary cluster IP"),
        (REQUIRE, {"ipFamilies": V4}, "spec.ipFamilyPolicy", "to release the secondary IP family"),
        (REQUIRE, {"clusterIPs": ["10.0.0.10", "fd00::9"]}, "spec.clusterIPs[1]", "may not change once set"),
        (REQUIRE, {"ipFamilies": REVERSE}, "spec.clusterIPs[0]", "expected an IPv6 value"),
        ({}, {**REQUIRE, "clusterIPs": ["10.0.0.10", "fd01::9"]}, "spec.clusterIPs", "failed to allocate IP fd01::9"),
        ({}, {"ipFamilies": BOTH}, "spec.ipFamilyPolicy", "when multiple IP families are specified"),
    ],
)
async def test_an_update_that_takes_an_address_away_must_name_the_policy(
    before: dict[str, Any], change: dict[str, Any], field: str, words: str
) -> None:
    async with serving(service_networks=service_networks([IPV4, IPV6])) as api:
        await post(api, **before)
        existing = await ip_addresses(api)
        status = (await api.patch(f"{SERVICES}/web", {"spec": change})).failed(422, "Invalid", words)
        assert field in [cause["field"] for cause in status["details"]["causes"]]
        assert await ip_addresses(api) == existing


async def test_a_server_that_becomes_dual_stack_leaves_its_services_alone(tmp_path: Path) -> None:
    async with serving(storage=SqliteStorage(tmp_path), service_networks=service_networks([IPV4])) as api:
        await post(api, **PREFER)
    networks = service_networks([IPV4, IPV6])
    async with serving(storage=SqliteStorage(tmp_path), service_networks=networks, default_objects=True) as api:
        spec = (await api.patch(f"{SERVICES}/web", {"metadata": {"labels": {"a": "b"}}})).ok()["spec"]
        assert (spec["ipFamilies"], spec["clusterIPs"]) == (V4, ["10.0.0.10"])
        spec = (await api.patch(f"{SERVICES}/web", {"spec": REQUIRE})).ok()["spec"]
        assert (spec["ipFamilies"], spec["clusterIPs"]) == (BOTH, ["10.0.0.10", "fd00::a"])


@pytest.mark.parametrize("second", [[IPV4, IPV6], [IPV4]])
async def test_the_default_range_gains_the_second_network(tmp_path: Path, second: list[str]) -> None:
    for networks in ([IPV4], second):
        storage = SqliteStorage(tmp_path)
        async with serving(storage=storage, service_networks=service_networks(networks), default_objects=True) as api:
            cidr = (await api.get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes")).ok()
            assert cidr["spec"]["cidrs"] == networks


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["x"], "'x' is not a network of at least 8 addresses: give 10.96.0.0/12"),
        (["10.0.0.0/30"], "'10.0.0.0/30' is not a network of at least 8 addresses"),
        (["10.0.0.0/24", "10.1.0.0/24"], "both networks are of the family IPv4"),
        ([IPV4, IPV6, IPV4], "there are 3 networks"),
    ],
)
def test_networks_that_do_not_fit_are_refused(texts: list[str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        service_networks(texts)
