"""Controllers compared: what a reconcile costs, in setpoint, controller-runtime, kube-rs and the Java Operator SDK.

    python benchmarks/controller.py                             # everything
    python benchmarks/controller.py --systems setpoint --work pods --repeat 3

Two kinds of work, eight workers each:

* ``pods``: N pods are listed, and a reconciler that does nothing but read its object is called once for each; then one
  MODIFIED event for each comes over the watch, and it is called again. Measured from outside, in /proc: wall and CPU
  seconds until every pod was reconciled, the peak of resident memory, CPU microseconds an event from the wire to the
  end of its reconcile. The server only replays prepared bytes (replay.py).
* ``create`` and ``apply``: M objects of a custom kind, each with five pods to be created (or applied, server-side), on
  ``setpoint server`` over HTTP; until the status of every object says that its five pods were seen. ``keep`` is the
  same with `Context.keep`, which counts what it has applied as seen; it is compared with the others' ``apply``.

Of Python's other frameworks kopf takes part in the second kind: its handlers of events do what the reconcilers do. It
can't in the first, since it has no reconcile by key and no cache to read from, and needs a server with discovery.
cloudcoil (0.8) has informers, but neither queue nor reconcilers.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import informer
import systems
from informer import HERE, Process, Row
from report import output_options, write

COMMANDS: dict[str, Callable[[], Sequence[str]]] = {
    "setpoint": lambda: systems.setpoint("setpoint_controller.py", "{server}", "{count}", "{work}"),
    "controller-runtime": lambda: [systems.go("controller"), "{server}", "{count}", "{work}"],
    "kube-rs": lambda: [systems.rust(), "{server}", "{work}", "{lists}", "{parts}"],
    "java-operator-sdk": lambda: [*systems.java(), "{server}", "{work}", "{lists}", "{parts}"],
    "kopf": lambda: [
        systems.python("kopf", "kopf"),
        *(str(HERE / "peers" / "kopf_controller.py"), "{server}", "{count}", "{work}"),
    ],
}
SYSTEMS = tuple(COMMANDS)
WORKS = ("pods", "create", "apply", "keep")
DONE_BY = dict.fromkeys(SYSTEMS, ("pods", "create", "apply")) | {"setpoint": WORKS, "kopf": ("create", "apply")}
CHILDREN = 5
QUIET = 60.0
"""Seconds without any news after which nothing more is expected."""


# -- pods --------------------------------------------------------------------------------------------------------------


def pods(system: str, command: Sequence[str], count: int, lists: str, limit: float) -> Row:
    words = [part.replace("{work}", "pods") for part in command]
    measured = informer.measure(system, words, count, lists, limit)
    return {
        "work": "pods",
        "system": system,
        "objects": count,
        "lists": lists,
        "wall_s": measured["sync_wall_s"],
        "cpu_s": measured["sync_cpu_s"],
        "peak_rss_mb": measured["peak_rss_mb"],
        "steady_mb": measured["steady_mb"],
        "event_cpu_us": round(1e6 / measured["events_per_cpu_s"], 1),
        "events_per_s": measured["events_per_s"],
    }


# -- objects with children ---------------------------------------------------------------------------------------------


def definition() -> dict[str, Any]:
    number = {"type": "integer"}
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"numpods": number}},
            "status": {"type": "object", "properties": {"pods": number}},
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "mykinds.bench.example.com"},
        "spec": {
            "group": "bench.example.com",
            "scope": "Namespaced",
            "names": {"kind": "Mykind", "plural": "mykinds", "singular": "mykind", "listKind": "MykindList"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
    }


@contextmanager
def api_server() -> Any:
    """The address of a fresh ``setpoint server``."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--port", "0", "--write-kubeconfig", str(Path(folder) / "config"), "--no-control-plane", "--http"]
        server = subprocess.Popen(
            [sys.executable, "-m", "setpoint", "server", *options],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "HOME": folder},
        )
        assert server.stdout is not None
        try:
            line = server.stdout.readline()
            yield next(word for word in line.split() if word.startswith("http")), server.pid
        finally:
            server.terminate()
            server.wait()
            server.stdout.close()


