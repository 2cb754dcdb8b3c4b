from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from setpoint.apiserver.audit.policy import AuditPolicy
from setpoint.apiserver.webhooks.admission_configuration import webhook_users
from setpoint.apiserver.webhooks.credentials import WebhookUsers
from setpoint.cli.manifest_files import read_manifests
from setpoint.cli.rbac import rbac
from setpoint.crd.files import read_definitions
from setpoint.meta.yaml_files import YamlFileError, items_of, read_first, read_yaml, yaml_files
from setpoint.simulation.check import read_plan
from setpoint.torture.documents import read_documents
from setpoint.torture.scenario import read_plain

NOT_YAML = {
    "a list without an end": b"a: [",
    "a byte that is not UTF-8": b"a: \xe9",
    "UTF-16": "a: b".encode("utf-16"),
    "a tag of Python's": b"a: !!python/object:os.system x",
    "more brackets than fit": b"[" * 20_000,
    "aliases without end": b"a: &a [" + b"*a," * 9 + b"]",
    "a control character": b"a: \x01",
}
PROGRAM = """
import setpoint as sp
from setpoint.models.core_v1 import Pod

async def reconcile(ctx: sp.Context, pod: Pod) -> None: ...

controller = sp.Controller(Pod, reconcile, name="pods")
"""
READERS: dict[str, Callable[[Path], Any]] = {
    "all documents": read_yaml,
    "the first document": read_first,
    "an audit policy": AuditPolicy.read,
    "an admission configuration": webhook_users,
    "users of webhooks": WebhookUsers,
    "definitions": read_definitions,
    "manifests": lambda path: list(read_manifests([path])),
    "objects of a scenario": read_documents,
    "a scenario": read_plain,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", NOT_YAML)
def test_a_file_that_is_not_yaml_is_named_in_a_sentence(tmp_path: Path, text: str, reader: str) -> None:
    path = tmp_path / "file.yaml"
    path.write_bytes(NOT_YAML[text])
    with pytest.raises(Exception, match=r"file\.yaml: not YAML: [^\n]+$") as caught:
        READERS[reader](path)
    assert type(caught.value).__module__.startswith("setpoint."), "a reader's own error, which commands print as a line"


@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_cannot_be_read_is_named_in_a_sentence(tmp_path: Path, reader: str) -> None:
    with pytest.raises(Exception, match=r"gone\.yaml: (No such file|there is no such file)") as caught:
        READERS[reader](tmp_path / "gone.yaml")
    assert type(caught.value).__module__.startswith("setpoint.")


@pytest.mark.parametrize("text", NOT_YAML)
def test_commands_print_a_line_about_a_file_that_is_not_yaml(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path, program = tmp_path / "file.yaml", tmp_path / "program.py"
    path.write_bytes(NOT_YAML[text])
    program.write_text(PROGRAM)
    assert rbac(str(program), (), role=path, requests=None, strict=False) == 2
    assert "file.yaml: not YAML: " in capsys.readouterr().err
    with pytest.raises(ValueError, match="neither a token"):
        read_plan(str(path))


def test_scalars_have_the_types_that_kubectl_gives_them(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("date: 2026-99-99\nday: 2026-01-31\non: off\n1: 1:30\noctal: 0o17\nbinary: !!binary aGk=\n")
    assert read_first(path) == {
        "date": "2026-99-99",
        "day": "2026-01-31",
        "true": False,
        "1": "1:30",
        "octal": 15,
        "binary": "hi",
    }


def test_all_files_of_a_folder_and_of_its_folders_are_read_in_order(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    for name in ("b.yaml", "a.json", "inner/c.yml", "d.txt"):
        (tmp_path / name).write_text("{}")
    assert [path.relative_to(tmp_path).as_posix() for path in yaml_files(tmp_path)] == [
        "a.json",
        "b.yaml",
        "inner/c.yml",
    ]
    assert yaml_files(tmp_path / "d.txt") == [tmp_path / "d.txt"]


@pytest.mark.parametrize(
    ("document", "items"),
    [
        ({"kind": "List", "items": [1, 2]}, [1, 2]),
        ({"kind": "PodList", "items": []}, []),
        ({"kind": "Pod", "items": [1]}, [{"kind": "Pod", "items": [1]}]),
        ({"kind": "AllowList", "spec": {}}, [{"kind": "AllowList", "spec": {}}]),
        (None, [None]),
        ("text", ["text"]),
    ],
)
def test_a_list_counts_as_its_items(document: Any, items: list[Any]) -> None:
    assert items_of(document) == items


def test_the_error_is_a_value_error(tmp_path: Path) -> None:
    with pytest.raises(YamlFileError):
        read_yaml(tmp_path)
    assert issubclass(YamlFileError, ValueError)
