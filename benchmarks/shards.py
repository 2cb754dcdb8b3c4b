"""``run --shards`` and ``run --processes``: the memory of each process, and what its watches bring it, by the number
of processes.

    python benchmarks/shards.py                              # 1, 2 and 4 shards, 20,000 pods in 48 namespaces
    python benchmarks/shards.py --shards 1 2 --pods 50000 --changes 20000 --cases namespace

Each process runs a controller of pods that does nothing. When the shards have all pods, the status of some is changed;
what the changes brought to each process is read from its metrics, and then its memory. The cases:

* ``key``: shards of single keys, so each process caches all pods;
* ``namespace``: shards of namespaces, and a server that sends a part of a collection (``shardSelector``);
* ``namespace, whole lists``: the same with a server that does not know shards and sends all pods to each process;
* ``processes``: ``--processes``, so each process caches all pods;
* ``divided``: the same with ``--divide-caches``. Neither has the figures of the supervisor, which caches nothing.

``stored`` is what the cached pods take in the cache. RSS is what the system counts for a process, USS what would be
free if it ended (its private pages): the processes share the pages of the interpreter and its libraries. ``peak`` is
the highest RSS so far. ``without pods`` are the figures of a process whose server has none.
"""

from __future__ import annotations

import argparse
import itertools
import os
import platform
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import yaml
from informer import HERE, Row, cpu_of
from report import output_options, write

PROGRAM = HERE / "peers" / "setpoint_shards.py"
SERVER = HERE / "peers" / "pod_server.py"
CASES = {
    "key": (("--shards",), True),
    "namespace": (("--shards", "--shards-by", "namespace"), True),
    "namespace, whole lists": (("--shards", "--shards-by", "namespace"), False),
    "processes": (("--processes",), False),
    "divided": (("--divide-caches", "--processes"), False),
}
"""The flags of each case, and whether its server knows shards. The number of processes follows ``--processes``."""
WHOLE = ("key", "processes")
"""The cases in which each process caches all pods."""
MB = 1 / 1024
QUIET = 6.0
"""Seconds for which the expected numbers of cached pods and of events have to stay the same."""


class Server:
    """A server with pods, as a process of its own."""

    def __init__(self, pods: int, knows_shards: bool) -> None:
        words = [sys.executable, str(SERVER), str(pods), *([] if knows_shards else ["--without-shards"])]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = self._line()

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line:
            raise RuntimeError(f"the server ended with {self._process.wait()}")
        return line

    def change(self, pods: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{pods}\n")
        self._process.stdin.flush()
        self._line()

    def end(self) -> None:
        self._process.terminate()
        self._process.wait()


class Program:
    """The operator, or one replica of it."""

    def __init__(self, kubeconfig: Path, flags: Sequence[str], log: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            address = f"127.0.0.1:{listener.getsockname()[1]}"
        words = [sys.executable, str(PROGRAM), "run", "--kubeconfig", str(kubeconfig), *flags]
        self._log = log
        with log.open("w") as file:
            self._process = subprocess.Popen(
                [*words, "--metrics-bind-address", address, "--health-probe-bind-address", "0"],
                stdout=file,
                stderr=file,
            )
        self.pid = self._process.pid
        self._address = f"http://{address}/metrics"

    def metrics(self) -> str:
        """The metrics as text; empty before the program serves them."""
        if self._process.poll() is not None:
            raise RuntimeError(f"a process ended with {self._process.returncode}: {self._log.read_text()[-2000:]}")
        try:
            with urllib.request.urlopen(self._address, timeout=30) as answer:
                text: str = answer.read().decode()
        except urllib.error.URLError:
            return ""
        return text

    def end(self) -> None:
        self._process.terminate()
        self._process.wait()


class Shard:
    """One process with a part of the keys: a replica, or the child process with this ``index``."""

    def __init__(self, program: Program, index: int | None = None) -> None:
        self._program = program
        self._label = "" if index is None else f'process="{index}"'
        self._index = index

    @property
    def _pid(self) -> int:
        if self._index is None:
            return self._program.pid
        children = Path(f"/proc/{self._program.pid}/task/{self._program.pid}/children").read_text().split()
        seat = f'"index":{self._index},'.encode()
        return next(int(pid) for pid in children if seat in Path(f"/proc/{pid}/environ").read_bytes())

    def metrics(self) -> dict[str, float]:
        """The sum of each metric of the cache of pods; empty before the process serves metrics."""
        sums: dict[str, float] = {}
        for name, labels, value in re.findall(r"^(\w+)(\{.*\})? (\S+)$", self._program.metrics(), re.MULTILINE):
            if 'resource="pods"' in labels and self._label in labels:
                sums[name] = sums.get(name, 0.0) + float(value)
        return sums

    def cpu(self) -> float:
        return cpu_of(self._pid)

    def memory(self) -> tuple[float, float, float]:
        """The RSS, the USS and the highest RSS in MB."""
        folder = Path(f"/proc/{self._pid}")
        text = (folder / "smaps_rollup").read_text() + (folder / "status").read_text()
        kilobytes = {name: int(amount) for name, amount in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)}
        private = kilobytes["Private_Clean"] + kilobytes["Private_Dirty"]
        return kilobytes["Rss"] * MB, private * MB, kilobytes["VmHWM"] * MB


@contextmanager
def shards(server: Server, number: int, case: str) -> Iterator[list[Shard]]:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": {"server": server.address}}],
        "users": [{"name": "bench", "user": {}}],
        "contexts": [
            {"name": "bench", "context": {"cluster": "bench", "user": "bench", "namespace": "payments-review"}}
        ],
    }
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        file = Path(folder) / "config"
        with file.open("w") as stream:
            yaml.safe_dump(config, stream)
        flags, _ = CASES[case]
        one_pod = flags[-1] == "--processes"
        if one_pod:
            flags = (*flags, str(number)) if number > 1 else ()
        programs: list[Program] = []
        for index in range(1 if one_pod else number):
            programs.append(Program(file, flags, Path(folder) / f"log-{index}"))
            stack.callback(programs[-1].end)
        if one_pod and number > 1:
            yield [Shard(programs[0], index) for index in range(number)]
        else:
            yield [Shard(program) for program in programs]


