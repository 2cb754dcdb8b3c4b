"""A server in this process and a short way to talk to it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from random import Random
from typing import Any

from setpoint.apiserver import Access, ApiServer, Request, Storage

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MYKINDS = "/apis/grp.example.com/v1/namespaces/default/mykinds"


class Answer:
    def __init__(self, status: int, headers: dict[str, str], body: Any) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def ok(self) -> Any:
        """The document of an answer that must be a success."""
        assert self.status in (200, 201), (self.status, self.body)
        return self.json

    def failed(self, code: int, reason: str, *words: str) -> Any:
        """The Status, which must say this."""
        status = self.json
        assert status["kind"] == "Status", status
        assert status["apiVersion"] == "v1"
        assert (self.status, status["code"], status.get("reason", "")) == (code, code, reason), status
        assert status["status"] == "Failure"
        for word in words:
            assert word in status["message"], status["message"]
        return status

    @property
    def warnings(self) -> str:
        return self.headers.get("warning", "")


class Api:
    def __init__(self, server: ApiServer) -> None:
        self.server = server

    @property
    def revision(self) -> int:
        return self.server.storage.revision

    async def send(
        self, method: str, path: str, body: Any = None, *, query: dict[str, Any] | None = None, **headers: str
    ) -> Answer:
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        pairs = []
        for name, value in (query or {}).items():
            pairs += [(name, str(item)) for item in (value if isinstance(value, list) else [value])]
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        response = await self.server.handle(Request(method, path, tuple(pairs), names, raw))
        return Answer(response.status, response.headers, response.body)

    async def get(self, path: str, **query: Any) -> Answer:
        return await self.send("GET", path, query=query)

    async def post(self, path: str, obj: Any, **query: Any) -> Answer:
        return await self.send("POST", path, obj, query=query)

    async def put(self, path: str, obj: Any, **query: Any) -> Answer:
        return await self.send("PUT", path, obj, query=query)

    async def delete(self, path: str, body: Any = None, **query: Any) -> Answer:
        return await self.send("DELETE", path, body, query=query)

    async def patch(self, path: str, body: Any, kind: str = MERGE, **query: Any) -> Answer:
        return await self.send("PATCH", path, body, query=query, content_type=kind)

    async def apply(self, path: str, body: Any, manager: str = "tester", **query: Any) -> Answer:
        return await self.patch(path, body, APPLY, fieldManager=manager, **query)

    @asynccontextmanager
    async def watch(self, path: str, **query: Any) -> AsyncIterator[Events]:
        answer = await self.get(path, watch="true", **query)
        assert answer.status == 200, answer.body
        try:
            yield Events(answer.body)
        finally:
            await answer.body.aclose()


class Events:
    """A watch's events one by one."""

    def __init__(self, body: Any) -> None:
        self._body = body
        self._lines: list[bytes] = []

    async def next(self) -> tuple[str, Any]:
        while not self._lines:
            self._lines = (await anext(self._body)).splitlines()
        event = json.loads(self._lines.pop(0))
        return event["type"], event["object"]

    async def take(self, count: int) -> list[tuple[str, Any]]:
        return [await self.next() for _ in range(count)]

    async def rest(self) -> list[tuple[str, Any]]:
        results = []
        while True:
            try:
                results.append(await self.next())
            except StopAsyncIteration:
                return results


@asynccontextmanager
async def serving(storage: Storage | None = None, **options: Any) -> AsyncIterator[Api]:
    options.setdefault("now", lambda: NOW)
    access = Access(**{name: options.pop(name) for name in Access.__struct_fields__ if name in options})
    async with ApiServer(storage=storage, random=Random(7), access=access, **options) as server:
        yield Api(server)


def pod(name: str = "web", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **fields.pop("metadata", {})}
    spec = {"containers": [{"name": "main", "image": "busybox"}], **fields.pop("spec", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, **fields}


def config_map(name: str = "web", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **fields}


def deployment(name: str = "web", **spec: Any) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "nginx:1.27"}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec},
    }


def crd(*, versions: list[dict[str, Any]] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "mykinds.grp.example.com"},
        "spec": {
            "group": "grp.example.com",
            "scope": "Namespaced",
            "names": {"plural": "mykinds", "kind": "Mykind", "shortNames": ["mk"]},
            "versions": versions or [crd_version()],
            **spec,
        },
    }


def crd_version(name: str = "v1", *, storage: bool = True, **fields: Any) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "numpods": {"type": "integer", "minimum": 0, "default": 1},
                    "color": {"type": "string", "enum": ["red", "green"]},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            },
            "status": {"type": "object", "properties": {"ready": {"type": "integer"}, "selector": {"type": "string"}}},
        },
    }
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.numpods",
                "statusReplicasPath": ".status.ready",
                "labelSelectorPath": ".status.selector",
            },
        },
        **fields,
    }


def mykind(name: str = "one", version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": f"grp.example.com/{version}", "kind": "Mykind", "metadata": {"name": name}, **fields}
