"""Informers compared: how much time and memory it takes to follow N pods.

    python benchmarks/informer.py                       # 10,000 pods, all systems
    python benchmarks/informer.py --objects 1000 50000 200000 --systems setpoint client-go --plot informer.svg
    python benchmarks/informer.py --workloads unlike nodes secrets events custom

One server, one machine, one system after the other. Each system gets a list (or a streamed list) of N pods, then one
MODIFIED event for each. Measured from outside, in /proc: wall and CPU seconds until synced, the peak of resident
memory, what it is over the idle process after a collection, and the CPU seconds of the events. Workloads other than
pods (workloads.py) are followed by the systems that are generic, or have only pods in them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import systems
from report import KEPT, output_options, write
from workloads import CLUSTER, WORKLOADS, parts

HERE = Path(__file__).resolve().parent
BUILD = systems.BUILD
TICK = os.sysconf("SC_CLK_TCK")
PAGE_KB = 1 / 1024
MEMORY_MB = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**21
"""Half of the machine's memory, which no system under test may exceed unless it is told so."""

Row = dict[str, Any]


_PYTHON_PEERS = ("kubernetes", "lightkube", "kubernetes_asyncio")
_GO_PEERS = (
    "client-go",
    "client-go+strip",
    "client-go+protobuf",
    "client-go+protobuf+strip",
    "controller-runtime",
)


def _python_peer(name: str) -> Sequence[str]:
    return [systems.python("peers", *_PYTHON_PEERS), str(HERE / "peers" / f"{name}_informer.py"), "{server}", "{count}"]


COMMANDS: dict[str, Callable[[], Sequence[str]]] = {
    "setpoint": lambda: systems.setpoint("setpoint_informer.py", "{server}", "{parts}"),
    "setpoint+metadata": lambda: systems.setpoint("setpoint_informer.py", "{server}", "{parts}", "metadata"),
    **{name: partial(lambda name: [systems.go("informer"), "{server}", "{parts}", name], name) for name in _GO_PEERS},
    "kube-rs": lambda: [systems.rust(), "{server}", "informer", "{lists}", "{parts}"],
    "kube-rs+metadata": lambda: [systems.rust(), "{server}", "metadata", "{lists}", "{parts}"],
    "fabric8": lambda: [*systems.java(), "{server}", "informer", "{lists}", "{parts}"],
    **{name: partial(_python_peer, name) for name in _PYTHON_PEERS},
}
"""``+metadata``: ``PartialObjectMetadata`` is asked for; ``+strip``: a transform drops managedFields."""
SYSTEMS = tuple(COMMANDS)
_FOLLOWED = {"pods", "unlike", "nodes", "custom", CLUSTER}


def follows(system: str, workload: str) -> bool:
    """Whether the program of a system can follow the objects of a workload."""
    if system.startswith("setpoint"):
        return True
    if system in _PYTHON_PEERS:
        return workload in {"pods", "unlike"}
    if workload == "custom" and ("+protobuf" in system or system == "controller-runtime"):
        return False
    return workload in _FOLLOWED


def streams(system: str) -> bool:
    """Whether a system asks for streamed lists (``sendInitialEvents``) where the server has them."""
    return system != "fabric8" and system not in _PYTHON_PEERS


def form_of(system: str) -> str:
    return next((form for form in ("metadata", "protobuf") if f"+{form}" in system), "json")


