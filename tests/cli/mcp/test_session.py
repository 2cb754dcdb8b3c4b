"""``setpoint mcp`` as an agent meets it: the official SDK's client, over stdio, with the server in a process."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client as Agent
from mcp.client.stdio import StdioServerParameters
from mcp.types import CallToolResult, TextContent
from tests.programs import DEADLINE

import setpoint as sp
from setpoint.apiserver import ApiServer, HttpFront
from setpoint.apiserver.http_types import IncomingRequest, Response
from setpoint.client import Client, HttpTransport, InProcessTransport, TransportError, load_config
from setpoint.models.core_v1 import ConfigMap, Event, ObjectReference, Secret
from setpoint.workqueue import ItemFastSlowRateLimiter

pytestmark = pytest.mark.wall_clock

EXAMPLE = Path(__file__).parents[3] / "examples" / "mykind.py"
ESCAPE = "\x1b]0;owned\x07"
TOOLS = {
    "explain", "timeline", "top", "objects", "events", "crd_diff", "rbac", "simulate", "check", "lint", "server",
}  # fmt: skip


class Recorded(ApiServer):
    """Keeps the method and path of every request."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[tuple[str, str]] = []

    async def handle(self, request: IncomingRequest) -> Response:
        self.requests.append((request.method, request.path))
        return await super().handle(request)


@pytest.fixture(autouse=True)
def _a_client_that_lets_the_server_end_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK's client kills a server that has not ended after 2 s, and with it what the server would remove."""
    monkeypatch.setattr("mcp.client.stdio.PROCESS_TERMINATION_TIMEOUT", DEADLINE)


@asynccontextmanager
async def session(home: Path, *words: str | Path) -> AsyncIterator[Agent]:
    environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    words = ("-m", "setpoint", "mcp", "--project", home, *words)
    parameters = StdioServerParameters(
        command=sys.executable, args=[*map(str, words)], env={**environment, "HOME": str(home), "FORCE_COLOR": "1"}
    )
    async with asyncio.timeout(DEADLINE), Agent(parameters) as agent:
        yield agent


async def call(agent: Agent, tool: str, **arguments: Any) -> tuple[dict[str, Any], str]:
    """The structured content and the text of a result that is not an error."""
    result = await agent.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    assert isinstance(result.structured_content, dict)
    return result.structured_content, text_of(result)


async def error(agent: Agent, tool: str, **arguments: Any) -> str:
    result = await agent.call_tool(tool, arguments)
    assert result.is_error
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def reconcile(obj: ConfigMap, ctx: sp.Context) -> Any:
    if obj.name == "broken":
        raise RuntimeError(f"the disk {ESCAPE} is on fire")


async def test_the_tools_say_that_they_only_read_or_change_nothing_of_the_user(tmp_path: Path) -> None:
    async with session(tmp_path) as agent:
        tools = {tool.name: tool for tool in (await agent.list_tools()).tools}
    assert set(tools) == TOOLS
    for name, tool in tools.items():
        assert tool.description
        assert tool.annotations is not None
        if name in ("simulate", "rbac", "server"):
            assert tool.annotations.destructive_hint is False
        else:
            assert tool.annotations.read_only_hint is True


async def test_an_agent_finds_out_why_an_object_does_not_converge(tmp_path: Path) -> None:
    async with ApiServer() as api, Client(InProcessTransport(api.handle)) as client:
        await client.create(ConfigMap.named("broken", "default"))
        manager = sp.Manager(
            client,
            controllers=[
                sp.Controller(ConfigMap, reconcile, rate_limiter=lambda: ItemFastSlowRateLimiter(3600, 3600, 1))
            ],
            serving=sp.Serving(metrics_bind_address="127.0.0.1:0", ui=True),
        )
        async with manager:
            assert manager.metrics_server is not None
            async with session(tmp_path, "--address", f"127.0.0.1:{manager.metrics_server.port}") as agent:
                while True:  # until the first reconcile
                    answer, _ = await call(agent, "timeline", kind="cm", key="default/broken")
                    if answer["timelines"][0]["reconciles"]:
                        break
                state = ""
                while state != "backing off":  # for an hour
                    answer, text = await call(agent, "explain", kind="cm", key="default/broken")
                    (entry,) = answer["answers"]
                    state = entry["explanation"]["state"]
                assert "backing off" in text
                assert "␛[" not in text  # no colours
                answer, text = await call(agent, "timeline", kind="configmap", key="default/broken", limit=1)
                (timeline,) = answer["timelines"]
                (attempt,) = timeline["reconciles"]
                assert attempt["result"] == "error"
                assert attempt["detail"] == "RuntimeError: the disk ␛]0;owned␇ is on fire"
                assert "the disk ␛]0;owned␇ is on fire" in text
                answer, text = await call(agent, "top", find="broken")
                (process,) = answer["processes"]
                assert process["listing"]["objects"][0]["key"] == "default/broken"
                assert "controller configmap: " in text
                assert "available: configmap" in await error(agent, "explain", kind="nothing", key="a")


