"""The generation of an object counts what upstream counts as a change."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apiserver.harness import PODS, pod, serving

SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


@pytest.mark.parametrize("left", [None, [], [{"key": "x", "operator": "Exists"}]])
async def test_tolerations_that_a_plugin_adds_again_are_not_a_change(left: list[Any] | None) -> None:
    async with serving() as api:
        new_pod = (await api.post(PODS, pod("p", spec={"tolerations": left}))).ok()
        new_pod["spec"]["tolerations"] = left
        assert (await api.put(f"{PODS}/p", new_pod)).ok()["metadata"]["generation"] == 1


async def test_the_topology_of_an_endpoint_counts_though_it_is_dropped() -> None:
    body: dict[str, Any] = {"addressType": "IPv4", "endpoints": [{"addresses": ["1.2.3.4"]}]}
    async with serving() as api:
        endpoint_slice = (await api.post(SLICES, {"metadata": {"name": "e"}, **body})).ok()
        endpoint_slice["endpoints"][0]["deprecatedTopology"] = {"a": "b"}
        again = (await api.put(f"{SLICES}/e", endpoint_slice)).ok()
    assert again["metadata"]["generation"] == 2
    assert "deprecatedTopology" not in again["endpoints"][0]
