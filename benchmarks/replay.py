"""A server that only replays: prepared bytes, sent as fast as the socket takes them.

It answers lists, watches and streamed lists of the objects of one workload (workloads.py), frames each event as one
HTTP chunk as the Go server does, and sends the second half, one MODIFIED event for every object, when ``POST /go``
comes. ``GET /stats`` says how much CPU time the sending took.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import threading
import time
from urllib.parse import parse_qs, urlsplit

from workloads import WORKLOADS, Workload, objects

_CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n"
)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def event(type: bytes, raw: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (type, raw)


class Replay:
    def __init__(self, workload: Workload, count: int, *, streams_lists: bool) -> None:
        self.workload = workload
        self.streams_lists = streams_lists
        documents = objects(workload, count)
        self.last = 1000 + count - 1
        self.initial = b"".join(chunk(event(b"ADDED", raw)) for raw in documents)
        end = {
            "kind": workload.kind,
            "apiVersion": workload.api_version,
            "metadata": {
                "resourceVersion": str(self.last),
                "creationTimestamp": None,
                "annotations": {"k8s.io/initial-events-end": "true"},
            },
            "spec": {"containers": None},
            "status": {},
        }
        self.end = chunk(event(b"BOOKMARK", json.dumps(end, separators=(",", ":")).encode()))
        kind, api_version = workload.kind.encode(), workload.api_version.encode()
        bare = b'{"kind":"%b","apiVersion":"%b",' % (kind, api_version)  # which items of built-in kinds don't have
        items = b",".join(b"{" + raw.removeprefix(bare) if raw.startswith(bare) else raw for raw in documents)
        head = b'{"kind":"%bList","apiVersion":"%b","metadata":{"resourceVersion":"%d"}' % (
            kind,
            api_version,
            self.last,
        )
        self.list = b'%b,"items":[%b]}\n' % (head, items)
        self.changes = b"".join(chunk(event(b"MODIFIED", raw)) for raw in objects(workload, count, round=1))
        self.go = threading.Event()
        self.sending_seconds = 0.0

    def serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        reader = connection.makefile("rb")
        try:
            while self._exchange(connection, reader):
                pass
        except (ConnectionError, BrokenPipeError):
            pass
        finally:
            connection.close()

    def _exchange(self, connection: socket.socket, reader: object) -> bool:
        line = reader.readline()  # type: ignore[attr-defined]
        if not line:
            return False
        _, target, _ = line.split()
        while reader.readline() not in (b"\r\n", b""):  # type: ignore[attr-defined]
            pass
        url = urlsplit(target.decode())
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path == "/go":
            self.go.set()
            return _answer(connection, {})
        if url.path == "/stats":
            return _answer(connection, {"sending_seconds": self.sending_seconds})
        if not url.path.endswith(f"/{self.workload.plural}"):
            return _answer(connection, _discovery(url.path))
        if query.get("watch") in ("true", "1", "True"):
            if "fieldSelector" in query:
                return _answer(connection, {})
            if "sendInitialEvents" in query and not self.streams_lists:
                refusal = {
                    "kind": "Status",
                    "apiVersion": "v1",
                    "status": "Failure",
                    "message": "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
                    "reason": "Invalid",
                    "code": 422,
                }
                return _answer(connection, refusal, b"422 Unprocessable Entity")
            connection.sendall(_CHUNKED)
            if query.get("sendInitialEvents") == "true":
                self._send(connection, self.initial)
                self._send(connection, self.end)
            self.go.wait()
            self._send(connection, self.changes)
            time.sleep(3600)
            return False
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(self.list)
        connection.sendall(head)
        self._send(connection, self.list)
        return True

    def _send(self, connection: socket.socket, data: bytes) -> None:
        started = time.thread_time()
        connection.sendall(data)
        self.sending_seconds += time.thread_time() - started


def _answer(connection: socket.socket, document: object, status: bytes = b"200 OK") -> bool:
    body = json.dumps(document).encode()
    head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(body))
    connection.sendall(head + body)
    return True


def _discovery(path: str) -> object:
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/apis":
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": []}
    if path == "/version":
        return {"major": "1", "minor": "35", "gitVersion": "v1.35.0"}
    verbs = ["get", "list", "watch"]
    resource = {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": verbs}
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": [resource]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, required=True)
    parser.add_argument("--workload", choices=list(WORKLOADS), default="pods")
    parser.add_argument("--lists", choices=("plain", "streamed"), default="plain")
    arguments = parser.parse_args()
    replay = Replay(WORKLOADS[arguments.workload], arguments.objects, streams_lists=arguments.lists == "streamed")
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=replay.serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
