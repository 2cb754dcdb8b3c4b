"""Client libraries compared: small GETs and PATCHes at concurrency 1 and 32, and lists of 2,000 pods.

    python benchmarks/client.py
    python benchmarks/client.py --systems setpoint lightkube --seconds 5

One replaying server, one machine, the systems in turns. ``aiohttp`` is the bare HTTP library, without decoding: the
bound for any client on top of it. Rates are given per second and per CPU second of the client's process; the second is
steadier on a machine that does other things too. Lists are measured three times, as `peers/client_verbs.py` explains:
only made; with every object's name and labels read; with fields of every object's spec and status read.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

from report import output_options, write
from workloads import WORKLOADS, objects

HERE = Path(__file__).resolve().parent
PEERS = HERE / ".build" / "peers"
PEER_PACKAGES = ("kubernetes", "lightkube", "kubernetes_asyncio", "kr8s")
SYSTEMS = ("aiohttp", "setpoint", "lightkube", "kubernetes_asyncio", "kr8s", "kubernetes", "kubernetes.aio")
LISTED = 2000
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
_DISCOVERED = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": "v1",
    "resources": [
        {
            "name": "pods",
            "singularName": "pod",
            "namespaced": True,
            "kind": "Pod",
            "verbs": ["get", "list", "patch", "watch"],
            "shortNames": ["po"],
        }
    ],
}


def small_pod() -> bytes:
    return json.dumps(
        {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {
                "name": "web-0",
                "namespace": "default",
                "uid": "9f0c3a52-6f0f-4b8e-9d1c-0d3f1f2c7f11",
                "resourceVersion": "1001",
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": {"app": "web"},
            },
            "spec": {"nodeName": "node-1", "containers": [{"name": "main", "image": "registry.example.com/web:v1"}]},
            "status": {"phase": "Running", "podIP": "10.0.0.7", "hostIP": "192.0.2.1"},
        },
        separators=(",", ":"),  # as API servers write it
    ).encode()


class Replay(asyncio.Protocol):
    """Answers each request with prepared bytes."""

    answers: dict[bytes, bytes] = {}

    def __init__(self) -> None:
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end]
            length = 0
            place = head.lower().find(b"content-length:")
            if place >= 0:
                length = int(head[place + 15 :].split(b"\r\n", 1)[0])
            if len(self._buffer) < end + 4 + length:
                return
            self._buffer = self._buffer[end + 4 + length :]
            path = head.split(b" ", 2)[1].split(b"?")[0].rstrip(b"/")
            assert self._transport is not None
            self._transport.write(self.answers.get(path, self.answers[b"else"]))


def serve(pipe: Connection) -> None:
    items = b",".join(objects(WORKLOADS["pods"], LISTED))
    listed = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"3000"},"items":[' + items + b"]}"
    bodies = {
        b"else": small_pod(),
        b"/api/v1/pods": listed,
        b"/api/v1/namespaces/default/pods": b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":['
        + small_pod()
        + b"]}",  # how kr8s gets one pod
        b"/api": json.dumps({"kind": "APIVersions", "versions": ["v1"]}).encode(),
        b"/apis": json.dumps({"kind": "APIGroupList", "apiVersion": "v1", "groups": []}).encode(),
        b"/api/v1": json.dumps(_DISCOVERED).encode(),
        b"/version": json.dumps({"major": "1", "minor": "36", "gitVersion": "v1.36.0"}).encode(),
    }
    Replay.answers = {path: _HEAD % len(body) + body for path, body in bodies.items()}

    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(Replay, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def python_for(system: str) -> str:
    if system in ("setpoint", "aiohttp"):
        return sys.executable
    python = PEERS / "bin" / "python"
    if not python.exists():
        venv.create(PEERS, with_pip=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PEER_PACKAGES]
    subprocess.run(command, check=True)
    return str(python)


def measure(python: str, system: str, server: str, seconds: float) -> dict[str, Any] | str:
    command = [python, str(HERE / "peers" / "client_verbs.py"), system, server, str(seconds)]
    limit = 240 + 20 * seconds
    environ = {**os.environ, "KUBECONFIG": os.devnull}
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=environ)
    except subprocess.TimeoutExpired:
        return f"not done after {limit:g} s"
    if ended.returncode:
        return (ended.stderr.strip().splitlines() or ["no reason given"])[-1]
    result: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return result


def table(results: dict[str, dict[str, dict[str, float]]], unit: str) -> str:
    columns = list(next(iter(results.values())))
    lines = [f"{unit:<20}" + "".join(f"{column:>12}" for column in columns)]
    for system, rates in results.items():
        cells = "".join(f"{rates[column][unit]:>12.1f}" for column in columns)
        lines.append(f"{system:<20}{cells}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="of which the median counts")
    output_options(parser, "client")
    options = parser.parse_args(argv)
    pythons = {system: python_for(system) for system in options.systems}
    near, far = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(far,), daemon=True)
    server.start()
    rounds: dict[str, list[dict[str, Any]]] = {}
    try:
        url = f"http://127.0.0.1:{near.recv()}"
        for _ in range(options.rounds):
            for system in options.systems:
                result = measure(pythons[system], system, url, options.seconds)
                if isinstance(result, str):
                    print(f"{system}: left out: {result}", file=sys.stderr)
                else:
                    rounds.setdefault(system, []).append(result)
    finally:
        server.terminate()
        server.join()
    results = {
        system: {
            column: {unit: median(entry[column][unit] for entry in entries) for unit in entries[0][column]}
            for column in entries[0]
        }
        for system, entries in rounds.items()
    }
    print(table(results, "per_second"))
    print()
    print(table(results, "per_cpu_second"))
    write(options, "client", {"listed": LISTED, "rates": results}, lambda report: {*report["rates"]})
    return 0


if __name__ == "__main__":
    sys.exit(main())
