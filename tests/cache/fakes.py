"""Servers for tests: a scripted one that does what it is told, and a small honest one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from setpoint.client.errors import error_from
from setpoint.client.transport import Response, TransportError

Query = dict[str, str]


def pod(name: str, *, version: int, namespace: str = "default", uid: str = "", owner: str = "", **extra: Any) -> Any:
    """A pod as plain JSON values, in the order in which Go writes it."""
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "uid": uid or f"uid-{name}",
        "resourceVersion": str(version),
    }
    if "labels" in extra:
        metadata["labels"] = extra.pop("labels")
    if owner:
        metadata["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "owner", "uid": owner, "controller": True}
        ]
    metadata.update(extra.pop("metadata", {}))
    if extra.pop("managed", True):
        metadata["managedFields"] = [
            {
                "manager": "test",
                "operation": "Update",
                "apiVersion": "v1",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:spec": {"f:nodeName": {}}},
            }
        ]
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": metadata,
        "spec": {"nodeName": extra.pop("node", "node-1"), "containers": [{"name": "main", "image": "busybox"}]},
        "status": {"phase": extra.pop("phase", "Running")},
    }


def to_bytes(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def event(type: str, document: Any) -> bytes:
    return to_bytes({"type": type, "object": document}) + b"\n"


def bookmark(version: int | str, *, end: bool = False) -> bytes:
    metadata: dict[str, Any] = {"resourceVersion": str(version), "creationTimestamp": None}
    if end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return event("BOOKMARK", {"kind": "Pod", "apiVersion": "v1", "metadata": metadata})


def status(code: int, reason: str, message: str = "", causes: Iterable[Any] = ()) -> Any:
    document: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message or reason,
        "reason": reason,
        "code": code,
    }
    if causes:
        document["details"] = {"causes": list(causes)}
    return document


def pod_list(items: Iterable[Any], version: int | str, *, token: str = "") -> bytes:
    metadata = {"resourceVersion": str(version)}
    if token:
        metadata["continue"] = token
    bare = [{name: value for name, value in item.items() if name not in ("kind", "apiVersion")} for item in items]
    return to_bytes({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": bare})


def refusal(code: int, reason: str, message: str = "", causes: Iterable[Any] = ()) -> Exception:
    return error_from(code, to_bytes(status(code, reason, message, causes)), verb="list", resource="pods")


def refused() -> TransportError:
    return TransportError("connection refused", sent=False)


def broken(*, timed_out: bool = False) -> TransportError:
    return TransportError("connection reset by peer", sent=True, reset=not timed_out, timed_out=timed_out)


class Stream:
    """The body of one answer: what is sent to it, until it is closed or broken."""

    def __init__(self, *chunks: bytes, close: bool = False) -> None:
        self._queue: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        self.closed_by_client = False
        self.reads = 0
        self.send(*chunks)
        if close:
            self.close()

    def send(self, *chunks: bytes) -> None:
        for chunk in chunks:
            self._queue.put_nowait(chunk)

    def close(self) -> None:
        self._queue.put_nowait(None)

    def fail(self, problem: Exception) -> None:
        self._queue.put_nowait(problem)

    async def next(self) -> bytes | None:
        self.reads += 1
        taken = await self._queue.get()
        if isinstance(taken, Exception):
            raise taken
        return taken


class FakeResponse(Response):
    def __init__(self, stream: Stream, idle_timeout: float | None) -> None:
        self.status = 200
        self.headers = {}
        self._stream = stream
        self.idle_timeout = idle_timeout

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            try:
                async with asyncio.timeout(self.idle_timeout):
                    chunk = await self._stream.next()
            except TimeoutError:
                raise broken(timed_out=True) from None
            if chunk is None:
                return
            yield chunk


class ReceivedRequest:
    """One request as the server saw it."""

    def __init__(self, path: str, query: Query, accept: str, at: float) -> None:
        self.path = path
        self.query = query
        self.accept = accept
        self.at = at

    @property
    def is_watch(self) -> bool:
        return self.query.get("watch") == "true"

    @property
    def is_streamed_list(self) -> bool:
        return "sendInitialEvents" in self.query

    @property
    def version(self) -> str:
        return self.query.get("resourceVersion", "")


class ScriptedSource:
    """Answers each request with the next line of the script: an exception, a body, or a `Stream`.

    After the script's end, requests wait forever.
    """

    def __init__(self, *script: Exception | bytes | Stream) -> None:
        self.script = list(script)
        self.requests: list[ReceivedRequest] = []
        self.open = 0

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        *,
        query: tuple[tuple[str, str], ...] = (),
        accept: str = "application/json",
        idle_timeout: float | None = None,
        verb: str = "",
    ) -> AsyncIterator[Response]:
        assert method == "GET"
        self.requests.append(ReceivedRequest(path, dict(query), accept, asyncio.get_running_loop().time()))
        step = self.script.pop(0) if self.script else Stream()
        if isinstance(step, Exception):
            raise step
        stream = Stream(step, close=True) if isinstance(step, bytes) else step
        self.open += 1
        try:
            yield FakeResponse(stream, idle_timeout)
        finally:
            self.open -= 1
            stream.closed_by_client = True

    @property
    def lists(self) -> list[ReceivedRequest]:
        return [request for request in self.requests if not request.is_watch]

    @property
    def watches(self) -> list[ReceivedRequest]:
        return [request for request in self.requests if request.is_watch]


class FakeServer:
    """Pods in memory, with versions, a bounded log, paging, bookmarks and streamed lists."""

    def __init__(self, *, window: int = 1000, streams_lists: bool = True, answers_pages: bool = False) -> None:
        self.objects: dict[str, Any] = {}
        self.version = 10
        self.log: list[tuple[int, str, Any]] = []
        self.window = window
        self.streams_lists = streams_lists
        self.answers_pages = answers_pages
        self.requests: list[ReceivedRequest] = []
        self.watchers: list[tuple[Stream, Query]] = []
        self.gate: list[Exception] = []
        self.chunk = 1 << 16
        self.oldest = 0
        self._pages: dict[str, tuple[list[Any], int]] = {}

    def put(self, name: str, *, namespace: str = "default", **extra: Any) -> Any:
        self.version += 1
        key = f"{namespace}/{name}"
        expected = self.objects.get(key)
        uid = extra.pop("uid", "") or (expected["metadata"]["uid"] if expected else f"uid-{name}-{self.version}")
        document = pod(name, namespace=namespace, version=self.version, uid=uid, **extra)
        self.objects[key] = document
        self._emit("MODIFIED" if expected else "ADDED", document)
        return document

    def delete(self, name: str, *, namespace: str = "default") -> None:
        document = self.objects.pop(f"{namespace}/{name}")
        self.version += 1
        gone = json.loads(json.dumps(document))
        gone["metadata"]["resourceVersion"] = str(self.version)
        self._emit("DELETED", gone)

    def _emit(self, type: str, document: Any) -> None:
        self.log.append((self.version, type, document))
        if len(self.log) > self.window:
            del self.log[: -self.window]
            self.oldest = self.log[0][0]
        for stream, _ in self.watchers:
            stream.send(event(type, document))

    def bookmark_all(self) -> None:
        for stream, _ in self.watchers:
            stream.send(bookmark(self.version))

    def forget(self) -> None:
        """Lose the watch cache: nothing before now can be watched from."""
        self.log.clear()
        self.oldest = self.version + 1
        self.drop_watches()

    def drop_watches(self, problem: Exception | None = None) -> None:
        for stream, _ in self.watchers:
            if problem is None:
                stream.close()
            else:
                stream.fail(problem)
        self.watchers.clear()

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        *,
        query: tuple[tuple[str, str], ...] = (),
        accept: str = "application/json",
        idle_timeout: float | None = None,
        verb: str = "",
    ) -> AsyncIterator[Response]:
        request = ReceivedRequest(path, dict(query), accept, asyncio.get_running_loop().time())
        self.requests.append(request)
        if self.gate:
            raise self.gate.pop(0)
        stream = self._watch(request) if request.is_watch else Stream(*self._list(request.query), close=True)
        entry = (stream, request.query)
        if request.is_watch:
            self.watchers.append(entry)
            lifetime = asyncio.get_running_loop().call_later(float(request.query["timeoutSeconds"]), stream.close)
        try:
            yield FakeResponse(stream, idle_timeout)
        finally:
            stream.closed_by_client = True
            if request.is_watch:
                lifetime.cancel()
                if entry in self.watchers:
                    self.watchers.remove(entry)

    def _list(self, query: Query) -> list[bytes]:
        version = query.get("resourceVersion", "")
        if version not in ("", "0") and int(version) > self.version:
            raise refusal(504, "Timeout", "Too large resource version: 20, current: 10")
        limit = int(query.get("limit", 0))
        items, listed = list(self.objects.values()), self.version
        if token := query.get("continue"):
            if token not in self._pages:
                raise refusal(410, "Expired", "the continue token is too old")
            items, listed = self._pages[token]
        next_token = ""
        if limit and len(items) > limit and (self.answers_pages or version == ""):
            next_token = f"token-{len(self._pages)}"
            self._pages[next_token] = (items[limit:], listed)
            items = items[:limit]
        body = pod_list(items, listed, token=next_token)
        return [body[place : place + self.chunk] for place in range(0, len(body), self.chunk)]

    def _watch(self, request: ReceivedRequest) -> Stream:
        version = request.version
        if request.is_streamed_list:
            if not self.streams_lists:
                raise refusal(422, "Invalid", "sendInitialEvents is forbidden for watch")
            if version and int(version) > self.version:
                raise refusal(504, "Timeout", "Too large resource version: 20, current: 10")
            items = [event("ADDED", document) for document in self.objects.values()]
            return Stream(*items, bookmark(self.version, end=True))
        since = int(version)
        if since + 1 < self.oldest:
            return Stream(event("ERROR", status(410, "Expired", "too old resource version")))
        return Stream(*(event(type, document) for at, type, document in self.log if at > since))
