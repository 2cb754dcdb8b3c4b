"""``run --processes``: reconciles that write, per second, with several numbers of processes side by side.

    python benchmarks/processes.py                          # 1 and 2 processes in turns, three times
    python benchmarks/processes.py --processes 1 2 4 --seconds 20 --servers sites

Each reconcile of the operator applies a ConfigMap for its Site and patches the Site's status. The ConfigMap's event
causes the next reconcile, so the operator never rests. After a warm-up the writes of some seconds are counted, by the
resourceVersions of the server, which is a process of its own. There are two servers:

* ``embedded`` is ``setpoint server``, which costs more for each write than the operator does. On two cores it is the
  limit, so that this says what a developer sees who has everything on one machine.
* ``sites`` (``peers/go/sites``, needs Go) serves nothing but Sites and ConfigMaps, and costs little more than its
  sockets. It stands for a server on another machine: what is measured is the operator.

Processes and server share the machine, so the rate alone says as much about the server and about other programs as
about the operator. The CPU seconds of each process are therefore read from /proc:

* ``operator CPU`` and ``server CPU`` are milliseconds a write, of all their processes together;
* ``busiest`` is that of the busiest process of the operator;
* ``own cores`` is the rate if each process of the operator had a core of its own and the server were never in the way:
  one write for each ``busiest`` milliseconds. Its quotient for 2 and 1 processes is what the second process brings.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from informer import BUILD, HERE, Row, cpu_of
from report import output_options, write

from controller import post

PROGRAM = HERE / "peers" / "setpoint_processes.py"
WARM_UP = 1_000
"""Writes before the measurement begins."""
SITES = "/apis/bench.example.com/v1/namespaces/default/sites"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@contextmanager
def embedded(objects: int) -> Iterator[tuple[str, Path, int]]:
    """The address, the kubeconfig and the pid of a fresh ``setpoint server``."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config"
        options = ["--port", "0", "--write-kubeconfig", str(config), "--no-control-plane", "--http"]
        process = subprocess.Popen(
            [sys.executable, "-m", "setpoint", "server", *options],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "HOME": folder},
        )
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            address = next(word for word in line.split() if word.startswith("http"))
            place = urlsplit(address)
            connection = HTTPConnection(place.hostname or "", place.port)
            post(connection, DEFINITIONS, definition())
            for number in range(objects):
                site = {"apiVersion": "bench.example.com/v1", "kind": "Site", "spec": {"title": f"Site {number}"}}
                post(connection, SITES, {**site, "metadata": {"name": f"sample-{number}"}})
            connection.close()
            yield address, config, process.pid
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()


def definition() -> dict[str, Any]:
    """The definition of Sites."""
    words = [sys.executable, str(PROGRAM), "manifests"]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    documents: Iterable[dict[str, Any]] = yaml.safe_load_all(printed)
    return next(document for document in documents if document["kind"] == "CustomResourceDefinition")


