"""A conversation with one API server, written down so that it can be laid beside the same one with another."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from setpoint.client.transport import Request, Transport, TransportError

MERGE: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

_UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_WARNING: Final = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_REVISIONS: Final = (
    re.compile(r"(resource version: |current: )\d+"),
    re.compile(r"(ResourceVersion in (?:record|the precondition) \()\d+"),
)
# Texts that only a Go program can write (its files, dumps of its structs, the whole result of a patch), and
# addresses.
_GO_ONLY: Final = (
    (re.compile(r' in scheme "[^"]*"'), ""),
    (re.compile(r"\n@@ .*", re.DOTALL), ""),
    (re.compile(r"\b10\.(?:96\.\d+|0\.0)\.\d+\b"), "<ip>"),
    (re.compile(r'Invalid value: "(map\[|\{\\"apiVersion\\").*": ', re.DOTALL), "Invalid value: "),
)
_AGE: Final = re.compile(r"\d+s")
_GENERATED: Final = re.compile(r"\b(Bad_|x{58})[bcdfghjklmnpqrstvwxz2456789]{5}\b")
_VOLATILE: Final = {
    "continue": "<continue>",
    "clusterIP": "<ip>",
    "clusterIPs": ["<ip>"],
    "nodePort": "<port>",
    "token": "<token>",
    "retryAfterSeconds": "<seconds>",
    "storageVersionHash": "<hash>",
}


class Answer:
    """One answer: ``document`` is its body, decoded (None where there is none)."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        try:
            self.document: Any = json.loads(body) if body else None
        except ValueError:
            self.document = body.decode(errors="replace")

    @property
    def warnings(self) -> list[str]:
        return [text.replace('\\"', '"') for text in _WARNING.findall(self.headers.get("warning", ""))]

    def __getitem__(self, key: str) -> Any:
        return self.document[key]

    @property
    def uid(self) -> str:
        return str(self.metadata.get("uid", ""))

    @property
    def revision(self) -> str:
        return str(self.metadata.get("resourceVersion", ""))

    @property
    def metadata(self) -> dict[str, Any]:
        """Empty if there is none: a refused request must not end the conversation."""
        return (self.document.get("metadata") or {}) if isinstance(self.document, dict) else {}


