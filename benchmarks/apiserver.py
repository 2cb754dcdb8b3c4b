"""The embedded server as a server: requests for each second of its CPU time, beside a kube-apiserver with etcd.

    python benchmarks/apiserver.py
    python benchmarks/apiserver.py --real DIR

``DIR`` has the programs ``kube-apiserver`` and ``etcd``. Both servers run as processes of their own, without
controllers, and speak TLS with one client: bare aiohttp, 16 requests at a time, which reads the answers and decodes
none. CPU time is that of the server's processes (etcd counts for kube-apiserver), so that client and other programs on
the machine matter little. Objects are ConfigMaps of 1 KB; lists have 1,000 of them; *watch* is the number of events
that arrive at 100 watches while objects are patched. *whole* is the list of 16,000 of them in one answer, *pages* the
same list in pages of 50.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import aiohttp
from report import output_options, write

sys.path.append(str(Path(__file__).parent.parent))  # run as a script, the folder above is not on the path

from tools.kube_apiserver import TOKEN, free_port, serving, started

__all__ = ["AT_ONCE", "TOKEN", "USERS", "Measurement", "Server", "free_port", "real", "started"]

USERS = f'{TOKEN},admin,1,"system:masters"\n'.encode()
MAPS = "/api/v1/namespaces/default/configmaps"
AT_ONCE = 16
LISTED = 1000
PAGED = 16_000
PAGE = 50
WATCHES = 100
STEPS = ("create", "get", "list", "patch", "watch", "whole", "pages")
TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """A running server: its address, and its processes."""

    def __init__(self, url: str, processes: Sequence[subprocess.Popen[bytes]]) -> None:
        self.url = url
        self.processes = processes

    def cpu(self) -> float:
        """Seconds of CPU time until now, of all its processes."""
        total = 0
        for process in self.processes:
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total / TICKS

    def memory(self) -> int:
        """Resident bytes of all its processes together."""
        pages = (int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) for process in self.processes)
        return sum(pages) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def embedded(folder: Path) -> Iterator[Server]:
    port = free_port()
    (folder / "tokens.csv").write_bytes(USERS)
    words = [sys.executable, "-m", "setpoint", "server", f"--port={port}", "--no-control-plane", "--auth"]
    words += ["--token-auth-file=tokens.csv", "--data-dir=data"]
    with started(words, folder) as process:
        yield Server(f"https://127.0.0.1:{port}", [process])


@contextmanager
def real(folder: Path, programs: Path) -> Iterator[Server]:
    """A kube-apiserver whose etcd keeps what it acknowledges, as in a cluster."""
    with serving(programs, folder, fsync=True) as server:
        yield Server(server.url, server.processes)


class Measurement:
    """One server, measured step by step."""

    def __init__(self, server: Server, session: aiohttp.ClientSession, seconds: float) -> None:
        self._server = server
        self._session = session
        self._seconds = seconds
        self._number = 0

    async def ready(self) -> None:
        for _ in range(600):
            try:
                async with self._session.get(f"{self._server.url}/readyz") as answer:
                    if answer.status == 200:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.2)
        raise SystemExit(f"{self._server.url} does not become ready")

    async def request(self, method: str, path: str, body: Any = None, *, kind: str = "application/json") -> bytes:
        data = None if body is None else json.dumps(body).encode()
        headers = {} if data is None else {"content-type": kind}
        async with self._session.request(method, self._server.url + path, data=data, headers=headers) as answer:
            read = await answer.read()
            if answer.status >= 400:
                raise SystemExit(f"{method} {path}: {answer.status} {read[:300]!r}")
            return read

    def body(self) -> dict[str, Any]:
        self._number += 1
        return {"metadata": {"name": f"m{self._number}", "labels": {"app": "x"}}, "data": {"text": "x" * 800}}

    async def rate(self, step: Callable[[], Awaitable[Any]], clients: int = AT_ONCE) -> dict[str, float]:
        """``step`` by ``clients`` at once, for some seconds: how often for each second, and for each of CPU time."""
        done = 0
        until = time.perf_counter() + self._seconds

        async def client() -> None:
            nonlocal done
            while time.perf_counter() < until:
                await step()
                done += 1

        before, began = self._server.cpu(), time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(clients):
                group.create_task(client())
        return self._figures(done, time.perf_counter() - began, self._server.cpu() - before)

    def _figures(self, done: int, seconds: float, cpu: float) -> dict[str, float]:
        return {"per_second": round(done / seconds, 2), "per_cpu_second": round(done / max(cpu, 1 / TICKS), 2)}

    async def all(self) -> dict[str, dict[str, float]]:
        async def create() -> None:
            await self.request("POST", MAPS, self.body())

        async def get() -> None:
            await self.request("GET", f"{MAPS}/m1")

        async def listed() -> None:
            await self.request("GET", f"{MAPS}?limit={LISTED}")

        async def patch() -> None:
            self._number += 1
            change = {"data": {"n": str(self._number)}}
            path = f"{MAPS}/m{self._number % LISTED + 1}"
            await self.request("PATCH", path, change, kind="application/merge-patch+json")

        result = {"create": await self.rate(create)}
        while self._number < LISTED:
            await create()
        result["get"] = await self.rate(get)
        result["list"] = await self.rate(listed)
        result["patch"] = await self.rate(patch)
        result["watch"] = await self.fan_out(patch)
        await self.fill()
        result["whole"] = await self.rate(lambda: self.walk(2 * PAGED), clients=1)
        result["pages"] = await self.rate(lambda: self.walk(PAGE), clients=1)
        return result

    async def fill(self) -> None:
        """Creates objects until there are 16,000."""
        page = json.loads(await self.request("GET", f"{MAPS}?limit=1"))
        missing = iter(range(PAGED - 1 - page["metadata"]["remainingItemCount"]))

        async def client() -> None:
            for _ in missing:
                await self.request("POST", MAPS, self.body())

        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(client())

    async def walk(self, limit: int) -> None:
        """Reads all objects in pages of ``limit``."""
        token = ""
        while True:
            page = await self.request("GET", f"{MAPS}?limit={limit}&continue={token}")
            metadata = json.loads(page[: page.index(b'"items"')] + b'"items":[]}')["metadata"]
            if not (token := metadata.get("continue", "")):
                return

    async def fan_out(self, patch: Callable[[], Awaitable[Any]]) -> dict[str, float]:
        """Events that reach the watches while one client patches."""
        since = json.loads(await self.request("GET", f"{MAPS}?limit=1"))["metadata"]["resourceVersion"]
        events, ready = 0, asyncio.Semaphore(0)

        async def watch() -> None:
            nonlocal events
            url = f"{self._server.url}{MAPS}?watch=true&resourceVersion={since}"
            async with self._session.get(url, timeout=aiohttp.ClientTimeout(total=None)) as answer:
                ready.release()
                async for line in answer.content:
                    events += line.startswith(b"{")

        watches = [asyncio.create_task(watch()) for _ in range(WATCHES)]
        for _ in watches:
            await ready.acquire()
        before, began = self._server.cpu(), time.perf_counter()
        patches = 0
        while time.perf_counter() < began + self._seconds:
            await patch()
            patches += 1
        while events < patches * WATCHES:  # noqa: ASYNC110 - the loop of a measurement, not of a program
            await asyncio.sleep(0.01)
        figures = self._figures(events, time.perf_counter() - began, self._server.cpu() - before)
        for task in watches:
            task.cancel()
        await asyncio.wait(watches)
        return figures


async def measure(server: Server, seconds: float) -> dict[str, dict[str, float]]:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    connector = aiohttp.TCPConnector(ssl=context, limit=0)
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with aiohttp.ClientSession(connector=connector, headers=headers, read_bufsize=2**20) as session:
        measurement = Measurement(server, session, seconds)
        await measurement.ready()
        return await measurement.all()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", type=Path, metavar="DIR", help="the folder of kube-apiserver and etcd")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each step")
    parser.add_argument("--rounds", type=int, default=3)
    output_options(parser, "apiserver")
    options = parser.parse_args()
    programs = options.real.absolute() if options.real else None
    rounds: dict[str, list[dict[str, dict[str, float]]]] = {}
    for _ in range(options.rounds):
        for name in ("setpoint", *(["kube-apiserver"] if programs else [])):
            with ExitStack() as stack:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                server = stack.enter_context(
                    embedded(folder) if name == "setpoint" else real(folder, programs or folder)
                )
                rounds.setdefault(name, []).append(asyncio.run(measure(server, options.seconds)))
    systems = {
        name: {
            step: {
                unit: median(item[step][unit] for item in current_round) for unit in ("per_second", "per_cpu_second")
            }
            for step in STEPS
        }
        for name, current_round in rounds.items()
    }
    print("per CPU second of the server (per second)", *STEPS, sep=" | ")
    for name, steps in systems.items():
        cells = [f"{steps[step]['per_cpu_second']:,.4g} ({steps[step]['per_second']:,.4g})" for step in STEPS]
        print(name, *cells, sep=" | ")
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "load": os.getloadavg()[0]}
    write(options, "apiserver", {"machine": machine, "rounds": options.rounds, "systems": systems}, parts)


def parts(report: Any) -> set[str]:
    return set(report["systems"])


if __name__ == "__main__":
    main()
