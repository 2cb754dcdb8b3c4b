"""A server of ConfigMaps and of nothing else, which costs hardly more than its sockets do.

It lists, watches (also with streamed lists), gets, and applies merge patches that set ``data.writes``; each write is
an event for every watch, as an HTTP chunk of its own. Nothing is checked. A program that works against it is its own
limit, as it is against a server on another machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path
from urllib.parse import parse_qs

MAPS = b"/api/v1/namespaces/default/configmaps"
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
_NOTHING = b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
_STREAM = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n"
)
_META = (
    b'"metadata":{"name":"sample-%d","namespace":"default","uid":"9f0c3a52-6f0f-4b8e-9d1c-%012d","resourceVersion":"%d",'
    b'"creationTimestamp":"2026-01-01T00:00:00Z","managedFields":[{"manager":"configmap","operation":"Update",'
    b'"apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},'
    b'"f:writes":{}}}}]}'
)
_OBJECT = b'{"kind":"ConfigMap","apiVersion":"v1",' + _META + b',"data":{"writes":"%d"}}'
_PARTIAL = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",' + _META + b"}"
_END = (
    b'{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"%d",'
    b'"creationTimestamp":null,"annotations":{"k8s.io/initial-events-end":"true"}}}}\n'
)


class Maps:
    """The objects, and the connections that watch them."""

    def __init__(self, count: int) -> None:
        self.writes = [0] * count
        self.versions = [1000 + number for number in range(count)]
        self.last = 1000 + count
        self.watches: set[asyncio.Transport] = set()

    def object(self, number: int) -> bytes:
        return _OBJECT % (number, number, self.versions[number], self.writes[number])

    def list(self, *, partial: bool, limit: int | None) -> bytes:
        numbers = range(len(self.writes))[:limit]
        if partial:
            kind, version = b"PartialObjectMetadataList", b"meta.k8s.io/v1"
            items = [_PARTIAL % (number, number, self.versions[number]) for number in numbers]
        else:
            kind, version = b"ConfigMapList", b"v1"
            items = [self.object(number) for number in numbers]
        head = b'{"kind":"%b","apiVersion":"%b","metadata":{"resourceVersion":"%d"},"items":[' % (
            kind,
            version,
            self.last,
        )
        return head + b",".join(items) + b"]}"

    def patch(self, number: int, body: bytes) -> bytes:
        self.last += 1
        self.versions[number] = self.last
        self.writes[number] = int(json.loads(body)["data"]["writes"])
        changed = self.object(number)
        line = _chunk(b'{"type":"MODIFIED","object":%b}\n' % changed)
        for watch in self.watches:
            watch.write(line)
        return changed

    def begin(self, transport: asyncio.Transport, query: dict[str, list[str]]) -> None:
        """Starts a watch: the whole state, or what is newer than the version that the client has."""
        streams = "sendInitialEvents" in query
        since = 0 if streams else int(query.get("resourceVersion", ["0"])[0] or 0)
        kind = b"ADDED" if since == 0 else b"MODIFIED"
        newer = sorted((version, number) for number, version in enumerate(self.versions) if version > since)
        lines = [b'{"type":"%b","object":%b}\n' % (kind, self.object(number)) for _, number in newer]
        if streams:
            lines.append(_END % self.last)
        transport.write(_STREAM + b"".join(map(_chunk, lines)))
        self.watches.add(transport)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


class Connection(asyncio.Protocol):
    def __init__(self, maps: Maps) -> None:
        self._maps = maps
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._maps.watches.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end]
            place = head.lower().find(b"content-length:")
            length = int(head[place + 15 :].split(b"\r\n", 1)[0]) if place >= 0 else 0
            if len(self._buffer) < end + 4 + length:
                return
            body = self._buffer[end + 4 : end + 4 + length]
            self._buffer = self._buffer[end + 4 + length :]
            self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        method, target, _ = head.split(b" ", 2)
        path, _, words = target.partition(b"?")
        maps, write = self._maps, self._transport.write
        if path == MAPS:
            query = parse_qs(words.decode())
            if "watch" in query:
                maps.begin(self._transport, query)
                return
            limit = int(query["limit"][0]) if "limit" in query else None
            found = maps.list(partial=b"PartialObjectMetadata" in head, limit=limit)
        elif path.startswith(MAPS + b"/sample-"):
            number = int(path.rpartition(b"-")[2])
            found = maps.patch(number, body) if method == b"PATCH" else maps.object(number)
        else:
            missing = b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}'
            write(_NOTHING % len(missing) + missing)
            return
        write(_HEAD % len(found) + found)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, required=True)
    parser.add_argument("--kubeconfig", type=Path, required=True, help="written when the server listens")
    arguments = parser.parse_args()
    maps = Maps(arguments.objects)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(maps), "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "maps", "cluster": {"server": address}}],
        "users": [{"name": "maps", "user": {}}],
        "contexts": [{"name": "maps", "context": {"cluster": "maps", "user": "maps"}}],
        "current-context": "maps",
    }
    arguments.kubeconfig.write_text(json.dumps(config))
    print(address, flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
