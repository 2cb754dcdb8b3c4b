"""``setpoint crd migrate``: what it remembers, what it shows, and how it ends."""

from __future__ import annotations

import asyncio
import os
import pty
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.programs import program, server
from tests.transports import Through

from setpoint.apiserver import ApiServer
from setpoint.apps.storage_migration import Progress
from setpoint.cli.crd_migrate import migrate
from setpoint.client import Client, InProcessTransport
from setpoint.client.transport import Request
from setpoint.crd import Conversion, CustomResource, crd_for
from setpoint.meta import Model, from_wire
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.testing import virtual_time

NAME = "things.example.com"
MANY = 1100
"""Objects; three pages."""


class Spec(Model):
    size: int = 1


class ThingV1(CustomResource, group="example.com", version="v1", kind="Thing"):
    spec: Spec = Spec()


class OldThing(CustomResource, group="example.com", version="v1", kind="Thing", storage=False):
    spec: Spec = Spec()


class Thing(CustomResource, group="example.com", version="v2", conversions=[Conversion(OldThing)]):
    spec: Spec = Spec()


class Stopped(Exception):
    """The process is gone."""


class Recording(Through):
    """A transport that counts patches of things and can end in the middle."""

    def __init__(self, server: ApiServer) -> None:
        super().__init__(InProcessTransport(server.handle))
        self.patched: list[str] = []
        self.last = 0
        """After so many patches nothing goes out any more; 0 is never."""

    def send(self, request: Request) -> Any:
        if request.method == "PATCH" and "/things/" in request.path:
            if self.last and len(self.patched) >= self.last:
                raise Stopped
            self.patched.append(request.path.rpartition("/")[2])
        return self.inner.send(request)


async def prepare(client: Client, count: int) -> None:
    """``count`` things stored as v1, where v2 is what should be stored."""
    await client.create(from_wire(CustomResourceDefinition, crd_for(ThingV1)))
    async with client.watch(CustomResourceDefinition) as events:
        async for event in events:
            if isinstance(event.object, CustomResourceDefinition) and event.object.is_established:
                break
    for index in range(count):
        await client.create(ThingV1.named(f"t{index:04}", "default"))
    await client.patch(CustomResourceDefinition, NAME, {"spec": {"versions": crd_for(Thing)["spec"]["versions"]}})


async def stored(client: Client) -> list[str]:
    return (await client.get(CustomResourceDefinition, NAME)).status.stored_versions


@virtual_time
async def test_a_process_that_died_is_taken_up_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = tmp_path / "state.json"
    async with ApiServer() as api:
        transport = Recording(api)
        async with Client(transport) as client:
            await prepare(client, MANY)
            transport.last = 600
            with pytest.raises(BaseExceptionGroup):
                await migrate(client, NAME, state)
            progress = msgspec.json.decode(state.read_bytes(), type=Progress)
            assert (progress.storage, progress.after) == ("v2", "default/t0499")
            assert os.listdir(tmp_path) == ["state.json"]
            assert await stored(client) == ["v1", "v2"]

            first, transport.patched, transport.last = set(transport.patched), [], 0
            await migrate(client, NAME, state)
            assert len(transport.patched) == MANY - 500
            assert first | set(transport.patched) == {f"t{index:04}" for index in range(MANY)}
            assert await stored(client) == ["v2"]
    assert not state.exists()
    assert capsys.readouterr().err == f"{NAME}: objects written: {MANY - 500}, stored versions: v2\n"


@virtual_time
async def test_a_state_that_is_rubbish_or_somebody_elses_counts_for_nothing(tmp_path: Path) -> None:
    for rubbish in (b"{", b'{"uid": "other", "generation": 2, "storage": "v2", "after": "default/t9999"}'):
        (state := tmp_path / "state.json").write_bytes(rubbish)
        async with ApiServer() as api:
            transport = Recording(api)
            async with Client(transport) as client:
                await prepare(client, 3)
                await migrate(client, NAME, state)
                assert len(transport.patched) == 3


async def test_on_a_terminal_there_is_a_bar_and_a_failure_is_one_line(tmp_path: Path) -> None:
    async with server(tmp_path) as (_, _, kubeconfig), Client.from_kubeconfig(kubeconfig) as client:
        await prepare(client, 20)
        shown = await on_a_terminal("crd", "migrate", NAME, "--kubeconfig", str(kubeconfig), home=tmp_path)
        assert f"{NAME}: objects written: 20, stored versions: v2" in shown
        assert "━" in shown
        assert "20/20" in shown
        assert not list(tmp_path.rglob("crd-migrate-*"))

        words = ("-m", "setpoint", "crd", "migrate", "nothing.example.com", "--kubeconfig", kubeconfig)
        async with program(*words, home=tmp_path) as running:
            assert await running.ended() == 2
            (line,) = running.err
            assert line.startswith("setpoint crd migrate: ")
            assert "nothing.example.com" in line


async def on_a_terminal(*words: str, home: Path) -> str:
    """The output of ``setpoint WORDS`` on a terminal. It must exit with 0."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "HOME": str(home), "TERM": "xterm", "COLUMNS": "120"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "setpoint", *words), stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    shown = b""
    while more := await asyncio.to_thread(_read, ours):
        shown += more
    os.close(ours)
    assert await process.wait() == 0, shown.decode()
    return shown.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # it has no writer any more
        return b""
