"""Large requests: what they may hold, and that others are answered while the server works on them."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import Callable
from typing import Any, Final

import pytest
from tests.apiserver.harness import APPLY, CRDS, MAPS, MYKINDS, PODS, config_map, crd, mykind, serving

from setpoint.apiserver import ApiServer, Request
from setpoint.apiserver.http_types import Peer, Response
from setpoint.apiserver.requests.body import LARGE
from setpoint.testing import virtual_time

SLICES: Final = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
PEER: Final = Peer("192.0.2.1")
KEYS: Final = LARGE // 8
PATIENCE: Final = 20.0
"""Seconds for which a thread waits, so that a test fails in place of waiting forever."""


def large_map() -> dict[str, Any]:
    return config_map(data={f"k{number}": "v" for number in range(KEYS)})


def request(path: str, document: Any, method: str = "POST", *, peer: Peer | None = PEER) -> Request:
    apply = method == "PATCH"
    headers = {"content-type": APPLY if apply else "application/json"}
    query = (("fieldManager", "me"), ("fieldValidation", "Warn")) if apply else (("fieldValidation", "Warn"),)
    return Request(method, path, query, headers, json.dumps(document).encode(), peer=peer)


async def answer(response: Response) -> tuple[int, Any, str]:
    assert isinstance(response.body, bytes)
    return response.status, json.loads(response.body), response.headers.get("warning", "")


@pytest.mark.parametrize("step", ["default", "validate"])
@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_others_are_answered_while_a_large_request_is_worked_on(
    step: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ApiServer() as server:
        served = server.registry.find("", "v1", "configmaps")
        assert served is not None
        original: Callable[..., Any] = getattr(served.strategy, step)
        reached, answered = threading.Event(), threading.Event()

        def wait(*arguments: Any) -> Any:
            reached.set()
            assert answered.wait(PATIENCE), "no other request was answered"
            return original(*arguments)

        monkeypatch.setattr(served.strategy, step, wait)
        path = MAPS if method == "POST" else f"{MAPS}/{large_map()['metadata']['name']}"
        large = asyncio.create_task(server.handle(request(path, large_map(), method)))
        assert await asyncio.to_thread(reached.wait, PATIENCE)
        try:
            assert (await server.handle(Request("GET", "/readyz"))).status == 200
            small = await server.handle(request(PODS.replace("pods", "secrets"), {"metadata": {"name": "small"}}))
            assert small.status == 201
            assert not large.done()
        finally:
            answered.set()
        assert (await large).status == 201


@pytest.mark.parametrize(
    ("path", "document"),
    [
        (MAPS, {**large_map(), "other": 1}),
        (MAPS, {**large_map(), "data": {f"k{number}": number for number in range(KEYS)}}),
        (MAPS, {**large_map(), "metadata": {"name": "A b"}}),
        (MYKINDS, {**mykind(), "spec": {"numpods": 3, "other": "a" * LARGE}}),
        (MYKINDS, {**mykind(), "spec": {"numpods": "a" * LARGE}}),
    ],
)
@virtual_time
async def test_a_large_request_from_the_network_has_the_answer_of_one_from_this_process(
    path: str, document: Any
) -> None:
    answers = []
    for peer in (PEER, None):
        async with serving() as api:
            (await api.post(CRDS, crd())).ok()
            status, body, warnings = await answer(await api.server.handle(request(path, document, peer=peer)))
            for name in ("uid", "resourceVersion"):
                body["metadata"].pop(name, None)
            answers.append((status, body, warnings))
    assert answers[0] == answers[1]


@virtual_time
async def test_requests_of_this_process_need_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> Any:
        raise AssertionError("a thread was started")

    monkeypatch.setattr(asyncio, "to_thread", refuse)
    async with serving() as api:
        assert (await api.server.handle(request(MAPS, large_map(), peer=None))).status == 201


@pytest.mark.parametrize("name", ["large", "A b"])
@virtual_time
async def test_garbage_is_not_collected_during_a_large_request_and_is_after_it(name: str) -> None:
    collections: list[str] = []

    def note(phase: str, details: dict[str, int]) -> None:
        collections.append(phase)

    document = {**large_map(), "metadata": {"name": name}}
    async with serving() as api:
        large = request(MAPS, document, peer=None)
        gc.collect()
        gc.callbacks.append(note)
        try:
            response = await api.server.handle(large)
            during = [*collections]
        finally:
            gc.callbacks.remove(note)
    assert response.status == (201 if name == "large" else 422)
    assert len(during) <= 2  # before and after the work: the server makes other objects, too
    assert gc.isenabled()


@pytest.mark.parametrize(("size", "status"), [(1_500_000, 201), (1_600_000, 413)])
@virtual_time
async def test_a_custom_object_may_have_as_many_bytes_as_etcd_stores(size: int, status: int) -> None:
    async with serving() as api:
        (await api.post(CRDS, crd())).ok()
        document = mykind(spec={"numpods": 3}, metadata={"name": "one", "annotations": {}})
        definition = await api.get(f"{CRDS}/mykinds.grp.example.com")
        definition = definition.ok()
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
        }
        (await api.put(f"{CRDS}/mykinds.grp.example.com", definition)).ok()
        document["spec"]["text"] = "a" * size
        assert (await api.post(MYKINDS, document)).status == status


@virtual_time
async def test_the_limit_for_kinds_that_are_stored_as_protobuf_leaves_room_for_json() -> None:
    async with serving() as api:
        (await api.post(MAPS, config_map(data={"lines": "\n" * 1_000_000}))).ok()  # two bytes each


@virtual_time
async def test_an_object_that_is_too_large_with_its_defaults_is_not_validated(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> Any:
        raise AssertionError("it was validated")

    async with serving() as api:
        served = api.server.registry.find("", "v1", "pods")
        assert served is not None
        monkeypatch.setattr(served.strategy, "validate", refuse)
        containers = [{"name": f"c{number}", "image": "b"} for number in range(12_000)]
        too_large = {"metadata": {"name": "many"}, "spec": {"containers": containers}}
        (await api.post(PODS, too_large)).failed(413, "RequestEntityTooLarge", "the limit is 3145728")


@pytest.mark.parametrize(("count", "status"), [(1000, 201), (1001, 422)])
@virtual_time
async def test_an_endpoint_slice_has_at_most_a_thousand_endpoints(count: int, status: int) -> None:
    async with serving() as api:
        endpoints = [{"addresses": [f"10.0.{number // 256}.{number % 256}"]} for number in range(count)]
        document = {"metadata": {"name": "many"}, "addressType": "IPv4", "endpoints": endpoints}
        response = await api.post(SLICES, document)
        assert response.status == status
        if status == 422:
            response.failed(422, "Invalid", "endpoints: Too many: 1001: must have at most 1000 items")