def settled(processes: Sequence[Shard], cached: int, events: float, limit: float) -> list[dict[str, float]]:
    """The metrics of the processes when together they cache this many pods, have had at least this many events, and
    have no more of them.
    """
    deadline, quiet_since, last = time.monotonic() + limit, time.monotonic(), [(0.0, 0.0)]
    while True:
        metrics = [process.metrics() for process in processes]
        now = [(metric.get("informer_objects", -1.0), metric.get("informer_events_total", 0.0)) for metric in metrics]
        complete = sum(objects for objects, _ in now) == cached and sum(count for _, count in now) >= events
        if now != last or not complete:
            quiet_since, last = time.monotonic(), now
        elif time.monotonic() - quiet_since > QUIET:
            return metrics
        if time.monotonic() > deadline:
            raise RuntimeError(f"{cached} cached pods expected within {limit:.0f} s, but there are {now}")
        time.sleep(0.5)


def measure(server: Server, case: str, number: int, pods: int, changes: int, limit: float) -> Row:
    """One run."""
    copies = number if case in WHOLE else 1
    with shards(server, number, case) as processes:
        before = settled(processes, pods * copies, 0.0, limit)
        so_far = sum(item.get("informer_events_total", 0.0) for item in before)
        spent = [process.cpu() for process in processes]
        server.change(changes)
        after = settled(processes, pods * copies, so_far + changes * copies, limit)
        spent = [process.cpu() - begun for process, begun in zip(processes, spent, strict=True)]
        memory = [process.memory() for process in processes]

    def gained(name: str) -> list[float]:
        return [later.get(name, 0.0) - now.get(name, 0.0) for now, later in zip(before, after, strict=True)]

    return {
        "case": case,
        "shards": number,
        "pods": pods,
        "changes": changes,
        "cached": [round(item["informer_objects"]) for item in before],
        "stored_mb": [round(item.get("informer_stored_bytes", 0.0) / 1e6, 1) for item in after],
        "rss_mb": [round(rss, 1) for rss, _, _ in memory],
        "uss_mb": [round(uss, 1) for _, uss, _ in memory],
        "peak_mb": [round(peak, 1) for _, _, peak in memory],
        "events": [round(item) for item in gained("informer_events_total")],
        "received_mb": [round(item / 1e6, 1) for item in gained("reflector_received_bytes_total")],
        "cpu_ms_a_change": [round(1e3 * item / max(changes, 1), 3) for item in spent],
    }


_COLUMNS = (
    ("cached", "pods cached"),
    ("stored_mb", "stored MB"),
    ("rss_mb", "RSS MB"),
    ("uss_mb", "USS MB"),
    ("peak_mb", "peak MB"),
    ("events", "events"),
    ("received_mb", "received MB"),
    ("cpu_ms_a_change", "CPU ms a change"),
)


def table(rows: Iterable[Row]) -> str:
    """The figures of each run, with a column for each of its processes."""
    lines = []
    for row in rows:
        lines.append(f"{row['case']}, {row['shards']}")
        lines += [f"    {title:16} {', '.join(f'{value:,}' for value in row[name])}" for name, title in _COLUMNS]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, nargs="+", default=[1, 2, 4], metavar="N")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--pods", type=int, default=20_000, metavar="M")
    parser.add_argument("--changes", type=int, default=10_000, metavar="K")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds that one wait may take")
    output_options(parser, "shards")
    arguments = parser.parse_args()
    rows: list[Row] = []
    for knows_shards, cases in itertools.groupby(
        sorted(arguments.cases, key=lambda case: not CASES[case][1]), lambda case: CASES[case][1]
    ):
        server = Server(arguments.pods, knows_shards)
        try:
            for case, number in itertools.product(cases, arguments.shards):
                print(f"{case}, {number} shards ...", file=sys.stderr, flush=True)
                rows.append(measure(server, case, number, arguments.pods, arguments.changes, arguments.limit))
        finally:
            server.end()
    server = Server(0, True)
    try:
        idle = measure(server, "namespace", 1, 0, 0, arguments.limit)
    finally:
        server.end()
    print(table(rows))
    print(f"without pods: RSS {idle['rss_mb'][0]} MB, USS {idle['uss_mb'][0]} MB, peak {idle['peak_mb'][0]} MB")
    report = {
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "without_pods": {"rss_mb": idle["rss_mb"][0], "uss_mb": idle["uss_mb"][0], "peak_mb": idle["peak_mb"][0]},
        "rows": rows,
    }
    write(arguments, "shards", report, _measured)


def _measured(report: Row) -> set[str]:
    return {f"{row['case']} {row['shards']}" for row in report["rows"]}


if __name__ == "__main__":
    main()
