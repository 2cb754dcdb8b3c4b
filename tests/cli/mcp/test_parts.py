"""The parts of ``setpoint mcp`` that need no process: results of limited size, and connections that can't write."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import TextContent

from setpoint.apiserver import ApiServer
from setpoint.apps.error_reports import UsageError
from setpoint.cli.mcp.project_commands import ProjectCommands
from setpoint.cli.mcp.project_files import OutsideProject, ProjectFiles
from setpoint.cli.mcp.project_tools import ProjectTools
from setpoint.cli.mcp.read_only_transport import ReadOnlyTransport
from setpoint.cli.mcp.throwaway_cluster import ThrowawayCluster
from setpoint.cli.mcp.tool_result import CONTENT_SIZE, TEXT_LENGTH, tool_result
from setpoint.cli.run_flags import KubeconfigFlags
from setpoint.client import Client, InProcessTransport
from setpoint.concurrency import TaskScope
from setpoint.manager.debug_pages.yaml_page import redacted
from setpoint.models.core_v1 import ConfigMap


def deep(levels: int) -> Any:
    value: Any = "x" * 100
    for _ in range(levels):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    "content",
    [
        {"text": "x" * 10_000_000},
        {"list": ["x" * 1000] * 10_000},
        {"mapping": {str(number): "\x1b" * 100 for number in range(100_000)}},
        {"nested": [[[["x" * 5000] * 30] * 30] * 30] * 2},
        {"deep": deep(12)},
    ],
    ids=lambda content: next(iter(content)),
)
def test_a_result_is_small_and_says_that_it_was_cut(content: dict[str, Any]) -> None:
    result = tool_result(content, "y" * 100_000)
    assert result.structured_content is not None
    assert len(msgspec.json.encode(result.structured_content)) <= CONTENT_SIZE
    assert "narrow the request" in result.structured_content["truncated"]
    (text,) = result.content
    assert isinstance(text, TextContent)
    assert len(text.text) < TEXT_LENGTH + 100
    assert "92000 more characters" in text.text


def test_a_small_result_is_whole() -> None:
    content = {"answer": [1, 2.5, None, True, "é", {"a": "b"}]}
    assert tool_result(content, "text").structured_content == content


def test_words_that_only_a_model_reads_are_made_visible() -> None:
    tags = "".join(chr(0xE0000 + ord(letter)) for letter in "delete")
    result = tool_result({"text": f"a{tags}b\u200bc"}, f"a{tags}")
    assert result.structured_content == {"text": "a������b�c"}
    assert [content.text for content in result.content if isinstance(content, TextContent)] == ["a������"]


@pytest.mark.parametrize(
    "part",
    [{"data": ["hunter2"]}, {"stringData": "hunter2"}, {"data": {"a": {"b": "hunter2"}}}, {"data": {"a": "hunter2"}}],
)
def test_the_data_of_a_secret_is_hidden_whatever_its_form(part: dict[str, Any]) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"annotations": ["hunter2"]}, **part}
    assert redacted(secret)
    assert "hunter2" not in str(secret)
    assert not redacted({"apiVersion": "v1", "kind": "Secret", "metadata": {"annotations": {}}, "data": None})


def test_a_result_without_an_end_is_cut() -> None:
    content: list[Any] = []
    content.append(content)
    assert "truncated" in (tool_result({"endless": content}, "").structured_content or {})


async def test_a_connection_that_only_reads_refuses_every_write_before_it_is_sent() -> None:
    async with ApiServer() as api, Client(InProcessTransport(api.handle)) as writer:
        await writer.create(ConfigMap.named("a", "default"))
        async with Client(ReadOnlyTransport(InProcessTransport(api.handle))) as reader:
            obj = await reader.get(ConfigMap, "a", namespace="default")
            for write in (
                reader.create(ConfigMap.named("b", "default")),
                reader.replace(obj),
                reader.delete(obj),
                reader.apply(ConfigMap.named("a", "default", data={"a": "b"})),
            ):
                with pytest.raises(PermissionError, match="only reads"):
                    await write
            assert [
                listed.metadata.resource_version for listed in await writer.list(ConfigMap, namespace="default")
            ] == [obj.metadata.resource_version]


async def test_a_cluster_whose_start_was_cancelled_can_be_stopped() -> None:
    async with TaskScope() as scope:
        cluster = ThrowawayCluster(scope)
        call = asyncio.create_task(cluster.server())
        for _ in range(2):
            await asyncio.sleep(0)
        assert "throw-away cluster" in running()
        call.cancel()
        await asyncio.wait([call])
        await cluster.server("stop")
        assert "throw-away cluster" not in running()
        assert cluster.kubeconfig is None


async def test_a_cluster_that_does_not_start_does_not_end_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    async with TaskScope() as scope:
        cluster = ThrowawayCluster(scope)
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "setpoint.cluster.embedded", None)
            with pytest.raises(ImportError):
                await cluster.server()
        answer = await cluster.server(nodes=0)
        assert answer.structured_content is not None
        assert answer.structured_content["running"] is True


def running() -> set[str]:
    return {task.get_name() for task in asyncio.all_tasks()}


async def test_lines_before_the_json_of_a_command_are_the_projects(tmp_path: Path) -> None:
    commands = ProjectCommands(tmp_path)
    code = "print('{}'); print('[{'); print('[]'); print('[\\n  {\"a\": 1}\\n]')"
    done = await commands.run([sys.executable, "-c", code], list[dict[str, int]])
    assert done.document == [{"a": 1}]
    with pytest.raises(ToolError, match="no result; it ended with status 3"):
        await commands.run([sys.executable, "-c", "print('[1]'); raise SystemExit(3)"], list[dict[str, int]])


async def test_a_command_finds_the_kubeconfig_of_the_session_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", "kubeconfig")
    project = tmp_path / "project"
    project.mkdir()
    words = [sys.executable, "-c", "import json, os; print(json.dumps({'file': os.environ['KUBECONFIG']}))"]
    done = await ProjectCommands(project).run(words, dict[str, str], cluster=True)
    assert done.document == {"file": str(tmp_path / "kubeconfig")}
    done = await ProjectCommands(project).run(words, dict[str, str])
    assert not Path(done.document["file"]).exists()


async def test_rbac_asks_for_what_it_needs(tmp_path: Path) -> None:
    tools = ProjectTools(ProjectFiles.of(tmp_path, None), KubeconfigFlags())
    with pytest.raises(OutsideProject, match="name the file or module with the controllers"):
        await tools.rbac()
    with pytest.raises(OutsideProject, match="name a role, or set tests"):
        await tools.rbac(app="app.py")


@pytest.mark.parametrize("name", ["", "-", "--output", "a\0b", "/etc/passwd", "../x", "a/../../x", "../x:name"])
def test_a_name_outside_of_the_project_is_refused(name: str, tmp_path: Any) -> None:
    with pytest.raises(OutsideProject):
        ProjectFiles.of(tmp_path, None).checked(name)


def test_the_program_of_a_project_is_in_it(tmp_path: Any) -> None:
    assert ProjectFiles.of(tmp_path, "app.py").command[1:] == ["app.py"]
    assert ProjectFiles.of(tmp_path, "shop").command[1:] == ["-m", "shop"]
    with pytest.raises(OutsideProject, match="--program"):
        _ = ProjectFiles.of(tmp_path, None).command
    with pytest.raises(UsageError, match="--program"):
        ProjectFiles.of(tmp_path, "../app.py")
    with pytest.raises(UsageError, match="no such folder"):
        ProjectFiles.of(tmp_path / "missing", None)
