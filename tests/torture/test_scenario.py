"""Scenarios in the plain form: what is accepted, and what is said of what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from setpoint.meta.yaml_files import YamlFileError
from setpoint.torture.documents import ScenarioError, read_documents
from setpoint.torture.scenario import has, read_plain

OBJECT = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"


def test_before_is_read_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "crds").mkdir()
    (tmp_path / "crds" / "b.yaml").write_text(f"{OBJECT}\n---\n{OBJECT}\n")
    (tmp_path / "crds" / "a.json").write_text(
        '{"apiVersion": "v1", "kind": "List", "items": '
        '[{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}]}'
    )
    (tmp_path / "scenario.yaml").write_text("before: [crds]\nsteps: [settle]\n")
    assert [item["kind"] for item in read_plain(tmp_path / "scenario.yaml").before] == [
        "Secret",
        "ConfigMap",
        "ConfigMap",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("steps: []", "there are no steps"),
        ("stepz: []", "unknown field `stepz`"),
        ("steps: [destroy: a.yaml]", "step 1: a step is one of apply, delete, settle, wait"),
        ("steps: [settle, {apply: {kind: Pod}}]", "step 2: an object needs apiVersion"),
        ("steps: [apply: {apiVersion: v1, kind: Pod}]", "step 1: Pod needs metadata.name"),
        ("steps: [apply: missing.yaml]", "missing.yaml: No such file or directory"),
        ("steps: [settle: 5s]", "settle takes nothing"),
        ("steps: [wait: {until: gone}]", "missing required field `object`"),
        (f"steps: [wait: {{object: {OBJECT}, until: away}}]", "present, gone, or a mapping of fields, not 'away'"),
        (f"steps: [wait: {{object: {OBJECT}, timeout: 5}}]", "unknown field `timeout`"),
        ("steps: [", "not YAML"),
        ("- settle", "Expected `object`"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_scenario_is_said_by_file_and_step(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(text)
    with pytest.raises((ScenarioError, YamlFileError)) as problem:
        read_plain(file)
    assert message in str(problem.value)
    assert str(tmp_path) in str(problem.value)


def test_a_folder_without_documents_is_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"no \.yaml"):
        read_documents(tmp_path)


def test_a_wait_looks_for_what_it_names_and_no_more() -> None:
    result = {
        "status": {"ready": True, "conditions": [{"type": "A", "status": "False"}, {"type": "B", "status": "True"}]}
    }
    assert has(result, {"status": {"conditions": [{"type": "B", "status": "True"}]}})
    assert not has(result, {"status": {"conditions": [{"type": "A", "status": "True"}]}})
    assert not has(result, {"status": {"phase": "Done"}})
    assert not has(result, {"status": True})
