"""``setpoint crd diff`` takes files, folders, standard input and classes, and ends as CI wants it."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path
from typing import Any

import mykinds as installed
import pytest
import yaml

from setpoint.cli.crd import crd_app
from setpoint.cli.crd_sources import from_files
from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.crd import Versions, crd_for
from setpoint.webhook import Webhooks

from .test_conversions import Mykind, MykindV1alpha1

APP = """
import setpoint as sp


class Spec(sp.Model):
    replicas: int


class Mykind(sp.CustomResource, group="grp.example.com", version="v1alpha2"):
    spec: Spec
"""


def run(*arguments: str) -> int:
    try:
        crd_app(["diff", *arguments], result_action="return_value")
    except SystemExit as end:
        return int(str(end.code))
    return 0


@pytest.fixture
def old(tmp_path: Path) -> Path:
    file = tmp_path / "old.yaml"
    file.write_text("kind: ClusterRole\n---\n" + yaml.safe_dump(crd_for(Mykind)))
    return file


def test_the_same_is_fine(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(old), str(old)) == 0
    assert "changes: 0 (" in capsys.readouterr().out


def test_a_break_is_named_and_ends_with_1(old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app = tmp_path / "grown.py"
    app.write_text(APP)
    assert run(str(old), f"{app}:Mykind") == 1
    out = capsys.readouterr().out
    assert "BREAKS    mykinds.grp.example.com v1alpha2 spec.replicas: is required now" in out
    assert "[stored objects and writers break]" in out
    assert run(str(old), str(app), "-o", "json") == 1
    assert {"version-removed", "field-removed"} <= {change["code"] for change in json.loads(capsys.readouterr().out)}


@pytest.mark.parametrize(
    "path",
    [
        "metadata",
        "metadata.labels",
        "spec",
        "spec.names",
        "spec.names.shortNames",
        "spec.conversion",
        "spec.versions",
        "spec.versions.0",
        "spec.versions.0.name",
        "spec.versions.0.schema",
        "spec.versions.0.schema.openAPIV3Schema.properties.spec",
        "spec.versions.0.schema.openAPIV3Schema.properties.spec.properties",
        "spec.versions.0.schema.openAPIV3Schema.properties.spec.properties.replicas",
        "spec.versions.0.schema.openAPIV3Schema.properties.spec.properties.replicas.maximum",
        "spec.versions.0.schema.openAPIV3Schema.properties.spec.required",
        "spec.versions.0.schema.openAPIV3Schema.x-kubernetes-validations",
        "spec.versions.0.additionalPrinterColumns",
    ],
)
def test_a_definition_of_any_form_is_compared_or_refused_with_its_file(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    definition = crd_for(Mykind)
    part: Any = definition
    *parents, last = path.split(".")
    for step in parents:
        part = part[int(step)] if isinstance(part, list) else part[step]
    file = tmp_path / "new.json"
    for wrong in (None, "x", 5, True, [1], {"z": 1}, [None]):
        part[int(last) if isinstance(part, list) else last] = wrong
        file.write_text(json.dumps(definition))
        for arguments in ((str(old), str(file)), (str(file), str(old))):
            if run(*arguments) == 2:
                assert capsys.readouterr().err.startswith(f"setpoint crd diff: {file}: ")


def test_files_are_read_as_kubectl_reads_them(tmp_path: Path) -> None:
    definition = crd_for(Mykind)
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["since"] = {"type": "string", "default": "2026-11-22"}
    text = yaml.safe_dump(definition)
    assert "'2026-11-22'" in text
    (tmp_path / "texts.yaml").write_text(text)
    (tmp_path / "plain.yaml").write_text("---\n" + text.replace("'2026-11-22'", "2026-11-22") + "---\n# nothing\n")
    result = [from_files(str(tmp_path / name)) for name in ("texts.yaml", "plain.yaml")]
    assert result == [[definition], [definition]]
    assert run(*(str(tmp_path / name) for name in ("texts.yaml", "plain.yaml"))) == 0


def test_what_may_break_counts_only_if_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = crd_for(Mykind), crd_for(Mykind)
    before["spec"]["names"]["shortNames"] = ["mk"]
    (tmp_path / "crds").mkdir()
    (tmp_path / "crds" / "mykind.json").write_text(json.dumps({"kind": "List", "items": [before]}))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(yaml.safe_dump(after).encode())))
    assert run(str(tmp_path / "crds"), "-") == 0
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(yaml.safe_dump(after).encode())))
    assert run(str(tmp_path / "crds"), "-", "--strict") == 1


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("missing.yaml", "missing.yaml: "),
        ("no.such.module:Mykind", "no file, and no module that can be imported"),
        ("setpoint.crd:Nothing", "there is no Nothing in setpoint.crd"),
        ("json", "json: it contains no CustomResource class"),
    ],
)
def test_what_can_not_be_told_ends_with_2(
    source: str, message: str, old: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(str(old), source) == 2
    assert message in capsys.readouterr().err


def test_broken_yaml_is_named(old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [")
    assert run(str(old), str(broken)) == 2
    assert "broken.yaml: not YAML" in capsys.readouterr().err


def test_versions_are_one_definition_however_they_are_named() -> None:
    assert crd_for(Mykind) == crd_for(Mykind, MykindV1alpha1)


async def test_a_cluster_whose_conversions_are_installed_differs_in_nothing_from_its_classes(tmp_path: Path) -> None:
    async with EmbeddedCluster(control_plane=False) as cluster:
        await cluster.serve(Webhooks(Versions.of(installed.Mykind)))
        cluster.write_kubeconfig(tmp_path / "kubeconfig")
        words = ("cluster", str(Path(installed.__file__)), "--kubeconfig", str(tmp_path / "kubeconfig"), "--strict")
        assert await asyncio.to_thread(run, *words) == 0


def test_a_package_is_classes_and_a_folder_of_manifests_is_files(tmp_path: Path, old: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("from .api import Mykind\n")
    (tmp_path / "pkg" / "api.py").write_text(APP)
    (tmp_path / "crds").mkdir()
    old.rename(tmp_path / "crds" / "old.yaml")
    assert run(str(tmp_path / "pkg"), str(tmp_path / "pkg" / "api.py")) == 0
    assert run(str(tmp_path / "crds"), str(tmp_path / "pkg")) == 1
