"""Ctrl-C: what a program says, and that it ends whatever its reconciles do."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tests.programs import program

PROGRAM = """
import asyncio
import setpoint as sp
from setpoint.models.core_v1 import Namespace

async def reconcile(obj: Namespace, ctx: sp.Context) -> None:
    print("began", ctx.key, flush=True)
    await asyncio.Event().wait()

sp.main(sp.Controller(Namespace, reconcile, name="waiter", workers=1))
"""

STUBBORN = """
import asyncio
from setpoint.apps import program_runner

program_runner.LEFT = 0.2

async def stubborn():
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            print("swallowed", flush=True)

async def work():
    global task
    task = asyncio.create_task(stubborn(), name="the stubborn one")
    print("began", flush=True)
    await asyncio.Event().wait()

program_runner.run("program", work())
"""

IN_A_THREAD = """
import asyncio, sys, threading
import setpoint as sp
from setpoint.apps import program_runner
from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.models.core_v1 import Namespace

program_runner.LEFT = 0.2

def hang(key):
    print("began", key, flush=True)
    threading.Event().wait()

def plain(obj: Namespace, ctx: sp.SyncContext) -> None:
    hang(ctx.key)

async def elsewhere(obj: Namespace, ctx: sp.Context) -> None:
    await asyncio.to_thread(hang, ctx.key)

async def work():
    function = {"plain": plain, "elsewhere": elsewhere}[sys.argv[1]]
    controller = sp.Controller(Namespace, function, name="hangs", workers=1)
    async with EmbeddedCluster() as cluster:
        options = sp.ManagerOptions(shutdown_timeout=0.1)
        await sp.Manager(cluster.client, controllers=[controller], options=options).run()

program_runner.run("program", work())
"""

FOR_EVER = """
from setpoint.manager.logging import configure

configure("text", "WARNING")
program_runner.LEFT = 1e6
threads_left = program_runner._threads_left

def leaving(*words):
    print("leaving", flush=True)
    return threads_left(*words)

program_runner._threads_left = leaving
"""


async def test_the_first_ctrl_c_says_at_once_who_is_waited_for_and_the_second_ends_it(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text(PROGRAM)
    async with program(tmp_path / "waits.py", "run", "--embedded", home=tmp_path) as running:
        await running.until(lambda p: any(line.startswith("began ") for line in p.out), "a reconcile")
        (key,) = [line.removeprefix("began ") for line in running.out if line.startswith("began ")]
        running.process.send_signal(signal.SIGINT)
        await running.until(lambda p: any("stopping" in line for line in p.err), "an answer to Ctrl-C")
        (message,) = [line for line in running.err if line.startswith("stopping")]
        assert f"stopping, waiting for waiter {key} (for " in message
        assert "Ctrl-C or SIGTERM again ends the program at once" in message
        assert await running.signalled(signal.SIGINT) == 1, running.printed()


async def test_a_task_that_never_ends_does_not_keep_a_program_from_ending(tmp_path: Path) -> None:
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    async with program(tmp_path / "stubborn.py", home=tmp_path) as running:
        await running.until(lambda p: "began" in p.out, "its begin")
        assert await running.signalled(signal.SIGINT) == 1, running.printed()
        assert "program: exits, although these have not ended:" in running.err
        assert any("the stubborn one" in line for line in running.err)
        assert any("in stubborn" in line for line in running.err)


@pytest.mark.parametrize("where", ["plain", "elsewhere"])
async def test_a_function_that_never_returns_from_its_thread_does_not_keep_a_program_from_ending(
    tmp_path: Path, where: str
) -> None:
    (tmp_path / "hangs.py").write_text(IN_A_THREAD)
    async with program(tmp_path / "hangs.py", where, home=tmp_path) as running:
        await running.until(lambda p: any(line.startswith("began ") for line in p.out), "a reconcile")
        (key,) = [line.removeprefix("began ") for line in running.out if line.startswith("began ")]
        assert await running.signalled(signal.SIGINT) == 1, running.printed()
        output = running.err[running.err.index("program: exits, although these have not ended:") :]
        assert (f"  hangs {key}" in output) == (where == "plain"), "a pool's thread is called after its key"
        assert any("in hang" in line for line in output)


async def test_a_second_ctrl_c_ends_a_program_that_waits_for_a_thread(tmp_path: Path) -> None:
    (tmp_path / "hangs.py").write_text(IN_A_THREAD.replace("program_runner.LEFT = 0.2", FOR_EVER))
    async with program(tmp_path / "hangs.py", "plain", home=tmp_path) as running:
        await running.until(lambda p: any(line.startswith("began ") for line in p.out), "a reconcile")
        running.process.send_signal(signal.SIGINT)
        await running.until(lambda p: "leaving" in p.out, "the end of its grace")
        assert any("hangs " in line and "did not end in time and were cancelled" in line for line in running.err), (
            running.printed()
        )
        assert await running.signalled(signal.SIGINT) == 1, running.printed()
