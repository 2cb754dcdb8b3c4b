"""Additions of a program to ``sp.main``: options, a lifespan, runnables, metrics."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.programs import program as program_of

import setpoint as sp
from setpoint.cli.program import program
from setpoint.models.core_v1 import ConfigMap

APP = """
import asyncio, urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from prometheus_client import REGISTRY, Counter
import setpoint as sp
from setpoint.models.core_v1 import ConfigMap

SEEN = Counter("things_seen", "Things.")

@dataclass
class Options:
    region: str = "eu"
    \"\"\"Where things are made.\"\"\"
    dry: bool = False

@dataclass
class App:
    region: str
    address: str = ""

class Ticker:
    leader_only = False

    async def run(self) -> None:
        print("ticking", flush=True)
        await asyncio.Event().wait()

@asynccontextmanager
async def lifespan(program: sp.Program[Options]) -> AsyncIterator[App]:
    print("opened", program.options, flush=True)
    program.manager.add(Watcher(program.manager))
    yield App(program.options.region)
    print("closed", flush=True)

class Watcher:
    leader_only = False

    def __init__(self, manager) -> None:
        self.manager = manager

    async def run(self) -> None:
        while True:
            await asyncio.sleep(0.05)
            server = self.manager.metrics_server
            if server is not None and server.port and SEEN._value.get():
                url = f"http://127.0.0.1:{server.port}/metrics"
                page = (await asyncio.to_thread(lambda: urllib.request.urlopen(url).read())).decode()
                print("served", [line for line in page.splitlines() if line.startswith("things_seen_total")],
                      "controller_runtime_reconcile_total" in page, flush=True)
                await asyncio.Event().wait()

async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
    SEEN.inc()
    print("reconciled in", ctx.state(App).region, flush=True)

if __name__ == "__main__":
    controller = sp.Controller(ConfigMap, reconcile, namespace="kube-system", name="seer")
    sp.main(controller, Ticker(), name="seer.example.com", options=Options, lifespan=lifespan, registry=REGISTRY)
"""


async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
    """Nothing to do."""


async def test_a_program_has_options_a_lifespan_runnables_and_metrics_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "seer.py"
    file.write_text(APP.replace('namespace="kube-system"', 'namespace="default"'))
    words = (file, "run", "--embedded", "--region", "us", "--dry", "--metrics-bind-address", "127.0.0.1:0")
    config = tmp_path / "config"
    async with program_of(*words, "--write-kubeconfig", config, home=tmp_path) as running:
        await running.until(lambda p: any("ticking" in line for line in p.out), "the runnable")
        async with sp.Client.from_kubeconfig(config) as client:
            await client.create(ConfigMap.named("a", "default"))
            await running.until(lambda p: any(line.startswith("served") for line in p.out), "the page of metrics")
        assert await running.signalled(signal.SIGTERM) == 0, running.printed()
    assert running.out[0] == "opened Options(region='us', dry=True)"
    assert "reconciled in us" in running.out
    (served,) = [line for line in running.out if line.startswith("served")]
    assert served.endswith("True")
    assert "things_seen_total " in served
    assert running.out[-1] == "closed"


def test_the_help_names_the_options_of_the_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    @dataclass
    class Options:
        region: str = "eu"

    app = program("seer.py", sp.Operator([sp.Controller(ConfigMap, reconcile)], options=Options))
    with pytest.raises(SystemExit) as ended:
        app(["run", "--help"])
    assert ended.value.code == 0
    help = capsys.readouterr().out
    assert "--region" in help
    assert "--own" not in help
    app = program("seer.py", sp.Operator([sp.Controller(ConfigMap, reconcile)]))
    with pytest.raises(SystemExit):
        app(["run", "--help"])
    assert "--own" not in capsys.readouterr().out


@dataclass
class Namespaced:
    namespace: str = "x"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (Namespaced, "Namespaced.namespace: run already has a flag of that name"),
        (dict, "options= takes a dataclass, whose fields are the program's own flags, not <class 'dict'>"),
    ],
)
def test_options_that_can_not_be_flags_are_said(options: Any, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        sp.main(sp.Controller(ConfigMap, reconcile), argv=["run"], options=options, lifespan=None)  # type: ignore[arg-type]
    assert message in capsys.readouterr().err
