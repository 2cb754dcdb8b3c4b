"""A server that only replays: recordings, sent as fast as the socket takes them.

It answers lists, watches and streamed lists of the objects of its workloads (workloads.py), frames each event as one
HTTP chunk as the Go server does, and sends the second half, one MODIFIED event for every object, when ``POST /go``
comes. A list has pages if a limit is asked for, except at version 0, as API servers do it. ``GET /stats`` says how much
CPU time the sending took.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import threading
import time
from typing import BinaryIO
from urllib.parse import parse_qs, urlsplit

from recording import ACCEPTED, CONTENT_TYPES, Recording


class Replay:
    def __init__(self, recordings: list[Recording], *, streams_lists: bool) -> None:
        self.recordings = {recording.plural: recording for recording in recordings}
        self.streams_lists = streams_lists
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

    def _exchange(self, connection: socket.socket, reader: BinaryIO) -> bool:
        line = reader.readline()
        if not line:
            return False
        _, target, _ = line.split()
        accept = ""
        while (header := reader.readline()) not in (b"\r\n", b""):
            name, _, value = header.decode().partition(":")
            accept = value if name.lower() == "accept" else accept
        url = urlsplit(target.decode())
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path == "/go":
            self.go.set()
            return _answer(connection, {})
        if url.path == "/stats":
            return _answer(connection, {"sending_seconds": self.sending_seconds})
        recording = self.recordings.get(url.path.rpartition("/")[2])
        if recording is None:
            return _answer(connection, _discovery(url.path))
        if ACCEPTED[recording.form] not in accept and accept.strip() not in ("", "*/*"):
            return _answer(
                connection, _status(406, "NotAcceptable", "that form was not prepared"), b"406 Not Acceptable"
            )
        if query.get("watch") in ("true", "1", "True"):
            if "fieldSelector" in query:
                return _answer(connection, {})
            if "sendInitialEvents" in query and not self.streams_lists:
                message = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
                return _answer(connection, _status(422, "Invalid", message), b"422 Unprocessable Entity")
            self._watch(connection, recording, initial=query.get("sendInitialEvents") == "true")
            return False
        limit = 0 if query.get("resourceVersion") == "0" else int(query.get("limit", 0))
        before, items, begin, end, after = recording.list(int(query.get("continue", 0)), limit)
        _head(connection, recording, b"", b"Content-Length: %d" % (len(before) + end - begin + len(after)))
        self._send(connection, before)
        self._send_file(connection, items, begin, end)
        self._send(connection, after)
        return True

    def _watch(self, connection: socket.socket, recording: Recording, *, initial: bool) -> None:
        _head(connection, recording, b";stream=watch", b"Transfer-Encoding: chunked\r\nConnection: keep-alive")
        if initial:
            self._send_file(connection, recording.added())
            self._send(connection, recording.bookmark())
        self.go.wait()
        self._send_file(connection, recording.changes())
        time.sleep(3600)

    def _send(self, connection: socket.socket, data: bytes) -> None:
        started = time.thread_time()
        connection.sendall(data)
        self.sending_seconds += time.thread_time() - started

    def _send_file(self, connection: socket.socket, file: BinaryIO, begin: int = 0, end: int | None = None) -> None:
        started = time.thread_time()
        with file:
            connection.sendfile(file, begin, None if end is None else end - begin)
        self.sending_seconds += time.thread_time() - started


def _head(connection: socket.socket, recording: Recording, suffix: bytes, length: bytes) -> None:
    kind = CONTENT_TYPES[recording.form].encode() + (suffix if recording.form == "protobuf" else b"")
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\n%b\r\n\r\n" % (kind, length))


def _answer(connection: socket.socket, document: object, status: bytes = b"200 OK") -> bool:
    body = json.dumps(document).encode()
    head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(body))
    connection.sendall(head + body)
    return True


def _status(code: int, reason: str, message: str) -> object:
    words = {"status": "Failure", "message": message, "reason": reason, "code": code}
    return {"kind": "Status", "apiVersion": "v1", **words}


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
    parser.add_argument("parts", help="workloads and their numbers of objects, such as nodes=100,pods=1200")
    parser.add_argument("--lists", choices=("plain", "streamed"), default="plain")
    parser.add_argument("--form", choices=list(CONTENT_TYPES), default="json")
    arguments = parser.parse_args()
    parts = [part.split("=") for part in arguments.parts.split(",")]
    recordings = [Recording(name, int(count), arguments.form) for name, count in parts]
    for recording in recordings:
        recording.prepare(arguments.lists)
    replay = Replay(recordings, streams_lists=arguments.lists == "streamed")
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=replay.serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
