"""Without the modules and functions that Windows lacks, everything but what needs processes works, and that says so."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.programs import program

ROOT = Path(__file__).parents[1]
WITHOUT_UNIX = ROOT / "tests" / "without_unix.py"
SETPOINT = "from setpoint.starting import setpoint; setpoint()"


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, WITHOUT_UNIX, *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )


def test_clients_informers_controllers_and_managers_run() -> None:
    ended = run("examples/demo.py")
    assert ended.returncode == 0, ended.stderr
    assert "converged (" in ended.stdout + ended.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])  # the latter stands for SIGBREAK there
async def test_a_signal_stops_a_program_in_order(tmp_path: Path, number: signal.Signals) -> None:
    async with program(WITHOUT_UNIX, ROOT / "examples/mykind.py", "run", "--embedded", home=tmp_path) as mykind:
        await mykind.until(lambda running: "controller=mykind" in running.printed(), "start of the controller")
        assert await mykind.signalled(number) == 0, mykind.printed()
        assert "stopping" in mykind.printed()


async def test_a_server_with_a_data_directory_starts_again(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SETPOINT)
    words = ("server", "--port", "0", "--data-dir", tmp_path / "data")
    for _ in range(2):
        async with program(WITHOUT_UNIX, tmp_path / "server.py", *words, home=tmp_path) as server:
            await server.until(lambda running: "kubectl needs a kubeconfig" in running.printed(), "start of the server")
            assert await server.signalled(signal.SIGINT) == 0, server.printed()


def test_a_simulation_runs_in_this_process(tmp_path: Path) -> None:
    script = tmp_path / "simulated.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'examples')!r})\nimport setpoint as sp\nimport test_mykind\n"
        "report = test_mykind.simulated(sp.simulation.Budget(runs=8))\nprint(report.runs)\n"
    )
    ended = run(script)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("examples/mykind.py", "run", "--processes", "2"), "--processes needs sockets that child processes inherit"),
        (("examples/mykind.py", "run", "--measure", "measured.json"), "--measure needs getrusage"),
    ],
)
def test_flags_that_need_unix_say_so(words: tuple[str, ...], message: str) -> None:
    ended = run(*words)
    assert ended.returncode == 1
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr


def test_nodes_that_run_processes_are_refused(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SETPOINT)
    ended = run(tmp_path / "server.py", "server", "--nodes", "local")
    assert ended.returncode == 1
    assert "--nodes: local needs process groups, which Windows lacks" in ended.stderr
