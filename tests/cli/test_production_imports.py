"""The imports of the commands of a program in production: no server, no simulation, and little of everything else."""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import mykind
import pytest
from tests.ports import reserved_port
from tests.programs import Program, program

from setpoint.apiserver import ApiServer, HttpFront
from setpoint.client import Client, InProcessTransport
from setpoint.crd import crd_for
from setpoint.meta import from_wire
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.webhook.certificate_authority import issue, make_authority

pytestmark = pytest.mark.wall_clock

APP = Path(__file__).parents[2] / "examples" / "mykind.py"
WORLD = ("apiserver", "cluster", "testing", "simulation", "torture", "cel")
OTHERS = ("aiohttp", "cryptography", "wsproto", "cloudpickle", "mcp", "pydantic")
RUNS = """
import atexit, json, runpy, sys
from pathlib import Path

def report():
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    peak = next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)
    Path({report!r}).write_text(json.dumps([sorted(sys.modules), peak]))

atexit.register(report)
sys.argv = {words!r}
if sys.argv[0].endswith(".py"):
    runpy.run_path(sys.argv[0], run_name="__main__")
else:
    from setpoint.starting import setpoint
    setpoint()
"""


@asynccontextmanager
async def started(tmp_path: Path, *words: str) -> AsyncIterator[Program]:
    code = RUNS.format(report=str(tmp_path / "report"), words=list(words))
    async with program("-c", code, home=tmp_path) as running:
        yield running


def check(tmp_path: Path, modules: int, megabytes: int) -> None:
    """The modules and the memory that the program has reported are within the budget."""
    names, peak = json.loads((tmp_path / "report").read_text())
    world = [name for name in names if name.startswith(tuple(f"setpoint.{package}" for package in WORLD))]
    assert not world, world
    assert not {name.partition(".")[0] for name in names} & {*OTHERS}
    own = [name for name in names if name.partition(".")[0] == "setpoint"]
    assert len(own) <= modules, (len(own), own)
    assert peak <= megabytes * 1024, f"{peak} KB"


async def test_run_with_metrics_and_health(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    async with ApiServer() as server, HttpFront(server) as front:
        async with Client(InProcessTransport(server.handle)) as client:
            await client.create(from_wire(CustomResourceDefinition, crd_for(mykind.Mykind)))
        kubeconfig.write_text(json.dumps(front.kubeconfig()))
        words = ("run", "--kubeconfig", str(kubeconfig), "--leader-elect", "--metrics-bind-address", "127.0.0.1:0")
        health = ("--health-probe-bind-address", "127.0.0.1:0")
        async with started(tmp_path, str(APP), *words, *health) as running:
            await running.until(lambda p: any("controller started" in line for line in p.err), "controller")
            assert await running.signalled(signal.SIGTERM) == 0, running.printed()
    check(tmp_path, modules=322, megabytes=55)


async def test_webhook(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    authority = make_authority("test", now=now, lifetime=timedelta(days=1))
    pair = issue(authority, ["localhost"], now=now, lifetime=timedelta(hours=1))
    (tmp_path / "tls.crt").write_bytes(pair.certificate)
    (tmp_path / "tls.key").write_bytes(pair.key)
    app = tmp_path / "app.py"
    app.write_text(
        "import setpoint as sp\n\n\nclass Shop(sp.CustomResource, group='shops.example.com', version='v1'): ...\n\n\n"
        "def check(shop: Shop, review: sp.Review[Shop]) -> None: ...\n\n\n"
        "admission = sp.Admission(Shop).validates(check)\n"
    )
    with reserved_port() as port:
        words = ("setpoint", "webhook", str(app), "--cert-dir", str(tmp_path), "--port", str(port))
        async with started(tmp_path, *words, "--drain-delay", "0") as running:
            await running.until(lambda p: any("webhooks are served" in line for line in p.err), "server")
            assert await running.signalled(signal.SIGTERM) == 0, running.printed()
    check(tmp_path, modules=320, megabytes=52)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ([str(APP), "manifests"], 0),
        ([str(APP), "run", "--help"], 0),
        (["setpoint", "explain", "pod", "default/a", "-a", "127.0.0.1:1"], 1),
        (["setpoint", "top", "--once", "-a", "127.0.0.1:1"], 1),
    ],
    ids=lambda value: value[1] if isinstance(value, list) else "",
)
async def test_commands_that_end(words: list[str], status: int, tmp_path: Path) -> None:
    async with started(tmp_path, *words) as running:
        assert await running.ended() == status, running.printed()
    check(tmp_path, modules=332, megabytes=58)