def post(connection: http.client.HTTPConnection, path: str, document: object) -> None:
    connection.request("POST", path, json.dumps(document), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    body = answer.read()
    if answer.status >= 300:
        raise RuntimeError(f"POST {path}: {answer.status} {body.decode()}")


def converged(address: str, count: int, limit: float) -> None:
    """Watches until every object's status says that all children were seen."""
    url = f"{address}/apis/bench.example.com/v1/mykinds?watch=true"
    ready: set[str] = set()
    with urllib.request.urlopen(url, timeout=min(limit, QUIET)) as stream:
        for line in stream:
            current_object = json.loads(line)["object"]
            if current_object.get("status", {}).get("pods") == CHILDREN:
                ready.add(current_object["metadata"]["name"])
                if len(ready) == count:
                    return
    raise RuntimeError(f"the watch ended when {len(ready)} of {count} objects were ready")


def children(system: str, command: Sequence[str], count: int, how: str, limit: float) -> Row:
    with api_server() as (address, server):
        place = urlsplit(address)
        connection = http.client.HTTPConnection(place.hostname or "", place.port)
        post(connection, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
        path = "/apis/bench.example.com/v1/namespaces/default/mykinds"
        for number in range(count):
            document = {
                "apiVersion": "bench.example.com/v1",
                "kind": "Mykind",
                "metadata": {"name": f"sample-{number}"},
                "spec": {"numpods": CHILDREN},
            }
            post(connection, path, document)
        connection.close()
        words = {"server": address, "count": count, "work": how, "lists": "streamed", "parts": f"custom={count}"}
        process = Process([part.format(**words) for part in command], limit)
        try:
            process.hear("ready")
            cpu, server_cpu, started = process.cpu(), informer.cpu_of(server), time.perf_counter()
            process.say("sync")
            converged(address, count, limit)
            return {
                "work": how,
                "system": system,
                "objects": count,
                "lists": "",
                "wall_s": round(time.perf_counter() - started, 3),
                "cpu_s": round(process.cpu() - cpu, 3),
                "peak_rss_mb": round(process.memory_mb("VmHWM"), 1),
                "server_cpu_s": round(informer.cpu_of(server) - server_cpu, 3),
            }
        finally:
            process.end()


# -- all of it ---------------------------------------------------------------------------------------------------------

_COLUMNS = (
    ("wall_s", "wall s"),
    ("cpu_s", "CPU s"),
    ("peak_rss_mb", "peak MB"),
    ("event_cpu_us", "CPU µs/event"),
    ("server_cpu_s", "server CPU s"),
)


def table(rows: Iterable[Row], base: str = "controller-runtime") -> str:
    """In columns; in brackets what ``base`` needs, as a multiple."""
    lines = [f"{'work':8}{'system':20}{'list':10}{'objects':>9}" + "".join(f"{title:>20}" for _, title in _COLUMNS)]
    rows = list(rows)
    for row in rows:
        alike = [one_row for one_row in rows if one_row["system"] == base and _same_work(one_row, row)]
        cells = []
        for name, _ in _COLUMNS:
            if name not in row:
                cells.append(f"{'-':>20}")
                continue
            ratio = f" ({alike[0][name] / max(row[name], 0.001):.1f}x)" if alike and alike[0] is not row else ""
            cells.append(f"{row[name]:>12,}{ratio:>8}")
        lines.append(f"{row['work']:8}{row['system']:20}{row['lists']:10}{row['objects']:>9,}" + "".join(cells))
    return "\n".join(lines)


def _same_work(one: Row, other: Row) -> bool:
    return all(one[name] == other[name] for name in ("objects", "lists")) and _asked(one) == _asked(other)


def _asked(row: Row) -> str:
    return "apply" if row["work"] == "keep" else str(row["work"])


def best(run: Callable[[], Row], repeat: int) -> Row:
    """The run with the least CPU: what the others needed more was the machine's doing."""
    load = os.getloadavg()[0]
    row = min((run() for _ in range(repeat)), key=lambda item: item["cpu_s"] + item.get("event_cpu_us", 0) / 1e6)
    return {**row, "load_average": round(max(load, os.getloadavg()[0]), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=10_000, metavar="N")
    parser.add_argument("--objects", type=int, default=1_000, metavar="M", help=f"each with {CHILDREN} children")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--work", nargs="+", default=list(WORKS), choices=WORKS)
    parser.add_argument("--lists", nargs="+", choices=("plain", "streamed"), default=["plain", "streamed"])
    parser.add_argument("--repeat", type=int, default=1, help="runs of each; the one with the least CPU is kept")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds that one system may take")
    output_options(parser, "controller")
    arguments = parser.parse_args()
    peers, rows, limit = systems.Systems(COMMANDS), [], arguments.limit
    for work in arguments.work:
        for name in arguments.systems:
            if work not in DONE_BY[name]:
                continue
            command = peers.command(name)
            if command is None:
                continue
            runs: list[Callable[[], Row]]
            if work == "pods":
                runs = [
                    lambda form=form, name=name, command=command: pods(name, command, arguments.pods, form, limit)
                    for form in arguments.lists
                    if form == "plain" or name != "java-operator-sdk"
                ]
            else:
                runs = [
                    lambda name=name, command=command, work=work: children(
                        name, command, arguments.objects, work, limit
                    )
                ]
            for run in runs:
                print(f"{work}, {name} ...", file=sys.stderr, flush=True)
                try:
                    rows.append(best(run, arguments.repeat))
                except (RuntimeError, OSError) as problem:
                    peers.missing[f"{name}, {work}"] = str(problem)
    print(table(rows))
    for name, why in peers.missing.items():
        print(f"{name}: not measured: {why}")
    report = {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "rows": rows,
    }
    write(arguments, "controller", report, _measured)


def _measured(report: Row) -> set[tuple[str, ...]]:
    return {tuple(str(row.get(part)) for part in ("work", "system", "lists", "objects")) for row in report["rows"]}


if __name__ == "__main__":
    main()