async def test_only_get_requests_reach_the_cluster_of_the_user(tmp_path: Path) -> None:
    async with Recorded() as api, HttpFront(api) as front, Client(InProcessTransport(api.handle)) as client:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(json.dumps(front.kubeconfig()))
        shutil.copy(EXAMPLE, tmp_path / "app.py")
        about = ObjectReference(kind="ConfigMap", name="a", namespace="default")
        await client.create(ConfigMap.named("a", "default", data={"title": ESCAPE}))
        await client.create(Secret.named("s", "default", string_data={"password": "hunter2"}))
        for name, kind in (("e1", "Normal"), ("e2", "Warning")):
            event = Event.named(name, "default", involved_object=about, type=kind, reason="R", message=f"m {ESCAPE}")
            await client.create(event)
        api.requests.clear()
        async with session(tmp_path, "--kubeconfig", kubeconfig, "--program", "app.py") as agent:
            answer, text = await call(agent, "objects", kind="cm", namespace="default")
            assert [row["key"] for row in answer["objects"]] == ["default/a"]
            assert text == "ConfigMap default/a: current"
            answer, _ = await call(agent, "objects", kind="configmaps", name="a")
            assert answer["object"]["data"] == {"title": "␛]0;owned␇"}
            answer, _ = await call(agent, "objects", kind="secret", name="s")
            assert answer["object"]["data"] == {"password": "(hidden)"}
            answer, text = await call(agent, "events", kind="cm", name="a", warnings=True)
            assert [row["reason"] for row in answer["events"]] == ["R"]
            assert "ConfigMap default/a  R: m ␛]0;owned␇ (1x)" in text
            assert (await call(agent, "events", name="a,type=Normal"))[0]["events"] == []
            assert "the server has no resource 'nothing'" in await error(agent, "objects", kind="nothing")
            assert "not found" in await error(agent, "objects", kind="cm", name="missing")
            assert "may not contain '/'" in await error(agent, "objects", kind="cm", name="a/b")
            assert "may not contain '/'" in await error(agent, "events", namespace="../..")
            await error(agent, "explain", kind="cm", key="default/a")
            assert "there is no CustomResourceDefinition" not in str(
                await call(agent, "crd_diff", old="cluster", new="app.py:Mykind")
            )
            await call(agent, "lint", files=["app.py"])
            await call(agent, "simulate", runs=5)
            assert "there is no throw-away cluster" in await error(agent, "events", cluster="server")
        assert len(api.requests) > 5
        assert {method for method, _ in api.requests} == {"GET"}, api.requests


async def test_a_project_is_checked_by_its_commands(tmp_path: Path) -> None:
    shutil.copy(EXAMPLE, tmp_path / "app.py")
    (tmp_path / "bad.yaml").write_text(
        "apiVersion: grp.example.com/v1alpha1\nkind: Mykind\nmetadata: {name: a}\nspec:\n  numpods: -1\n"
    )
    (tmp_path / "slow.py").write_text("import time\n\n\nasync def reconcile(obj, ctx):\n    time.sleep(1)\n")
    (tmp_path / "role.yaml").write_text("kind: ClusterRole\nmetadata: {name: a}\nrules: []\n")
    progress: list[float] = []

    async def hear(runs: float, total: float | None, message: str | None) -> None:
        assert total == 40
        assert message is not None
        assert message.startswith(f"{runs:.0f} runs, ")
        progress.append(runs)

    async with session(tmp_path, "--program", "app.py") as agent:
        answer, text = await call(agent, "check", files=["bad.yaml"])
        (finding,) = answer["findings"]
        assert (finding["file"], finding["line"], finding["field"]) == ("bad.yaml", 5, "spec.numpods")
        assert "1 object checked, 1 refused" in text
        answer, _ = await call(agent, "lint", files=["slow.py"])
        assert [finding["line"] for finding in answer["findings"]] == [5]
        answer, _ = await call(agent, "rbac", app="app.py", role="role.yaml")
        assert answer["missing"] is True
        assert any("pods" in line for line in answer["ungranted"])
        assert (await call(agent, "crd_diff", old="app.py", new="app.py"))[0] == {"breaks": False, "changes": []}
        (tmp_path / "new.py").write_text(EXAMPLE.read_text().replace("ge=0", "ge=1"))
        answer, text = await call(agent, "crd_diff", old="app.py", new="new.py")
        assert answer["breaks"] is True
        assert "breaks: mykinds.grp.example.com v1alpha1 spec.numpods: " in text
        result = await agent.call_tool("simulate", {"runs": 40}, progress_callback=hear)
        assert not result.is_error, text_of(result)
        assert result.structured_content is not None
        assert result.structured_content["findings"] == []
        assert progress
        assert progress == sorted(set(progress))
        assert "is not in the project" in await error(agent, "lint", files=["/etc"])
        assert "is not in the project" in await error(agent, "check", files=["../x.yaml"])
        assert "is not the name" in await error(agent, "lint", files=["--help"])


