"""``/metrics``: what the server says of its requests, under a kube-apiserver's names."""

from __future__ import annotations

import json
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from tests.apiserver.harness import MAPS, config_map

from setpoint.apiserver import ApiServer, Peer, Request


async def ask(server: ApiServer, method: str, path: str, body: Any = None, *, query: Any = (), **headers: str) -> Any:
    sent = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = None if body is None else json.dumps(body).encode()
    return await server.handle(Request(method, path, query, sent, raw, peer=Peer()))


async def scraped(server: ApiServer) -> dict[str, dict[tuple[str, ...], float]]:
    """Values by metric, then by verb, resource, scope and code or bound."""
    answer = await ask(server, "GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(answer.body.decode()):
        for sample in family.samples:
            names = ("verb", "resource", "subresource", "scope", "code", "le", "request_kind")
            key = tuple(sample.labels[name] for name in names if name in sample.labels)
            found.setdefault(sample.name, {})[key] = sample.value
    return found


async def test_each_request_from_the_network_is_counted_with_its_code_and_time() -> None:
    async with ApiServer() as server:
        await ask(server, "POST", MAPS, config_map("a"))
        await ask(server, "POST", MAPS, config_map("a"))
        await ask(server, "PATCH", f"{MAPS}/b", config_map("b"), query=(("fieldManager", "m"),),
                  content_type="application/apply-patch+yaml")  # fmt: skip
        await ask(server, "GET", MAPS)
        await ask(server, "DELETE", f"{MAPS}/a")
        watch = await ask(server, "GET", MAPS, query=(("watch", "true"),))
        found = await scraped(server)
        await watch.body.aclose()
    total = found["apiserver_request_total"]
    assert total["POST", "configmaps", "", "resource", "201"] == 1
    assert total["POST", "configmaps", "", "resource", "409"] == 1
    assert total["APPLY", "configmaps", "", "resource", "201"] == 1
    assert total["LIST", "configmaps", "", "namespace", "200"] == 1
    assert total["DELETE", "configmaps", "", "resource", "200"] == 1
    counted = found["apiserver_request_duration_seconds_count"]
    assert counted["POST", "configmaps", "", "resource"] == 2
    assert found["apiserver_longrunning_requests"]["WATCH", "configmaps"] == 1
    assert found["apiserver_current_inflight_requests"] == {("mutating",): 0, ("readOnly",): 1}


async def test_a_client_can_make_no_labels_up() -> None:
    async with ApiServer() as server:
        for number in range(50):
            await ask(server, "GET", f"/apis/x{number}/v1/y{number}")
            await ask(server, "GET", f"/nowhere/{number}")
            await ask(server, f"VERB{number}", "/version")
            await ask(server, "GET", f"{MAPS}/a/sub{number}")
        found = await scraped(server)
    assert len(found["apiserver_request_total"]) <= 5


async def test_requests_of_this_process_are_not_counted() -> None:
    async with ApiServer() as server:
        await server.handle(Request("GET", MAPS, (), {}, None))
        found = await scraped(server)
    assert "apiserver_request_total" not in found
