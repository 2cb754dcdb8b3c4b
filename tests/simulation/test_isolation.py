"""Connections, subprocesses and foreign files of simulated processes are refused, and the report says what to do."""

from __future__ import annotations

import asyncio
import http.client
import multiprocessing
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import urllib.request
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from tests.simulation.kinds import App

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import Budget, Counterexample, External, call, check

FEW = Budget(runs=8)


async def create_one(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default"))
    await cluster.settle()


@pytest.fixture
def real() -> Iterator[tuple[str, list[str]]]:
    """The address of a real server, and the requests that it has got."""
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}", requests
        server.shutdown()
        thread.join()


def refusals(*acts: Callable[[], object], workers: int | None = None) -> list[str]:
    """The findings about a program that does all this in a plain reconcile function, and goes on regardless."""

    def reconcile(app: App, ctx: sp.SyncContext) -> None:
        for act in acts:
            with suppress(Exception):  # as programs do that believe the other side is down
                act()

    with pytest.raises(Counterexample) as caught:
        check(create_one, lambda: [sp.Controller(App, reconcile)], budget=FEW, workers=workers)
    findings = caught.value.findings
    assert all(finding.oracle == "error" and "External" in finding.message for finding in findings)
    assert len(findings) == len(acts)
    return [finding.message for finding in findings]


@pytest.mark.parametrize("workers", [0, None])
def test_no_request_of_a_plain_function_reaches_a_real_server(real: tuple[str, list[str]], workers: int | None) -> None:
    address, requests = real

    def urllib_posts() -> None:
        urllib.request.urlopen(f"http://{address}/urllib", data=b"x")

    def http_client_posts() -> None:
        connection = http.client.HTTPConnection(address)
        connection.request("POST", "/client", b"x")

    for refusal in refusals(urllib_posts, http_client_posts, workers=workers):
        assert "opens a connection" in refusal
        assert "test_isolation.py:" in refusal
    assert not requests


def test_a_thread_that_a_reconcile_starts_has_no_network_either(real: tuple[str, list[str]]) -> None:
    address, requests = real

    def post() -> None:
        thread = threading.Thread(target=lambda: urllib.request.urlopen(f"http://{address}/", data=b"x"), daemon=True)
        thread.start()
        thread.join()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading, "excepthook", lambda _: None)
        assert "opens a connection" in refusals(post)[0]
    assert not requests


def test_sockets_of_every_kind_are_refused() -> None:
    def listens() -> None:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))

    def sends() -> None:
        with socket.socket(type=socket.SOCK_DGRAM) as one:
            one.sendto(b"x", ("127.0.0.1", 9))

    def connects() -> None:
        with socket.socket() as one:
            one.connect(("127.0.0.1", 9))

    def connects_to_a_path() -> None:
        with socket.socket(socket.AF_UNIX) as one:
            one.connect("/run/agent.socket")

    def sends_parts() -> None:
        with socket.socket(type=socket.SOCK_DGRAM) as one:
            one.sendmsg([b"x"], (), 0, ("127.0.0.1", 9))

    acts = (listens, sends, connects, connects_to_a_path, sends_parts, lambda: socket.getaddrinfo("localhost", 80))
    for refusal in refusals(*acts, lambda: socket.gethostbyname("localhost")):
        assert "opens a connection" in refusal