@contextmanager
def sites(objects: int) -> Iterator[tuple[str, Path, int]]:
    """The same of a server of Sites and ConfigMaps that costs little more than its sockets."""
    BUILD.mkdir(exist_ok=True)
    binary = BUILD / "sites"
    subprocess.run(["go", "build", "-o", str(binary), "."], cwd=HERE / "peers" / "go" / "sites", check=True)
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config"
        process = subprocess.Popen([str(binary), str(objects), str(config)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            yield address, config, process.pid
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()


SERVERS = {"sites": sites, "embedded": embedded}


@contextmanager
def operator(config: Path, processes: int, options: Sequence[str] = ()) -> Iterator[int]:
    """The pid of the operator, or of its supervisor."""
    words = [sys.executable, str(PROGRAM), "run", "--kubeconfig", str(config), "--namespace", "default"]
    words += ["--metrics-bind-address", "0", "--health-probe-bind-address", "0"]
    words += ["--processes", str(processes), *options] if processes > 1 else []
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log)
        try:
            yield process.pid
            if process.poll() is not None:
                log.seek(0)
                raise RuntimeError(f"the operator ended with {process.returncode}: {log.read()[-2000:]}")
        finally:
            process.terminate()
            process.wait()


def family(pid: int) -> list[int]:
    """The process and its descendants."""
    result = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            result += family(int(child))
    return result


def revision(address: str) -> int:
    """The resourceVersion of the server's last write."""
    with urllib.request.urlopen(f"{address}{SITES}?limit=1", timeout=30) as answer:
        return int(json.load(answer)["metadata"]["resourceVersion"])


def measure(server: str, processes: int, options: Sequence[str], objects: int, seconds: float, limit: float) -> Row:
    """One run."""
    with SERVERS[server](objects) as (address, config, server_pid):
        begun = revision(address)
        with operator(config, processes, options) as pid:
            deadline = time.monotonic() + limit
            while revision(address) < begun + WARM_UP:
                if time.monotonic() > deadline:
                    raise RuntimeError(f"no {WARM_UP} writes within {limit:.0f} s")
                time.sleep(0.2)
            own = family(pid)
            before, server_before = {item: cpu_of(item) for item in own}, cpu_of(server_pid)
            first, started = revision(address), time.perf_counter()
            time.sleep(seconds)
            writes, wall = revision(address) - first, time.perf_counter() - started
            spent = [cpu_of(item) - before[item] for item in own]
            server_spent = cpu_of(server_pid) - server_before
    busiest = max(spent)
    return {
        "server": server,
        "processes": processes,
        "writes": writes,
        "wall_s": round(wall, 2),
        "writes_per_s": round(writes / wall, 1),
        "operator_cpu_ms": round(1e3 * sum(spent) / writes, 3),
        "busiest_cpu_ms": round(1e3 * busiest / writes, 3),
        "server_cpu_ms": round(1e3 * server_spent / writes, 3),
        "operator_cores": round(sum(spent) / wall, 2),
        "server_cores": round(server_spent / wall, 2),
        "own_cores_per_s": round(writes / busiest, 1),
        "load_average": round(os.getloadavg()[0], 1),
    }


_COLUMNS = (
    ("writes_per_s", "writes/s"),
    ("operator_cpu_ms", "operator CPU ms"),
    ("busiest_cpu_ms", "busiest ms"),
    ("server_cpu_ms", "server CPU ms"),
    ("operator_cores", "operator cores"),
    ("server_cores", "server cores"),
    ("own_cores_per_s", "own cores /s"),
    ("load_average", "load"),
)


def medians(rows: Iterable[Row]) -> list[Row]:
    """One row for each server and number of processes, with the median of each figure."""
    by_case: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        by_case.setdefault((row["server"], row["processes"]), []).append(row)
    return [
        {
            "server": server,
            "processes": number,
            **{name: round(statistics.median(row[name] for row in alike), 3) for name, _ in _COLUMNS},
        }
        for (server, number), alike in sorted(by_case.items())
    ]


def table(rows: Iterable[Row]) -> str:
    """In columns; in brackets the multiple of the first row of the same server."""
    lines = [f"{'server':10}{'processes':>9}" + "".join(f"{title:>20}" for _, title in _COLUMNS)]
    first: dict[str, Row] = {}
    for row in rows:
        one = first.setdefault(row["server"], row)
        cells = [
            f"{row[name]:>12,}"
            + (f"{f' ({row[name] / max(one[name], 0.001):.2f}x)':>8}" if row is not one else " " * 8)
            for name, _ in _COLUMNS
        ]
        lines.append(f"{row['server']:10}{row['processes']:>9}" + "".join(cells))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2], metavar="N")
    result = list(SERVERS) if shutil.which("go") else ["embedded"]
    parser.add_argument("--servers", nargs="+", default=result, choices=list(SERVERS))
    parser.add_argument("--objects", type=int, default=1_000, metavar="M")
    parser.add_argument("--seconds", type=float, default=10.0, help="of one measurement, after the warm-up")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each; the table has the medians")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds that the warm-up may take")
    parser.add_argument("--divide-caches", action="store_true", help="as the flag of run")
    output_options(parser, "processes")
    arguments = parser.parse_args()
    options = ["--divide-caches"] if arguments.divide_caches else []
    rows: list[Row] = []
    for turn in range(arguments.repeat):
        for server, number in itertools.product(arguments.servers, arguments.processes):
            print(f"{server}, {number} processes, {turn + 1} of {arguments.repeat} ...", file=sys.stderr, flush=True)
            rows.append(measure(server, number, options, arguments.objects, arguments.seconds, arguments.limit))
    print(table(medians(rows)))
    report: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "rows": rows,
    }
    write(arguments, "processes", report, _measured)


def _measured(report: Row) -> set[str]:
    return {f"{row['server']} {row['processes']}" for row in report["rows"]}


if __name__ == "__main__":
    main()
