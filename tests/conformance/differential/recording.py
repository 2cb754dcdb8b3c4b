"""Random requests and a real server's answers, written down to be laid beside those of the embedded server.

Each line is a request with its answer: ``{"verb", "kind", "path", "name", "body" or "changes", "status", "answer"}``.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from setpoint.apiserver import ApiServer
from setpoint.client import HttpTransport, InProcessTransport
from setpoint.client.kubeconfig import load_kubeconfig
from setpoint.client.transport import Request, Transport, TransportError

from .mutations import applied
from .run import Differential, Said, compare

JsonObject = dict[str, Any]
NAMESPACE = "recorded"
"""Of all requests in a recording; a server that is recorded must not have it."""


async def record(kubeconfig: str, seed: int, count: int, file: Path) -> None:
    """Writes down what the server answers."""
    transport = HttpTransport(load_kubeconfig(kubeconfig))
    lines: list[str] = []
    try:
        for entry in Differential(seed, count, namespace=NAMESPACE).requests():
            message = await _ask(transport, entry)
            if message is None:
                continue
            answer = message.body
            if isinstance(answer.get("metadata"), dict):
                answer["metadata"].pop("managedFields", None)
            lines.append(json.dumps({**entry, "status": message.status, "answer": answer}, sort_keys=True))
    finally:
        await transport.close()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in lines))


async def replay(file: Path) -> dict[int, tuple[str, str, str]]:
    """The differences of the embedded server's answers: by line the kind, the class of the difference and its text."""
    results: dict[int, tuple[str, str, str]] = {}
    moment = datetime.now(UTC)  # the clock stands still: no answer depends on how busy the machine is
    async with ApiServer(now=lambda: moment, plugins_off=()) as server:
        transport = InProcessTransport(server.handle)
        for number, line in enumerate(file.read_text().splitlines()):
            entry = json.loads(line)
            message = await _ask(transport, entry)
            assert message is not None
            if isinstance(message.body.get("metadata"), dict):
                message.body["metadata"].pop("managedFields", None)
            expected = Said(entry["status"], {}, json.dumps(entry["answer"]).encode())
            message.warning = ""
            difference = compare(expected, message)
            if difference is not None and difference[0] != "message":
                results[number] = (entry["kind"], *difference)
    return results


async def _ask(transport: Transport, entry: JsonObject) -> Said | None:
    path = entry["path"]
    if entry["verb"] == "PUT":
        path = f"{path}/{entry['name']}"
        live = await _send(transport, "GET", path, None)
        if live is None:
            return None
        return await _send(transport, "PUT", path, applied(live.body, [tuple(item) for item in entry["changes"]]))
    return await _send(transport, entry["verb"], path, entry["body"], kept=entry.get("kept", False))


async def _send(transport: Transport, verb: str, path: str, body: Any, *, kept: bool = False) -> Said | None:
    headers = {"accept": "application/json", "content-type": "application/json", "user-agent": "setpoint/1"}
    raw = None if body is None else json.dumps(body).encode()
    query = () if verb == "GET" else (("fieldManager", "d"),) if kept else (("dryRun", "All"), ("fieldManager", "d"))
    try:
        async with transport.send(Request(verb, path, query, headers, raw)) as response:
            return Said(response.status, response.headers, await response.read())
    except TransportError:  # the real server's panic
        return None