def test_subprocesses_are_refused(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    touch = f"import pathlib; pathlib.Path({str(trace)!r}).touch()"
    for refusal in refusals(
        lambda: subprocess.run([sys.executable, "-c", touch], check=False),
        lambda: os.system(f"touch {trace}"),
        lambda: os.posix_spawn(sys.executable, [sys.executable, "-c", touch], {}),
        lambda: multiprocessing.get_context("spawn").Process(target=os.mkdir, args=(trace,)).start(),
        lambda: multiprocessing.get_context("fork").Process(target=os.mkdir, args=(trace,)).start(),
    ):
        assert "starts a subprocess" in refusal
    assert not trace.exists()


def test_signals_to_real_processes_are_refused() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        terminate = lambda: os.kill(process.pid, signal.SIGTERM)  # noqa: E731
        for refusal in refusals(terminate, lambda: os.killpg(0, signal.SIGCONT)):
            assert "sends a signal to a process" in refusal
        assert process.poll() is None
        process.kill()


def test_files_outside_of_the_project_are_left_alone(tmp_path: Path) -> None:
    kept, fresh = tmp_path / "kept", tmp_path / "fresh"
    kept.write_text("as it was")

    def database() -> None:
        sqlite3.connect(fresh).execute("create table t (a)")

    for refusal in refusals(
        lambda: kept.write_text("changed"),
        lambda: fresh.write_text("new"),
        lambda: fresh.mkdir(),
        lambda: kept.unlink(),
        lambda: kept.rename(fresh),
        lambda: os.close(os.open(fresh, os.O_CREAT | os.O_WRONLY)),
        lambda: os.unlink("kept", dir_fd=os.open(tmp_path, os.O_RDONLY)),
        lambda: os.mkdir("fresh", dir_fd=os.open(tmp_path, os.O_RDONLY)),
        lambda: os.setxattr(kept, "user.kept", b"no"),
        database,
    ):
        assert "outside of the project" in refusal
    assert kept.read_text() == "as it was"
    assert not fresh.exists()


def test_reading_files_and_writing_in_the_project_is_no_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, other = tmp_path / "project", tmp_path / "other"
    project.mkdir()
    other.write_text("settings")
    monkeypatch.chdir(project)

    def reconcile(app: App, ctx: sp.SyncContext) -> None:
        Path("cache").write_text(other.read_text())
        Path(os.devnull).write_text("")
        Path("folder").mkdir(exist_ok=True)
        Path("folder", "link").symlink_to(other)
        os.chdir("/")
        shutil.rmtree(project / "folder")
        os.chdir(project)
        with sqlite3.connect(":memory:") as memory:
            memory.execute("create table t (a)")
        ctx.apply(ConfigMap.named(app.name, data={"settings": other.read_text()}))

    check(create_one, lambda: [sp.Controller(App, reconcile).owns(ConfigMap)], budget=FEW)


def test_connections_of_asyncio_are_findings_too() -> None:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        with suppress(Exception):
            await asyncio.open_connection("127.0.0.1", 9)

    with pytest.raises(Counterexample, match=r"create_connection.*External"):
        check(create_one, lambda: [sp.Controller(App, reconcile)], budget=FEW)


def test_what_a_lifespan_opens_is_refused(real: tuple[str, list[str]]) -> None:
    address, requests = real

    @asynccontextmanager
    async def lifespan(manager: sp.Manager) -> AsyncGenerator[str]:
        socket.create_connection(tuple(address.split(":")))  # type: ignore[arg-type]
        yield "session"

    async def reconcile(app: App, ctx: sp.Context) -> None:
        ctx.state(str)

    with pytest.raises(Counterexample, match="opens a connection"):
        check(create_one, lambda: [sp.Controller(App, reconcile)], lifespan=lifespan, budget=FEW)
    assert not requests


def test_users_and_stand_ins_act_as_before(real: tuple[str, list[str]]) -> None:
    address, requests = real

    class Hook(External):
        def __init__(self) -> None:
            self.posted: dict[str, str] = {}

        @call
        def post(self, name: str) -> None:
            self.posted[name] = "once"

    hook = Hook()

    def reconcile(app: App, ctx: sp.SyncContext) -> None:
        hook.post(app.name)

    async def scenario(cluster: sp.testing.Cluster) -> None:
        await create_one(cluster)
        with socket.create_connection(tuple(address.split(":"))):  # type: ignore[arg-type]
            pass

    check(scenario, lambda: [sp.Controller(App, reconcile)], externals=[hook], budget=FEW)
    with socket.create_connection(tuple(address.split(":"))):  # type: ignore[arg-type]
        pass
    assert not requests
