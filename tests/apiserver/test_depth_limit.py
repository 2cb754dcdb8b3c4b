"""Objects nested deeply: what is accepted can be read, patched, printed and watched ever after; more is refused."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.apiserver.harness import (
    APPLY,
    CRDS,
    JSON_PATCH,
    MAPS,
    MERGE,
    MYKINDS,
    STRATEGIC,
    Answer,
    Api,
    crd,
    crd_version,
    serving,
)

from setpoint.apiserver import Request
from setpoint.apiserver.depth_limit import MAX_DEPTH
from setpoint.apiserver.webhooks.caller import Target
from setpoint.testing import virtual_time

T = TypeVar("T")
YAML = "application/yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"
AROUND = 4
"""Levels around what is deep: the object, its spec, the field, and an object in it."""
BOOKS = 5
"""Levels that managed fields lie deeper."""
STACK = 150
"""Calls that the server may be under already."""
DEPTHS = st.sampled_from([1, 50, MAX_DEPTH - AROUND - BOOKS]) | st.integers(1, 1200) | st.integers(1, 150_000)


async def under(calls: int, work: Awaitable[T]) -> T:
    return await (under(calls - 1, work) if calls else work)


def deep(depth: int, leaf: str = '"x"', *, lists: bool = False) -> str:
    """An object around objects, or objects and lists by turns."""
    half, rest = divmod(depth, 2)
    if lists:
        return '{"d":%s}' % ('[{"a":' * half + "[" * rest + leaf + "]" * rest + "}]" * half)
    return '{"d":%s}' % ('{"a":' * depth + leaf + "}" * depth)


def mykind(free: str, name: str = "one", kind: str = "Mykind") -> bytes:
    text = '{"apiVersion":"grp.example.com/v1","kind":"%s","metadata":{"name":"%s"},"spec":{"free":%s}}'
    return (text % (kind, name, free)).encode()


def revision(data: str) -> bytes:
    text = '{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"one"},"revision":1,"data":%s}'
    return (text % data).encode()


async def send(api: Api, method: str, path: str, body: bytes | None = None, kind: str = "", accept: str = "") -> Answer:
    path, _, query = path.partition("?")
    headers = {"content-type": kind or "application/json", "accept": accept or "*/*"}
    pairs = tuple(tuple(pair.split("=")) for pair in query.split("&") if pair)
    request = Request(method, path, pairs, headers, body)  # type: ignore[arg-type]
    response = await under(STACK, api.server.handle(request))
    return Answer(response.status, response.headers, response.body)


Change = Callable[[Api, str], Awaitable[Answer]]
ONE = f"{MYKINDS}/one"
CHANGES: dict[str, Change] = {
    "create": lambda api, v: send(api, "POST", MYKINDS, mykind(v, "new")),
    "create in YAML": lambda api, v: send(api, "POST", MYKINDS, b"#\n" + mykind(v, "new"), YAML),
    "merge patch": lambda api, v: send(api, "PATCH", ONE, b'{"spec":{"free":%s}}' % v.encode(), MERGE),
    "JSON patch": lambda api, v: send(
        api, "PATCH", ONE, b'[{"op":"add","path":"/spec/free","value":%s}]' % v.encode(), JSON_PATCH
    ),
    "apply of a new one": lambda api, v: send(api, "PATCH", f"{MYKINDS}/new?fieldManager=m", mykind(v, "new"), APPLY),
    "apply": lambda api, v: send(api, "PATCH", f"{ONE}?fieldManager=m&force=true", mykind(v), APPLY),
    "dry run": lambda api, v: send(api, "POST", f"{MYKINDS}?dryRun=All", mykind(v, "new")),
    "built-in": lambda api, v: send(api, "POST", REVISIONS, revision(v)),
    "a strategic patch of data that never change": lambda api, v: send(
        api, "PATCH", f"{REVISIONS}/there", revision(v).replace(b'"name":"one"', b'"name":"there"'), STRATEGIC
    ),
    "an unknown field": lambda api, v: send(
        api, "POST", MAPS, b'{"metadata":{"name":"a"},"zz":%s}' % v.encode()
    ),
    "a field of another type": lambda api, v: send(
        api, "POST", MAPS, b'{"metadata":{"name":"a"},"data":%s}' % v.encode()
    ),
    "options of a deletion": lambda api, v: send(api, "DELETE", f"{ONE}?dryRun=All", b'{"zz":%s}' % v.encode()),
    "a review": lambda api, v: send(
        api, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", b'{"spec":%s}' % v.encode()
    ),
}  # fmt: skip


async def furnished(api: Api) -> None:
    (await api.post(CRDS, crd())).ok()
    (await send(api, "POST", MYKINDS, mykind(deep(3)))).ok()
    there = revision("{}").replace(b'"name":"one"', b'"name":"there"')
    (await send(api, "POST", REVISIONS, there)).ok()


async def everything_works(api: Api, path: str, name: str) -> None:
    """All that can be done with a stored object."""
    there = f"{path}/{name}"
    raw = (await send(api, "GET", there)).body
    for accept in (YAML, TABLE):
        assert (await send(api, "GET", there, accept=accept)).status == 200
        assert (await send(api, "GET", f"{path}?includeObject=Object", accept=accept)).status == 200
    (await send(api, "GET", f"{there}?pretty=true")).ok()
    async with api.watch(path, timeoutSeconds="1") as events:
        seen = [(await events.next())[1]["metadata"]["name"] for _ in api.server.storage.scan(collection(path))]
        assert name in seen
    text = raw.replace(b'"x"', b'"y"') if path == MYKINDS else raw  # the data of a revision never change
    (await send(api, "PUT", there, text)).ok()
    (await send(api, "PATCH", there, b'{"metadata":{"labels":{"a":"b"}}}', MERGE)).ok()
    pointer = b'[{"op":"add","path":"/metadata/labels/c","value":"d"}]'
    (await send(api, "PATCH", there, pointer, JSON_PATCH)).ok()
    applied = json.loads(raw)
    for field in ("managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"):
        applied["metadata"].pop(field, None)
    (await send(api, "PATCH", f"{there}?fieldManager=n&force=true", msgspec.json.encode(applied), APPLY)).ok()
    (await send(api, "DELETE", there)).ok()


def collection(path: str) -> str:
    return "mykinds.grp.example.com" if path == MYKINDS else "controllerrevisions.apps"


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(depth=DEPTHS, lists=st.booleans(), name=st.sampled_from(sorted(CHANGES)))
@virtual_time
async def test_what_is_accepted_can_be_worked_with_and_more_is_refused(depth: int, lists: bool, name: str) -> None:
    async with serving() as api:
        await furnished(api)
        before = api.revision
        answer = await CHANGES[name](api, deep(depth, lists=lists))
        if depth <= MAX_DEPTH - AROUND - BOOKS and name in KEEPING:
            answer.ok()
        if depth > MAX_DEPTH + 8:
            assert answer.status in (400, 413, 422), answer.body
        assert answer.status < 500, answer.body
        if answer.status >= 400:
            assert api.revision == before
        for path in (MYKINDS, REVISIONS):
            for record in api.server.storage.scan(collection(path)):
                await everything_works(api, path, record.name)


KEEPING = frozenset(name for name in CHANGES if not name.startswith(("a ", "options")))


@virtual_time
async def test_depth_is_not_reached_in_steps_either() -> None:
    async with serving() as api:
        await furnished(api)
        steps = 0
        while steps < 100:
            path = "/spec/free/d" + "/a" * (3 + 40 * steps)
            value = json.loads(deep(40))["d"]
            add = json.dumps([{"op": "replace", "path": path, "value": value}]).encode()
            answer = await send(api, "PATCH", ONE, add, JSON_PATCH)
            if answer.status != 200:
                break
            steps += 1
        answer.failed(422, "Invalid", "exceeded max depth")
        assert 4 <= steps < 8
        doubling = [{"op": "copy", "from": "/spec", "path": "/spec/free" + "/d/a" + "/free/d/a" * n} for n in range(30)]
        answer = await send(api, "PATCH", ONE, json.dumps(doubling).encode(), JSON_PATCH)
        answer.failed(422, "Invalid")
        await everything_works(api, MYKINDS, "one")


def nested_schema(levels: int, inner: dict[str, Any]) -> dict[str, Any]:
    for _ in range(levels):
        inner = {"type": "object", "properties": {"a": inner}}
    return {"type": "object", "properties": {"spec": inner}}


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(levels=st.sampled_from([1, 100, 115]) | st.integers(1, 400), kept=st.booleans())
@virtual_time
async def test_deep_schemas_are_served_or_refused(levels: int, kept: bool) -> None:
    leaf = (
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True} if kept else {"type": "string", "default": "d"}
    )
    version = {**crd_version(), "schema": {"openAPIV3Schema": nested_schema(levels, leaf)}}
    version["additionalPrinterColumns"] = [{"name": "Deep", "type": "string", "jsonPath": ".spec" + ".a" * levels}]
    version.pop("subresources", None)
    async with serving() as api:
        answer = await send(api, "POST", CRDS, msgspec.json.encode(crd(versions=[version])))
        assert answer.status in (201, 400, 422), answer.body
        assert answer.status == 201 or levels > 115
        for path in ("/openapi/v2", "/openapi/v3/apis/grp.example.com/v1"):
            assert (await send(api, "GET", path)).status in (200, 404)
        if answer.status == 201:
            spec = '{"a":' * levels + ("{}" if kept else '"x"') + "}" * levels
            body = mykind("1").replace(b'{"free":1}', spec.encode())
            (await send(api, "POST", MYKINDS, body)).ok()
            await everything_works(api, MYKINDS, "one")
            (await send(api, "DELETE", f"{CRDS}/mykinds.grp.example.com")).ok()


class Nesting:
    """A webhook that nests deeply what it is asked about."""

    def __init__(self, depth: int) -> None:
        self.depth = depth

    async def call(self, target: Target, body: bytes, timeout: float) -> tuple[int, bytes]:
        review = json.loads(body)
        patch = b'[{"op":"add","path":"/spec/free","value":%s}]' % deep(self.depth).encode()
        response = {"uid": review["request"]["uid"], "allowed": True, "patchType": "JSONPatch"}
        response["patch"] = base64.b64encode(patch).decode()
        return 200, json.dumps({**review, "response": response}).encode()

    async def close(self) -> None: ...


@pytest.mark.parametrize("depth", [10, 230, 260, 300, 600, 100_000])
@virtual_time
async def test_what_a_webhook_nests_too_deeply_is_its_failure(depth: int) -> None:
    async with serving(webhook_caller=Nesting(depth)) as api:
        await furnished(api)
        rule = {"apiGroups": ["grp.example.com"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
        webhook = {
            "name": "a.example.com",
            "clientConfig": {"url": "https://localhost/x"},
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}
        path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
        (await api.post(path, {**kind, "metadata": {"name": "h"}, "webhooks": [webhook]})).ok()
        before = api.revision
        answer = await send(api, "POST", MYKINDS, mykind("1", "new"))
        if depth < 250:
            answer.ok()
        else:
            assert answer.status in (422, 500)
            assert "RecursionError" not in answer.json["message"]
            assert api.revision == before
        (await api.delete(f"{path}/h")).ok()
        for record in api.server.storage.scan("mykinds.grp.example.com"):
            await everything_works(api, MYKINDS, record.name)