def cpu_of(pid: int) -> float:
    """Seconds of CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


class Process:
    """A system under test, spoken to by words and looked at in /proc."""

    def __init__(self, command: Sequence[str], limit: float, memory_mb: float = MEMORY_MB) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONHASHSEED": "0"}
        )
        self._ended = threading.Event()
        self._excess = ""
        self._watchdog = threading.Thread(target=self._watch, args=(limit, memory_mb), daemon=True)
        self._watchdog.start()

    def _watch(self, limit: float, memory_mb: float) -> None:
        """Ends the process when it has taken too long or too much."""
        started = time.monotonic()
        while not self._ended.wait(0.2):
            if time.monotonic() - started > limit:
                self._excess = f"more than {limit:,.0f} seconds"
            elif self.memory_mb("VmRSS") > memory_mb:
                self._excess = f"more than {memory_mb:,.0f} MB of memory"
            if self._excess:
                self._process.kill()
                return

    def hear(self, word: str) -> None:
        assert self._process.stdout is not None
        answer = self._process.stdout.readline().strip()
        if answer != word:
            raise RuntimeError(f"it took {self._excess}" if self._excess else f"it said {answer!r} instead of {word!r}")

    def say(self, word: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()

    def collect(self) -> None:
        self.say("collect")
        self.hear("collected")
        time.sleep(0.2)

    def cpu(self) -> float:
        return cpu_of(self._process.pid)

    def memory_mb(self, name: str) -> float:
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * PAGE_KB
        return 0.0  # of a process that has ended

    def end(self) -> None:
        """Ends the process, so that valgrind writes what it has counted if it runs under valgrind."""
        self._ended.set()
        self._watchdog.join()
        self._process.terminate()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()


def measure(
    system: str,
    command: Sequence[str],
    count: int,
    lists: str,
    limit: float,
    workload: str = "pods",
    memory_mb: float = MEMORY_MB,
) -> Row:
    joined = ",".join(f"{name}={number}" for name, number in parts(workload, count).items())
    replay = [sys.executable, str(HERE / "replay.py"), joined, "--lists", lists, "--form", form_of(system)]
    server = subprocess.Popen(replay, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        address = f"http://127.0.0.1:{int(server.stdout.readline())}"
        words = {"server": address, "count": count, "parts": joined, "lists": lists}
        process = Process([part.format(**words) for part in command], limit, memory_mb)
        try:
            return {**_measure(process, system, address, count), "lists": lists, "workload": workload}
        finally:
            process.end()
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def _measure(process: Process, system: str, address: str, count: int) -> Row:
    process.hear("ready")
    idle, cpu = process.memory_mb("VmRSS"), process.cpu()
    started = time.perf_counter()
    process.say("sync")
    process.hear("synced")
    wall, sync_cpu = time.perf_counter() - started, process.cpu() - cpu
    sync_peak = process.memory_mb("VmHWM")
    process.collect()
    steady = process.memory_mb("VmRSS") - idle
    process.hear("watching")
    time.sleep(0.2)
    cpu, started = process.cpu(), time.perf_counter()
    urllib.request.urlopen(urllib.request.Request(f"{address}/go", method="POST")).read()
    process.hear("done")
    event_wall, event_cpu = time.perf_counter() - started, process.cpu() - cpu
    process.collect()
    with urllib.request.urlopen(f"{address}/stats") as answer:
        sending = json.load(answer)["sending_seconds"]
    return {
        "system": system,
        "objects": count,
        "sync_wall_s": round(wall, 3),
        "sync_cpu_s": round(sync_cpu, 3),
        "peak_rss_mb": round(process.memory_mb("VmHWM"), 1),
        "sync_peak_rss_mb": round(sync_peak, 1),
        "idle_rss_mb": round(idle, 1),
        "steady_mb": round(steady, 1),
        "steady_after_events_mb": round(process.memory_mb("VmRSS") - idle, 1),
        "events_per_cpu_s": round(count / max(event_cpu, 1 / TICK)),
        "events_per_s": round(count / event_wall),
        "server_sending_s": round(sending, 3),
    }


_COLUMNS = (
    ("sync_wall_s", "sync wall s", False),
    ("sync_cpu_s", "sync CPU s", False),
    ("peak_rss_mb", "peak MB", False),
    ("steady_mb", "steady MB", False),
    ("events_per_cpu_s", "events/CPU s", True),
)


def median(turns: Sequence[Row]) -> Row:
    """The median of each figure of some runs of one case."""
    return {
        name: value if isinstance(value, str) else round(statistics.median(row[name] for row in turns), 3)
        for name, value in turns[0].items()
    }


def case(row: Row) -> tuple[str, str, str, int]:
    """The system, the list, the workload and the number of objects of a row."""
    return row["system"], row["lists"], row["workload"], row["objects"]


def table(rows: Iterable[Row], base: str = "client-go") -> str:
    """In columns; in brackets how many times better than ``base`` (at the same number of objects)."""
    lines = [
        f"{'system':26}{'list':10}{'workload':10}{'objects':>9}" + "".join(f"{title:>20}" for _, title, _ in _COLUMNS)
    ]
    rows = list(rows)
    for row in rows:
        like = (other for other in rows if other["system"] == base and case(other)[1:] == case(row)[1:])
        other = next(like, None)
        cells = []
        for name, _, more_is_better in _COLUMNS:
            ratio = ""
            if other is not None and other is not row:
                better = row[name] / other[name] if more_is_better else other[name] / max(row[name], 0.001)
                ratio = f" ({better:.1f}x)"
            cells.append(f"{row[name]:>12,}{ratio:>8}")
        lines.append(f"{row['system']:26}{row['lists']:10}{row['workload']:10}{row['objects']:>9,}" + "".join(cells))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, nargs="+", default=[10_000], metavar="N")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--lists", nargs="+", choices=("plain", "streamed"), default=["plain", "streamed"])
    parser.add_argument("--workloads", nargs="+", choices=[*WORKLOADS, CLUSTER], default=["pods"])
    parser.add_argument("--repeat", type=int, default=1, help="runs of each, in turns; medians are kept")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds that one system may take")
    parser.add_argument(
        "--memory", type=float, default=MEMORY_MB, metavar="MB", help="memory that one system may take; default: half"
    )
    output_options(parser, "informer")
    parser.add_argument("--plot", type=Path, help="write the results as an SVG; with --keep also as docs/informer.svg")
    parser.add_argument("--add", action="store_true", help="add the stored figures of other systems and numbers")
    arguments = parser.parse_args()
    peers, rows = systems.Systems(COMMANDS), []
    for count, workload in itertools.product(arguments.objects, arguments.workloads):
        runs: dict[tuple[str, str], list[Row]] = {}
        pairs = [
            (name, lists)
            for name, lists in itertools.product(arguments.systems, arguments.lists)
            if follows(name, workload) and (lists == "plain" or streams(name)) and peers.command(name) is not None
        ]
        for turn, (name, lists) in itertools.product(range(arguments.repeat), pairs):
            command = peers.command(name)
            what = f"{name} at {count:,}, {workload}, {lists}"
            if command is None or what in peers.missing:
                continue
            print(f"{what}, turn {turn + 1} ...", file=sys.stderr, flush=True)
            try:
                row = measure(name, command, count, lists, arguments.limit, workload, arguments.memory)
            except (RuntimeError, OSError) as problem:
                peers.missing[what] = str(problem)
                continue
            runs.setdefault((name, lists), []).append(row)
        rows += [median(turns) for turns in runs.values()]
    if arguments.add:
        measured = set(map(case, rows))
        rows += [row for row in json.loads((KEPT / "informer.json").read_text()) if case(row) not in measured]
        order = [*WORKLOADS, CLUSTER]
        rows.sort(
            key=lambda row: (order.index(row["workload"]), row["objects"], SYSTEMS.index(row["system"]), row["lists"])
        )
    print(table(rows))
    for name, why in peers.missing.items():
        print(f"{name}: not measured: {why}")
    write(arguments, "informer", rows, lambda rows: set(map(case, rows)))
    plots = [arguments.plot] if arguments.plot is not None else []
    if arguments.keep:
        plots.append(HERE.parent / "docs" / "informer.svg")
    if plots:
        from plot import informer_plot

        for plot in plots:
            plot.write_text(informer_plot([row for row in rows if row["workload"] == "pods"]))


if __name__ == "__main__":
    main()