async def test_a_program_that_prints_is_checked_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(f'print("[1]")\nprint("hello")\n{EXAMPLE.read_text()}')
    (tmp_path / "secrets.py").write_text('raise RuntimeError("this is not the module of the standard library")\n')
    (tmp_path / "bad.yaml").write_text(
        "apiVersion: grp.example.com/v1alpha1\nkind: Mykind\nmetadata: {name: a}\nspec:\n  numpods: -1\n"
    )
    async with session(tmp_path, "--program", "app.py") as agent:
        answer, _ = await call(agent, "lint", files=["app.py"])
        assert answer["findings"] == []
        (tmp_path / "secrets.py").unlink()
        answer, _ = await call(agent, "check", files=["bad.yaml"])
        assert [finding["line"] for finding in answer["findings"]] == [5]


async def test_a_throw_away_cluster_ends_with_the_session(tmp_path: Path) -> None:
    async with session(tmp_path) as agent:
        answer, _ = await call(agent, "server")
        kubeconfig = Path(answer["kubeconfig"])
        async with Client.from_environment(kubeconfig) as client:
            await client.create(ConfigMap.named("a", "default"))
        listed, _ = await call(agent, "objects", kind="cm", name="a", namespace="default", cluster="server")
        assert listed["key"] == "default/a"
        assert (await call(agent, "server"))[0] == answer
        await call(agent, "server", action="stop")
        assert not kubeconfig.exists()
        answer, _ = await call(agent, "server", nodes=0)
        kubeconfig = Path(answer["kubeconfig"])
        config = load_config(kubeconfig)
    assert not kubeconfig.exists()
    async with Client(HttpTransport(config)) as client:
        with pytest.raises(TransportError):
            await client.list(ConfigMap)


async def test_a_killed_client_ends_the_session_and_what_it_runs(tmp_path: Path) -> None:
    """The pipe of a killed process is closed, as here; a request is not answered any more."""
    shutil.copy(EXAMPLE, tmp_path / "app.py")
    async with _raw(tmp_path, "--program", "app.py") as (process, ask):
        kubeconfig = await ask("server", {})
        life = _endless(tmp_path)
        process.stdin.write(_request(9, "simulate", {"seconds": 900}))
        await process.stdin.drain()
        pipe = await asyncio.to_thread(life.open)
        assert await asyncio.to_thread(pipe.readline) == "started\n"
        process.stdin.close()
        assert await process.wait() == 0
        assert not Path(kubeconfig["kubeconfig"]).exists()
        with pipe:
            assert await asyncio.to_thread(pipe.read) == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_ends_the_session_at_once(number: signal.Signals, tmp_path: Path) -> None:
    async with _raw(tmp_path) as (process, ask):
        kubeconfig = await ask("server", {})
        process.send_signal(number)
        assert await process.wait() == -number
        assert not Path(kubeconfig["kubeconfig"]).parent.exists()


async def test_a_cancelled_simulation_is_killed(tmp_path: Path) -> None:
    life = _endless(tmp_path)
    async with session(tmp_path, "--program", "app.py") as agent:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(agent.call_tool, "simulate", {"seconds": 900})
                pipe = await asyncio.to_thread(life.open)
                assert await asyncio.to_thread(pipe.readline) == "started\n"
                scope.cancel()
        with pipe:
            assert await asyncio.to_thread(pipe.read) == ""
        assert await call(agent, "server", action="stop")


async def test_without_the_extra_one_sentence_names_the_command(tmp_path: Path) -> None:
    code = "import sys; sys.modules['mcp'] = None; from setpoint.starting import setpoint; setpoint()"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, "mcp", stderr=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL
    )
    _, err = await process.communicate()
    assert process.returncode == 1
    assert err.decode() == (
        "setpoint mcp: this command needs mcp.server, which is not installed: pip install 'setpoint[mcp]'\n"
    )


def _request(number: int, tool: str, arguments: dict[str, Any]) -> bytes:
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode() + b"\n"


@asynccontextmanager
async def _raw(home: Path, *words: str) -> AsyncIterator[tuple[Any, Any]]:
    """The server without the SDK's client, which would end it gently: the process, and a function for its tools."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "setpoint", "mcp", "--project", str(home), *words),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        preexec_fn=lambda: [signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGHUP)],
    )
    assert process.stdin is not None
    assert process.stdout is not None
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    first = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}
    second = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    for message in (first, second):
        process.stdin.write(json.dumps(message).encode() + b"\n")
    assert json.loads(await process.stdout.readline())["result"]["serverInfo"]["name"] == "setpoint"

    async def ask(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        process.stdin.write(_request(1, tool, arguments))
        content: dict[str, Any] = json.loads(await process.stdout.readline())["result"]["structuredContent"]
        return content

    try:
        async with asyncio.timeout(DEADLINE):
            yield process, ask
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _endless(folder: Path) -> Path:
    """Makes app.py a program that does not end. The pipe that is returned has a line when it runs, and ends with it."""
    life = folder / "life"
    os.mkfifo(life)
    code = f"import time\npipe = open({str(life)!r}, 'w')\nprint('started', file=pipe, flush=True)\ntime.sleep(1e6)\n"
    (folder / "app.py").write_text(code)
    return life
