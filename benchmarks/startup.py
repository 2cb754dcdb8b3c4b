"""The cost of an operator's process until its caches have synced, and of a server's, beside another checkout.

    git clone . ../before && git -C ../before checkout COMMIT && make -C ../before .venv/.dev
    python benchmarks/startup.py --before ../before

The process is ``python examples/mykind.py run``, with health checks, against ``setpoint server`` with one node; with
``webhooks``, a program with an admission, which serves it over HTTPS, too; ``server`` is ``setpoint server``. CPU
seconds and the peak of the resident memory are read from ``/proc`` when ``/readyz`` answers, or when the server has
printed its address. Checkouts take turns; the figures are medians. Bytecode is compiled before anything is measured, as
it is in an image.
"""

from __future__ import annotations

import argparse
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

from report import output_options, write

from setpoint.webhook.certificate_authority import issue, make_authority

HERE = Path(__file__).resolve().parent.parent
LIMIT = 120.0
"""Seconds until a process has to be ready."""
PROGRAM = """
import sys
sys.path.insert(0, {examples!r})
import setpoint as sp
from mykind import Mykind, controller

def check(mykind: Mykind, review: sp.Review[Mykind]) -> None: ...

if __name__ == "__main__":
    sp.main(controller, sp.Admission(Mykind).validates(check))
"""


class Cost(NamedTuple):
    cpu: float
    """CPU seconds, user and system."""
    peak: float
    """The peak of the resident memory, in MB."""


def environment(checkout: Path, folder: Path) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "PYTHONPATH": str(checkout / "src"), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


@contextmanager
def cluster(folder: Path) -> Iterator[Path]:
    """The kubeconfig of a server that has the definition of Mykind."""
    kubeconfig = folder / "kubeconfig"
    words = [sys.executable, "-m", "setpoint", "server", "--port", "0", "--write-kubeconfig", str(kubeconfig)]
    server = subprocess.Popen(words, env=environment(HERE, folder), stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + LIMIT
        while not kubeconfig.exists():
            if time.monotonic() > end:
                raise SystemExit("the server is not ready")
            time.sleep(0.1)
        words = [sys.executable, str(HERE / "examples" / "mykind.py"), "manifests"]
        manifests = subprocess.run(words, env=environment(HERE, folder), capture_output=True, check=True).stdout
        kubectl = [str(Path(sys.executable).parent / "kubectl"), "--kubeconfig", str(kubeconfig), "apply", "-f", "-"]
        subprocess.run(kubectl, input=manifests, stdout=subprocess.DEVNULL, check=True)
        yield kubeconfig
    finally:
        server.terminate()
        server.wait()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def measure(checkout: Path, program: Path, words: list[str], folder: Path) -> Cost:
    port = free_port()
    python = checkout / ".venv" / "bin" / "python"
    command = [str(python), str(program), "run", "--health-probe-bind-address", f"127.0.0.1:{port}", *words]
    process = subprocess.Popen(
        command, env=environment(checkout, folder), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        end = time.monotonic() + LIMIT
        while not is_ready(port):
            if time.monotonic() > end or process.poll() is not None:
                raise SystemExit(f"{checkout}: not ready")
            time.sleep(0.05)
        return cost_of(process.pid)
    finally:
        process.terminate()
        process.wait()


def measure_server(checkout: Path, folder: Path) -> Cost:
    command = [str(checkout / ".venv" / "bin" / "python"), "-m", "setpoint", "server", "--port", "0"]
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, env=environment(checkout, folder), cwd=folder, stdout=pipe, stderr=null) as process:
        assert process.stdout is not None
        try:
            if b"serving" not in process.stdout.readline():
                raise SystemExit(f"{checkout}: the server is not ready")
            return cost_of(process.pid)
        finally:
            process.terminate()


def cost_of(process: int) -> Cost:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    status = Path(f"/proc/{process}/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    return Cost((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), peak / 1024)


def is_ready(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="another checkout, with its own .venv")
    parser.add_argument("--runs", type=int, default=7)
    output_options(parser, "startup")
    options = parser.parse_args()
    checkouts = {"before": options.before.resolve()} if options.before else {}
    checkouts["now"] = HERE
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="startup-") as name:
        folder = Path(name)
        now = datetime.now(UTC)
        authority = make_authority("benchmark", now=now, lifetime=timedelta(days=1))
        pair = issue(authority, ["localhost"], now=now, lifetime=timedelta(hours=12))
        (folder / "tls.crt").write_bytes(pair.certificate)
        (folder / "tls.key").write_bytes(pair.key)
        with cluster(folder) as kubeconfig:
            for work in ("controller", "webhooks", "server"):
                costs: dict[str, list[Cost]] = {label: [] for label in checkouts}
                for turn in range(options.runs + 1):  # the first turn compiles the bytecode
                    for label, checkout in checkouts.items():
                        program, words = checkout / "examples" / "mykind.py", ["--kubeconfig", str(kubeconfig)]
                        if work == "webhooks":
                            program = folder / f"{label}.py"
                            program.write_bytes(PROGRAM.format(examples=str(checkout / "examples")).encode())
                            words += ["--webhook-cert-dir", str(folder), "--webhook-port", str(free_port())]
                        if work == "server":
                            cost = measure_server(checkout, folder)
                        else:
                            cost = measure(checkout, program, words, folder)
                        if turn:
                            costs[label].append(cost)
                for label, measured in costs.items():
                    cpu = statistics.median(cost.cpu for cost in measured)
                    peak = statistics.median(cost.peak for cost in measured)
                    rows.append({"work": work, "checkout": label, "cpu_s": round(cpu, 3), "peak_mb": round(peak, 1)})
                    print(f"{work:<12} {label:<8} {cpu:.2f} s of CPU, {peak:.1f} MB")
    report = {"date": datetime.now(UTC).date().isoformat(), "python": platform.python_version(), "rows": rows}
    write(options, "startup", report, _measured)


def _measured(report: dict[str, Any]) -> set[str]:
    return {f"{row['work']} {row['checkout']}" for row in report["rows"]}


if __name__ == "__main__":
    main()
