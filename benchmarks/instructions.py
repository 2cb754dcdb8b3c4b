"""Two checkouts compared by instructions: figures that other programs on the machine do not change.

    git clone . ../before && git -C ../before checkout COMMIT && make -C ../before .venv/.dev
    python benchmarks/instructions.py --before ../before
    python benchmarks/instructions.py --before ../before --work apply keep

valgrind's callgrind counts the instructions of a whole process, which does some work a few times, and then many times:
the difference, divided by the additional times, is the cost of one. So the figures contain neither the start of a
process nor the kernel's work nor the processor's waits for memory; the other benchmarks measure seconds. The server is
that of this checkout, on both sides.

* ``informer``: a pod in a streamed list, and one event for it. ``pods``: the same, with a reconcile for each of both.
* ``create``, ``apply`` and ``keep``: an object of a custom kind with five children, until its status tells of them.
* ``get`` and ``patch`` of a small pod; ``list``: 2,000 pods, whose objects are not looked at.
* ``default`` and ``validate``: an AdmissionReview of an object of 5 KB; ``convert``: a ConversionReview of 100.
"""

from __future__ import annotations

import argparse
import multiprocessing
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import informer
from report import output_options, write

import client
import controller
import webhook
from setpoint.webhook.certificate_authority import issue, make_authority

HERE = Path(__file__).resolve().parent
LIMIT = 900.0
"""Seconds for one process under valgrind, which makes it about fifty times as slow."""

Run = Callable[[list[str], int], None]
"""Runs a command, which does its work so many times."""


def reads(verb: str) -> Run:
    def run(command: list[str], times: int) -> None:
        near, far = multiprocessing.Pipe()
        server = multiprocessing.Process(target=client.serve, args=(far,), daemon=True)
        server.start()
        try:
            subprocess.run([*command, verb, f"http://127.0.0.1:{near.recv()}", str(times)], check=True, timeout=LIMIT)
        finally:
            server.terminate()
            server.join()

    return run


def informs(command: list[str], times: int) -> None:
    informer.measure("setpoint", [*command, "{server}", "{count}"], times, "streamed", LIMIT)


def reconciles(command: list[str], times: int) -> None:
    controller.pods("setpoint", [*command, "{server}", "{count}", "{work}"], times, "streamed", LIMIT)


def children(how: str) -> Run:
    def run(command: list[str], times: int) -> None:
        controller.children("setpoint", [*command, "{server}", "{count}", "{work}"], times, how, LIMIT)

    return run


@contextmanager
def certificates() -> Iterator[tuple[Path, ssl.SSLContext]]:
    now = datetime.now(UTC)
    authority = make_authority("benchmark", now=now, lifetime=timedelta(days=1))
    pair = issue(authority, [webhook.HOST, "localhost"], now=now, lifetime=timedelta(hours=12))
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    context.set_alpn_protocols(["http/1.1"])
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tls.crt").write_bytes(pair.certificate)
        (Path(folder) / "tls.key").write_bytes(pair.key)
        yield Path(folder), context


def reviews(path: str, body: Callable[[], bytes]) -> Run:
    def run(command: list[str], times: int) -> None:
        with certificates() as (folder, context):
            server = webhook.Server([*command, str(folder)])
            try:
                connection = webhook.Connection(server.port, context)
                for _ in range(times):
                    connection.post(path, body())
                connection.close()
            finally:
                server.stop()

    return run


WORK: dict[str, tuple[str, Run, int, int]] = {
    "informer": ("setpoint_informer.py", informs, 500, 2500),
    "pods": ("setpoint_controller.py", reconciles, 500, 2000),
    "create": ("setpoint_controller.py", children("create"), 40, 120),
    "apply": ("setpoint_controller.py", children("apply"), 40, 120),
    "keep": ("setpoint_controller.py", children("keep"), 40, 120),
    "get": ("setpoint_verbs.py", reads("get"), 50, 250),
    "patch": ("setpoint_verbs.py", reads("patch"), 50, 250),
    "list": ("setpoint_verbs.py", reads("list"), 2, 5),
    "default": ("setpoint_webhook.py", reviews(webhook.PATHS["default"], webhook.admission_review), 50, 450),
    "validate": ("setpoint_webhook.py", reviews(webhook.PATHS["validate"], webhook.admission_review), 50, 450),
    "convert": ("setpoint_webhook.py", reviews(webhook.PATHS["convert"], lambda: webhook.conversion_review(100)), 2, 6),
}
"""For each work: the program, how to run it, and how many times at first and then."""


def instructions(tree: Path, program: str, run: Run, times: int) -> int:
    """The instructions of a process of the checkout ``tree``, from its start to its end."""
    script = tree / "benchmarks" / "peers" / program
    if not script.exists():
        script = HERE / "peers" / program
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts"
        valgrind = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={counts}"]
        run([*valgrind, str(tree / ".venv" / "bin" / "python"), str(script)], times)
        for line in counts.read_text().splitlines():
            if line.startswith("totals:"):
                return int(line.split()[1])
    raise RuntimeError(f"valgrind did not count the instructions of {script}")


def each(tree: Path, work: str) -> float:
    """The instructions that one of the work takes."""
    program, run, few, many = WORK[work]
    return (instructions(tree, program, run, many) - instructions(tree, program, run, few)) / (many - few)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, metavar="DIR", help="the other checkout, with its .venv")
    parser.add_argument("--work", nargs="+", default=list(WORK), choices=list(WORK))
    output_options(parser, "instructions")
    options = parser.parse_args()
    before, now = options.before.resolve(), HERE.parent
    rows = {}
    print(f"{'work':12}{'before':>14}{'now':>14}{'ratio':>8}")
    for work in options.work:
        old, new = each(before, work), each(now, work)
        rows[work] = {"before": round(old), "now": round(new), "ratio": round(new / old, 3)}
        print(f"{work:12}{old:>14,.0f}{new:>14,.0f}{new / old:>8.2f}", flush=True)
    write(options, "instructions", rows, lambda report: {*report})
    return 0


if __name__ == "__main__":
    sys.exit(main())
