"""The parts of ``setpoint mcp`` that need no process: results of limited size, and connections that can't write."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from mcp.types import TextContent

from setpoint.apiserver import ApiServer
from setpoint.apps.error_reports import UsageError
from setpoint.cli.mcp.project_files import OutsideProject, ProjectFiles
from setpoint.cli.mcp.read_only_transport import ReadOnlyTransport
from setpoint.cli.mcp.tool_result import CONTENT_SIZE, TEXT_LENGTH, tool_result
from setpoint.client import Client, InProcessTransport
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


@pytest.mark.parametrize("name", ["", "-", "--output", "/etc/passwd", "../x", "a/../../x", "../x:name"])
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
