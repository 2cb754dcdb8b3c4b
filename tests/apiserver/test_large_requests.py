"""Large requests are worked on in slices: other requests have their turn, and none sees half of a change.

In virtual time, in which no request is late however busy the machine is.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any

import pytest
from tests.apiserver.harness import (
    APPLY,
    CRDS,
    JSON_PATCH,
    MAPS,
    MERGE,
    MYKINDS,
    PODS,
    STRATEGIC,
    Answer,
    config_map,
    crd,
    crd_version,
    mykind,
    pod,
    serving,
)

from setpoint.apiserver import Request
from setpoint.apiserver.requests.body import parse_document
from setpoint.testing import virtual_time

pytest.importorskip("greenlet", reason="without it, work is done in one slice")

ONE = f"{MAPS}/big"
DATA = {f"key-{n}": "value" for n in range(8_000)}


def big(**fields: Any) -> dict[str, Any]:
    return config_map("big", **{"data": DATA, **fields})


async def turns(work: Coroutine[Any, Any, Answer]) -> tuple[Answer, int]:
    """The answer, and how often others had their turn meanwhile."""
    task = asyncio.ensure_future(work)
    count = 0
    while not task.done():
        await asyncio.sleep(0)
        count += 1
    return await task, count


async def begun(work: Coroutine[Any, Any, Answer]) -> asyncio.Task[Answer]:
    task = asyncio.ensure_future(work)
    for _ in range(3):
        await asyncio.sleep(0)
    assert not task.done()
    return task


@virtual_time
async def test_every_kind_of_large_write_gives_others_their_turn() -> None:
    async with serving() as api:
        made, count = await turns(api.post(MAPS, big()))
        assert made.status == 201
        assert count > 5
        changed = {**made.json, "data": {**DATA, "new": "x"}}
        for work in (
            api.put(ONE, changed),
            api.patch(ONE, {"metadata": {"labels": {"a": "b"}}}, MERGE),
            api.patch(ONE, [{"op": "add", "path": "/data/other", "value": "y"}], JSON_PATCH),
            api.patch(ONE, {"data": DATA}, STRATEGIC),
            api.apply(ONE, big()),
            api.apply(ONE, big(), "another"),
            api.apply(ONE, big(data=dict.fromkeys(DATA, "changed")), "third", force="true"),
            api.delete(ONE),
        ):
            answer, count = await turns(work)
            assert answer.status == 200, answer.body
            assert count > 2, answer.body[:100]


@virtual_time
async def test_white_space_and_yaml_are_read_in_slices_too() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: big}\ndata:\n" + "".join(
        f"  {key}: {value}\n" for key, value in DATA.items()
    )
    async with serving() as api:
        for body, kind in ((json.dumps(big(), indent=2), "application/json"), (text, "application/yaml")):
            answer, count = await turns(api.send("POST", MAPS, body.encode(), content_type=kind))
            assert answer.status == 201, answer.body
            assert answer.json["data"] == DATA
            assert count > 5
            (await api.delete(ONE)).ok()


@virtual_time
async def test_lists_tables_and_yaml_of_many_objects_give_others_their_turn() -> None:
    async with serving() as api:
        for n in range(1200):
            (await api.post(PODS, pod(f"p{n}", metadata={"labels": {"a": str(n % 2)}}))).ok()
        for accept in ("application/json;as=Table;v=v1;g=meta.k8s.io", "application/yaml", ""):
            headers = {"accept": accept} if accept else {}
            answer, count = await turns(api.send("GET", PODS, query={"labelSelector": "a=1"}, **headers))
            assert answer.status == 200
            assert count > 2
        answer, count = await turns(api.delete(PODS, gracePeriodSeconds="0"))
        assert len(answer.ok()["items"]) == 1200
        assert count > 10
        assert (await api.get(PODS)).ok()["items"] == []


@virtual_time
async def test_rules_that_cost_much_give_others_their_turn() -> None:
    rule = {"rule": "self.all(x, self.exists(y, y == x))"}
    values = {"type": "array", "maxItems": 200, "items": {"type": "integer"}, "x-kubernetes-validations": [rule]}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"values": values}}}}
    definition = crd(versions=[crd_version(schema={"openAPIV3Schema": schema}, subresources={})])
    async with serving() as api:
        (await api.post(CRDS, definition)).ok()
        small, count = await turns(api.post(MYKINDS, mykind("small", spec={"values": [1, 2]})))
        assert small.status == 201
        assert count <= 2
        large, count = await turns(api.post(MYKINDS, mykind("large", spec={"values": list(range(200))})))
        assert large.status == 201, large.body
        assert count > 5


@virtual_time
async def test_a_small_request_is_answered_while_a_large_one_is_worked_on() -> None:
    async with serving() as api:
        large = await begun(api.post(MAPS, big()))
        for n in range(3):
            (await api.post(MAPS, config_map(f"small-{n}", data={"a": "b"}))).ok()
        assert not large.done()
        assert (await api.get(ONE)).status == 404
        made = (await large).ok()
        assert int(made["metadata"]["resourceVersion"]) == api.revision


@virtual_time
async def test_a_large_patch_keeps_what_others_wrote_meanwhile() -> None:
    async with serving() as api:
        (await api.post(MAPS, big())).ok()
        large = await begun(api.patch(ONE, {"data": dict.fromkeys(DATA, "changed")}))
        (await api.patch(ONE, [{"op": "add", "path": "/data/new", "value": "x"}], JSON_PATCH)).ok()
        (await large).ok()
        found = (await api.get(ONE)).ok()
        assert found["data"] == {**dict.fromkeys(DATA, "changed"), "new": "x"}


@virtual_time
async def test_of_two_large_updates_from_one_revision_one_conflicts() -> None:
    async with serving() as api:
        made = (await api.post(MAPS, big())).ok()
        both = [api.put(ONE, {**made, "data": {**DATA, "by": name}}) for name in ("one", "other")]
        answers = sorted([answer.status for answer in await asyncio.gather(*both)])
        assert answers == [200, 409]


@virtual_time
async def test_of_two_large_creations_of_one_name_one_is_too_late() -> None:
    async with serving() as api:
        answers = await asyncio.gather(api.post(MAPS, big()), api.post(MAPS, big()))
        assert sorted([answer.status for answer in answers]) == [201, 409]


@virtual_time
async def test_nothing_is_created_in_a_namespace_that_went_meanwhile() -> None:
    async with serving() as api:
        (await api.post("/api/v1/namespaces", {"metadata": {"name": "gone"}})).ok()
        large = await begun(api.post("/api/v1/namespaces/gone/configmaps", big()))
        (await api.delete("/api/v1/namespaces/gone")).ok()
        (await large).failed(403, "Forbidden", "being terminated")


@virtual_time
async def test_nothing_is_stored_of_a_definition_that_went_meanwhile() -> None:
    async with serving() as api:
        (await api.post(CRDS, crd())).ok()
        large = await begun(api.post(MYKINDS, mykind(spec={"free": DATA})))
        (await api.delete(f"{CRDS}/mykinds.grp.example.com")).ok()
        assert (await large).status == 404
        assert api.server.storage.scan("mykinds.grp.example.com") == []


@virtual_time
async def test_a_large_request_that_others_disturb_all_the_time_gets_through() -> None:
    async with serving() as api:
        (await api.post(MAPS, big())).ok()
        large = asyncio.ensure_future(api.patch(ONE, {"data": dict.fromkeys(DATA, "changed")}))
        written = 0
        while not large.done():
            response = await api.server.handle(_label(written))
            assert response.status == 200
            written += 1
            await asyncio.sleep(0)
        assert set((await large).ok()["data"].values()) == {"changed"}


def _label(n: int) -> Request:
    body = json.dumps({"metadata": {"labels": {"n": str(n)}}}).encode()
    return Request("PATCH", "/api/v1/namespaces/default", (), {"content-type": MERGE}, body)


@virtual_time
async def test_a_client_that_goes_away_leaves_nothing_behind() -> None:
    async with serving() as api:
        revision = api.revision
        large = await begun(api.post(MAPS, big()))
        large.cancel()
        with pytest.raises(asyncio.CancelledError):
            await large
        assert api.revision == revision
        assert api.server.storage.get("configmaps", "default", "big") is None
        (await api.post(MAPS, big())).ok()


@virtual_time
async def test_a_watch_sees_a_large_write_once_and_whole() -> None:
    async with serving() as api:
        async with api.watch(MAPS, resourceVersion=str(api.revision)) as events:
            large = await begun(api.post(MAPS, big()))
            (await api.post(MAPS, config_map("small"))).ok()
            (await large).ok()
            found = await events.take(2)
        assert [obj["metadata"]["name"] for _, obj in found] == ["small", "big"]
        assert found[1][1]["data"] == DATA


@pytest.mark.parametrize("kind", [MERGE, APPLY])
@virtual_time
async def test_a_small_request_needs_no_turn(kind: str) -> None:
    async with serving() as api:
        (await api.post(MAPS, config_map(data={"a": "b"}))).ok()
        query = {"fieldManager": "me", "force": "true"} if kind == APPLY else {}
        _, count = await turns(api.patch(f"{MAPS}/web", config_map(data={"a": "c"}), kind, **query))
        assert count <= 2


MANY = [{"name": f"a{number}", "uid": f"b{number}", "key": f"c{number}"} for number in range(8_000)]
FIELDS = {f"key-{number}": f"value-{number}" for number in range(20_000)}


@pytest.mark.parametrize("huge", [MANY, FIELDS], ids=["list", "map"])
@pytest.mark.parametrize("field", ["name", "managedFields", "creationTimestamp", "ownerReferences", "finalizers"])
@virtual_time
async def test_what_is_huge_and_refused_gives_others_their_turn(field: str, huge: Any) -> None:
    metadata = {"name": "x", field: huge}
    async with serving() as api:
        (await api.post(CRDS, crd())).ok()
        for work in (
            api.post(MAPS, {"metadata": metadata}),
            api.post(MYKINDS, {"apiVersion": "grp.example.com/v1", "kind": "Mykind", "metadata": metadata}),
        ):
            answer, count = await turns(work)
            assert answer.status in (201, 400, 422), answer.body[:200]
            assert count > 2, answer.body[:100]


@virtual_time
async def test_thousands_of_addresses_in_a_status_give_others_their_turn() -> None:
    addresses = [{"type": "InternalIP", "address": f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}"} for n in range(16_000)]
    async with serving() as api:
        (await api.post("/api/v1/nodes", {"metadata": {"name": "n"}})).ok()
        for given, code in ((addresses, 200), ([*addresses, addresses[0]], 422)):
            answer, count = await turns(api.patch("/api/v1/nodes/n/status", {"status": {"addresses": given}}))
            assert answer.status == code, answer.body[:200]
            assert count > 5


@virtual_time
async def test_thousands_of_containers_that_are_all_wrong_are_refused_in_slices() -> None:
    async with serving() as api:
        answer, count = await turns(api.post(PODS, {"metadata": {"name": "x"}, "spec": {"containers": MANY}}))
    assert answer.status == 422
    assert "spec.containers[0].name" not in answer.json["message"]
    assert "more errors]" in answer.json["message"]
    assert count > 100


@pytest.mark.parametrize("text", ['{"data": {"a": "%s", "a": "b"}}', '{"data": {"%s": "1", "b": "2", "b" : "3"}}'])
@virtual_time
async def test_fields_given_twice_are_found_in_a_large_body_too(text: str) -> None:
    body = text.replace("%s", 'x\\" : {,:' * 20_000)
    async with serving() as api:
        answer = await api.send("POST", MAPS, body.encode(), query={"fieldValidation": "Strict"})
    assert answer.status == 400
    assert "duplicate field" in answer.json["message"]


def test_a_large_body_is_read_alike_whatever_stands_between_its_values() -> None:
    data = {"a": "b", "c": {"d": [{"e": '\\": \u00fc', "f": {}}, [], "x:y"]}, "g": "z" * 200_000}
    for indent in (None, 1):
        body = json.dumps(data, indent=indent, ensure_ascii=False).encode()
        assert parse_document(body, "application/json") == (data, [])
