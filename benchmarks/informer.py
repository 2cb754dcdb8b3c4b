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
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
import venv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from report import KEPT, output_options, write
from workloads import WORKLOADS

HERE = Path(__file__).resolve().parent
BUILD = HERE / ".build"
PEER_PACKAGES = ("kubernetes", "lightkube", "kubernetes_asyncio")
TICK = os.sysconf("SC_CLK_TCK")
PAGE_KB = 1 / 1024

Row = dict[str, Any]


class Systems:
    """The commands of the systems under test; each gets the server's address and the number of pods as arguments."""

    def __init__(self) -> None:
        self.missing: dict[str, str] = {}
        self._go: Path | bool | None = False
        self._peers: Path | bool | None = False

    def command(self, name: str) -> list[str] | None:
        if name == "setpoint":
            return [sys.executable, str(HERE / "peers" / "setpoint_informer.py"), "{server}", "{count}", "{workload}"]
        if name in ("client-go", "controller-runtime"):
            binary = self._go_binary()
            return [str(binary), "{server}", "{count}", name] if binary else self._none(name, "Go is not installed")
        python = self._peer_python()
        script = HERE / "peers" / f"{name}_informer.py"
        if python is None:
            return self._none(name, "its packages can't be installed")
        return [str(python), str(script), "{server}", "{count}"]

    def _none(self, name: str, why: str) -> None:
        self.missing[name] = why

    def _go_binary(self) -> Path | None:
        if self._go is False:
            self._go = None
            if shutil.which("go"):
                BUILD.mkdir(exist_ok=True)
                binary = BUILD / "informer"
                subprocess.run(
                    ["go", "build", "-o", str(binary), "."], cwd=HERE / "peers" / "go" / "informer", check=True
                )
                self._go = binary
        assert not isinstance(self._go, bool)
        return self._go

    def _peer_python(self) -> Path | None:
        if self._peers is False:
            self._peers = None
            python = BUILD / "peers" / "bin" / "python"
            if not python.exists():
                venv.create(BUILD / "peers", with_pip=True)
            install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PEER_PACKAGES]
            if subprocess.run(install, check=False).returncode == 0:
                self._peers = python
        assert not isinstance(self._peers, bool)
        return self._peers


SYSTEMS = (
    "setpoint",
    "client-go",
    "controller-runtime",
    "kubernetes",
    "lightkube",
    "kubernetes_asyncio",
)
STREAMERS = ("setpoint", "client-go", "controller-runtime")
"""Those that ask for streamed lists (``sendInitialEvents``) where the server has them."""
FOLLOW_PODS = {"pods", "unlike"}
"""The workloads for the systems whose programs here follow pods, which are all but setpoint's."""


def cpu_of(pid: int) -> float:
    """Seconds of CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


class Process:
    """A system under test, spoken to by words and looked at in /proc."""

    def __init__(self, command: Sequence[str], limit: float) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONHASHSEED": "0"}
        )
        self._watchdog = threading.Timer(limit, self._process.kill)
        self._watchdog.start()

    def hear(self, word: str) -> None:
        assert self._process.stdout is not None
        heard = self._process.stdout.readline().strip()
        if heard != word:
            raise RuntimeError(f"it said {heard!r} instead of {word!r}")

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
        raise KeyError(name)

    def end(self) -> None:
        """Ends the process, so that valgrind writes what it has counted if it runs under valgrind."""
        self._process.terminate()
        self._process.wait()
        self._watchdog.cancel()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()


def measure(system: str, command: Sequence[str], count: int, lists: str, limit: float, workload: str = "pods") -> Row:
    replay = [sys.executable, str(HERE / "replay.py"), "--objects", str(count), "--lists", lists]
    server = subprocess.Popen([*replay, "--workload", workload], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        address = f"http://127.0.0.1:{int(server.stdout.readline())}"
        process = Process([part.format(server=address, count=count, workload=workload) for part in command], limit)
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


def case(row: Row) -> tuple[str, str, str, int]:
    """The system, the list, the workload and the number of objects of a row."""
    return row["system"], row["lists"], row["workload"], row["objects"]


def table(rows: Iterable[Row], base: str = "client-go") -> str:
    """In columns; in brackets how many times better than ``base`` (at the same number of objects)."""
    lines = [
        f"{'system':20}{'list':10}{'workload':10}{'objects':>9}" + "".join(f"{title:>20}" for _, title, _ in _COLUMNS)
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
        lines.append(f"{row['system']:20}{row['lists']:10}{row['workload']:10}{row['objects']:>9,}" + "".join(cells))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, nargs="+", default=[10_000], metavar="N")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--lists", nargs="+", choices=("plain", "streamed"), default=["plain", "streamed"])
    parser.add_argument("--workloads", nargs="+", choices=list(WORKLOADS), default=["pods"])
    parser.add_argument("--repeat", type=int, default=1, help="runs of each; the one with the least CPU is kept")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds that one system may take")
    output_options(parser, "informer")
    parser.add_argument("--plot", type=Path, help="write the results as an SVG; with --keep also as docs/informer.svg")
    parser.add_argument("--add", action="store_true", help="add the stored figures of other systems and numbers")
    arguments = parser.parse_args()
    systems, rows = Systems(), []
    for count, workload in itertools.product(arguments.objects, arguments.workloads):
        for name, lists in itertools.product(arguments.systems, arguments.lists):
            command = systems.command(name)
            if command is None or (lists == "streamed" and name not in STREAMERS):
                continue
            if name != "setpoint" and workload not in FOLLOW_PODS:
                continue
            print(f"{name}, {count:,} objects ({workload}), {lists} list ...", file=sys.stderr, flush=True)
            try:
                runs = [
                    measure(name, command, count, lists, arguments.limit, workload) for _ in range(arguments.repeat)
                ]
            except (RuntimeError, OSError) as problem:
                systems.missing[f"{name} at {count:,}, {workload}, {lists}"] = str(problem)
                continue
            rows.append(min(runs, key=lambda run: run["sync_cpu_s"] + run["objects"] / run["events_per_cpu_s"]))
    if arguments.add:
        measured = set(map(case, rows))
        rows += [row for row in json.loads((KEPT / "informer.json").read_text()) if case(row) not in measured]
        order = list(WORKLOADS)
        rows.sort(
            key=lambda row: (order.index(row["workload"]), row["objects"], SYSTEMS.index(row["system"]), row["lists"])
        )
    print(table(rows))
    for name, why in systems.missing.items():
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