class Talk:
    """Sends requests and keeps what was said, with all that no two servers can have in common taken out.

    ``{ns}`` in a path is the conversation's own namespace, which is made at the beginning. ``log`` has one entry a
    request: ``{"request", "status", "warnings", "body"}``.
    """

    def __init__(self, transport: Transport, namespace: str) -> None:
        self.transport = transport
        self.namespace = namespace
        self.log: list[dict[str, Any]] = []
        self._revisions: dict[str, str] = {}
        self._uids: dict[str, str] = {}
        self._names: dict[str, str] = {}

    async def begin(self) -> None:
        """Makes the namespace, and what a controller manager would put there."""
        result = await self._send("POST", "/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        if result.status not in (201, 409):
            raise RuntimeError(f"namespace {self.namespace} can't be made: {result.status} {result.body!r}")
        account = {"metadata": {"name": "default"}}
        await self._send("POST", f"/api/v1/namespaces/{self.namespace}/serviceaccounts", account)

    async def end(self) -> None:
        await self._send("DELETE", f"/api/v1/namespaces/{self.namespace}")

    async def _send(
        self, method: str, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None, **query: Any
    ) -> Answer:
        pairs: list[tuple[str, str]] = []
        for name, value in query.items():
            pairs += [(name.rstrip("_"), str(item)) for item in (value if isinstance(value, list) else [value])]
        given = {"accept": "application/json", "content-type": "application/json", "user-agent": "setpoint/1"}
        given.update(headers or {})
        raw = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if raw is not None:
            raw = raw.replace(b"{ns}", self.namespace.encode())
        path = path.replace("{ns}", self.namespace)
        request = Request(method, path, tuple(pairs), given, raw)
        async with self.transport.send(request) as response:
            return Answer(response.status, response.headers, await response.read())

    async def say(
        self, method: str, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None, **query: Any
    ) -> Answer:
        """One request. Parameters of the query by their names (a trailing underscore is dropped: ``continue_``)."""
        answer = await self._send(method, path, body, headers=headers, **query)
        self._note(method, path, query, answer.status, answer.warnings, answer.document)
        return answer

    async def get(self, path: str, **query: Any) -> Answer:
        return await self.say("GET", path, **query)

    async def table(self, path: str, **query: Any) -> Answer:
        """As kubectl gets it."""
        return await self.say("GET", path, headers={"accept": TABLE}, **query)

    async def post(self, path: str, body: Any, **query: Any) -> Answer:
        return await self.say("POST", path, body, **query)

    async def put(self, path: str, body: Any, **query: Any) -> Answer:
        return await self.say("PUT", path, body, **query)

    async def delete(self, path: str, body: Any = None, **query: Any) -> Answer:
        return await self.say("DELETE", path, body, **query)

    async def patch(self, path: str, body: Any, kind: str = MERGE, **query: Any) -> Answer:
        return await self.say("PATCH", path, body, headers={"content-type": kind}, **query)

    async def apply(self, path: str, body: Any, manager: str = "one", **query: Any) -> Answer:
        return await self.patch(path, body, APPLY, fieldManager=manager, **query)

    async def until(self, path: str, *, status: int = 200) -> None:
        """Waits, without writing it down, until a GET is answered so: what was defined a moment ago takes its time."""
        async with asyncio.timeout(30):
            while (await self._send("GET", path)).status != status:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.05)

    async def watch(self, path: str, count: int, **query: Any) -> list[dict[str, Any]]:
        """The first ``count`` events of a watch (fewer, where it ends before)."""
        place = path.replace("{ns}", self.namespace)
        pairs = tuple((name.rstrip("_"), str(value)) for name, value in {"watch": "true", **query}.items())
        events: list[dict[str, Any]] = []
        status = 0
        try:
            async with (
                asyncio.timeout(4),
                self.transport.send(
                    Request("GET", place, pairs, {"accept": "application/json"}, None, None)
                ) as response,
            ):
                status = response.status
                async for line in response.lines():
                    events.append(json.loads(line))
                    if len(events) == count:
                        break
        except (TimeoutError, TransportError):
            events.append({"type": "<nothing more came>"})
        self._note("WATCH", path, query, status, [], events)
        return events

    # -- The record

    def _note(
        self, method: str, path: str, query: Mapping[str, Any], status: int, warnings: list[str], document: Any
    ) -> None:
        said = ", ".join(f"{name}={self._said(name, value)}" for name, value in query.items())
        request = f"{method} {path}" + (f" ({said})" if said else "")
        self._collect(document)
        self.log.append(
            {
                "request": self._text(request),
                "status": status,
                "warnings": [self._text(text) for text in warnings],
                "body": self._normal(document),
            }
        )

    def _said(self, name: str, value: Any) -> Any:
        """A parameter; revisions and tokens are each server's own."""
        if name == "resourceVersion" and str(value) in self._revisions:
            return self._revisions[str(value)]
        if name == "resourceVersion" and str(value).isdecimal() and value not in ("0", "1") and len(str(value)) < 15:
            return "<rv>"
        return "<continue>" if name == "continue_" and len(str(value)) > 20 else value

    def _collect(self, value: Any) -> None:
        """Learns the uids, revisions and generated names in a document, in the order in which they turn up."""
        if isinstance(value, list):
            for item in value:
                self._collect(item)
        elif isinstance(value, dict):
            metadata = value.get("metadata")
            if isinstance(metadata, dict) and metadata.get("uid"):
                self._uids.setdefault(metadata["uid"], f"<uid {len(self._uids) + 1}>")
                self._revisions.setdefault(metadata.get("resourceVersion", ""), f"<rv {len(self._revisions) + 1}>")
                generated = metadata.get("generateName")
                if generated:
                    self._names.setdefault(metadata["name"], f"{generated}<{len(self._names) + 1}>")
            for item in value.values():
                self._collect(item)

    def _normal(self, value: Any, key: str = "") -> Any:
        if key == "causes" and isinstance(value, list):  # upstream some come twice, some in the order of a Go map
            causes = [self._normal(item) for item in value]
            return [json.loads(text) for text in sorted({json.dumps(cause, sort_keys=True) for cause in causes})]
        if isinstance(value, dict):
            return {
                self._text(name): self._normal(item, name)
                for name, item in value.items()
                if name != "managedFields" or item
            }
        if key in _VOLATILE and value not in ("", "None", None, ["None"]):
            return _VOLATILE[key]
        if key == "cells" and isinstance(value, list):
            return ["<age>" if isinstance(cell, str) and _AGE.fullmatch(cell) else self._normal(cell) for cell in value]
        if isinstance(value, list):
            return [self._normal(item) for item in value]
        if not isinstance(value, str):
            return value
        if key == "resourceVersion":
            return self._revisions.get(value, "<rv>") if value else value
        return self._text(value)

    def _text(self, text: str) -> str:
        for pattern, short in _GO_ONLY:
            text = pattern.sub(short, text)
        text = text.replace(self.namespace, "NS")
        text = _UID.sub(lambda result: self._uids.get(result[0], "<uid>"), text)
        for name, short in self._names.items():
            text = text.replace(name, short)
        text = _GENERATED.sub(r"\1<5>", text)
        for pattern in _REVISIONS:
            text = pattern.sub(r"\1<rv>", text)
        return _TIME.sub("<time>", text)
