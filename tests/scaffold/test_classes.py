"""Classes that are written from CustomResourceDefinitions read and write what the definitions accept."""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
import yaml

import setpoint as sp
from setpoint.cli.crd import crd_app
from setpoint.cli.init import create_app
from setpoint.crd import crd_for, schema_of
from setpoint.crd.builtin_schemas import builtin_schema
from setpoint.crd.files import read_definitions
from setpoint.crd.schema_samples import samples_of
from setpoint.deploy.file_tree import write
from setpoint.meta import from_wire, resource_of, to_wire
from setpoint.meta.model_fields import alternatives, bare
from setpoint.models import core_v1
from setpoint.scaffold.classes import SchemaProblem, definitions_to_source
from setpoint.scaffold.project import Project
from setpoint.schema import apply_defaults, copy_json, structural, validate

SHAPES = Path(__file__).parent / "shapes.yaml"


def definitions() -> list[dict[str, Any]]:
    """The definitions, with the schema of Kubernetes' own PodSpec where a template has its spec."""
    documents = [copy_json(document) for document in yaml.safe_load_all(SHAPES.read_text())]
    spec = documents[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["template"]["properties"]["spec"] = builtin_schema(core_v1.PodSpec)
    return documents


def module_of(source: str, name: str) -> ModuleType:
    module = ModuleType(name)
    sys.modules[name] = module
    exec(compile(source, f"{name}.py", "exec"), vars(module))
    return module


@pytest.fixture(scope="module", params=[False, True], ids=["theirs", "own"])
def kinds(request: pytest.FixtureRequest) -> Iterator[Any]:
    name = "written_shapes"
    try:
        yield module_of(definitions_to_source(definitions(), own=request.param), name)
    finally:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def theirs() -> Iterator[Any]:
    name = "written_shapes_of_others"
    try:
        yield module_of(definitions_to_source(definitions(), installed_by="shapes"), name)
    finally:
        sys.modules.pop(name, None)


SHAPE: dict[str, Any] = {
    "apiVersion": "shapes.example.org/v1",
    "kind": "Shape",
    "spec": {
        "name": "one",
        "class": "a",
        "from": "here",
        "clusterIPs": ["192.0.2.1"],
        "x-odd": "odd",
        "snake_case": "snake",
        "snakeCase": "camel",
        "3d": True,
        "list": ["b", "a"],
        "keyed": [{"name": "http", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}],
        "labels": {"a": "b"},
        "matrix": [[1, 2], [3]],
        "tables": {"t": {"rows": 3}},
        "port": "80%",
        "memory": "64Mi",
        "when": "2024-01-02T03:04:05Z",
        "data": "c2V0cG9pbnQ=",
        "ratio": 0.5,
        "level": 3,
        "nothing": None,
        "choice": None,
        "free": {"deep": [{"x": None}]},
        "open": {"known": 1, "unknown": {"a": 1}},
        "anything": ["x", 1, {"y": None}],
        "resource": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "inner"}, "data": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"app": "a"}},
            "spec": {
                "containers": [
                    {
                        "name": "a",
                        "image": "b",
                        "env": [{"name": "C", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
                        "ports": [{"containerPort": 80, "protocol": "TCP"}],
                    }
                ]
            },
        },
        "passwordSecret": {"name": "s", "key": "k", "optional": True},
        "nested": {"inner": {"size": 1, "color": "red"}},
        "empty": {},
    },
    "status": {
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "Fine",
                "message": "all is well",
                "lastTransitionTime": "2024-01-02T03:04:05Z",
            }
        ],
        "phase": "Running",
    },
    "data": {"top": "level"},
    "labels": ["of", "its", "own"],
}


def test_every_shape_is_read_and_written_unchanged(kinds: Any) -> None:
    written = to_wire(from_wire(kinds.Shape, SHAPE))
    if kinds.Shape.definition.installed_by:
        assert written == SHAPE
    else:
        apply_defaults(structural.load(schema_of(kinds.Shape)), expected := copy_json(SHAPE))
        assert written == expected


def test_the_definition_of_the_written_classes_accepts_and_fills_in_the_same(kinds: Any) -> None:
    for definition in definitions():
        for version in definition["spec"]["versions"]:
            name = (definition["spec"]["group"], version["name"], definition["spec"]["names"]["kind"])
            kind = next(
                kind
                for kind in vars(kinds).values()
                if isinstance(kind, type)
                and hasattr(kind, "definition")
                and (resource_of(kind).group, resource_of(kind).version, resource_of(kind).kind) == name
            )
            theirs = structural.load(version["schema"]["openAPIV3Schema"])
            ours = structural.load(schema_of(kind))
            samples = samples_of(theirs, f"{name[0]}/{name[1]}", name[2])
            assert samples
            for sample in [*samples, SHAPE] if name[1:] == ("v1", "Shape") else samples:
                has_all = "spec" in sample or "spec" not in schema_of(kind).get("required", ())
                if has_all:
                    assert not validate(ours, sample)
                apply_defaults(theirs, expected := copy_json(sample))
                apply_defaults(ours, filled := copy_json(sample))
                if kind.definition.installed_by or "spec" in sample:
                    assert filled == expected
                expected.pop("metadata", None)
                if not kind.definition.installed_by and not has_all:
                    continue
                assert to_wire(from_wire(kind, expected)) == expected


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("class", "c"),
        ("level", 10),
        ("level", 0),
        ("name", ""),
        ("name", "Upper"),
        ("list", ["a", "a"]),
        ("keyed", [{"name": "a", "port": 1}, {"name": "a", "port": 2}]),
        ("ratio", 2.5),
        ("labels", {}),
    ],
)
def test_the_definition_of_the_written_classes_refuses_the_same(kinds: Any, path: str, value: Any) -> None:
    broken = copy.deepcopy(SHAPE)
    broken["spec"][path] = value
    theirs = structural.load(definitions()[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    ours = structural.load(schema_of(kinds.Shape))
    assert validate(theirs, broken)
    assert [str(error) for error in validate(ours, broken)] == [str(error) for error in validate(theirs, broken)]


def test_a_quantity_is_refused_where_the_definition_refuses_it(kinds: Any) -> None:
    broken = copy.deepcopy(SHAPE)
    broken["spec"]["memory"] = "much"
    assert [error.field for error in validate(structural.load(schema_of(kinds.Shape)), broken)] == ["spec.memory"]


def test_types_are_those_that_a_programmer_would_write(theirs: Any) -> None:
    shape = from_wire(theirs.Shape, SHAPE)
    spec = shape.spec
    assert (spec.class_, spec.from_, spec.cluster_ips, spec.list_) == ("a", "here", ["192.0.2.1"], ["b", "a"])
    assert (spec.snake_case, spec.snake_case2, spec.x_odd, spec.field_3d) == ("snake", "camel", "odd", True)
    assert isinstance(spec.template, core_v1.PodTemplateSpec)
    assert isinstance(spec.password_secret, core_v1.SecretKeySelector)
    assert isinstance(shape.status.conditions[0], sp.Condition)
    assert spec.when == datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert (spec.memory, spec.data, spec.port) == (sp.Quantity("64Mi"), b"setpoint", "80%")
    assert spec.nothing is None
    assert from_wire(theirs.Shape, {"spec": {"name": "one"}}).spec.nothing is msgspec.UNSET
    assert (spec.open["unknown"], spec.keyed[1].protocol, spec.tables["t"].rows) == ({"a": 1}, "UDP", 3)
    assert (shape.labels_, shape.labels) == (["of", "its", "own"], {})


def test_a_field_with_a_default_is_left_to_the_server_in_kinds_of_others(theirs: Any) -> None:
    shape = theirs.Shape.named("one", spec=theirs.ShapeSpec(name="one"))
    assert shape.spec.level is None
    assert to_wire(shape)["spec"] == {"name": "one"}
    assert schema_of(theirs.Shape)["properties"]["spec"]["properties"]["level"]["default"] == 5


def test_status_is_there_although_its_fields_are_required(theirs: Any) -> None:
    shape = from_wire(theirs.Shape, {"spec": {"name": "one"}})
    assert shape.status == theirs.ShapeStatus()
    assert shape.status.phase is None
    assert "status" not in to_wire(shape)


def test_an_object_without_a_spec_is_read_and_written_although_the_fields_of_a_spec_are_required(theirs: Any) -> None:
    for document in ({"status": {"phase": "Ready"}}, {}):
        bound = from_wire(theirs.Bound, document)
        assert (bound.spec.version, bound.spec.items, bound.spec.memory) == (0, [], sp.Quantity("0"))
        assert "spec" not in to_wire(bound)
    bound.spec.version = 12
    assert to_wire(bound)["spec"]["version"] == 12
    spec = from_wire(theirs.Bound, {}).spec
    assert "spec" in to_wire(theirs.Bound.named("one", spec=spec)), "what a program makes is written as it is"


def test_a_template_without_metadata_stays_without(theirs: Any) -> None:
    document = copy.deepcopy(SHAPE)
    del document["spec"]["template"]["metadata"]
    obj = from_wire(theirs.Shape, document)
    assert to_wire(obj) == document
    obj.spec.template.metadata.labels["app"] = "b"
    assert to_wire(obj)["spec"]["template"]["metadata"] == {"labels": {"app": "b"}}


def test_fields_that_a_definition_does_not_name_are_kept_where_it_says_so(theirs: Any) -> None:
    document = {"apiVersion": "shapes.example.org/v1", "kind": "Open", "spec": {"a": 1}, "data": {"b": [None]}}
    obj = from_wire(theirs.Open, document)
    assert obj.spec == {"a": 1}
    assert to_wire(obj) == document


def test_versions_names_and_subresources_are_those_of_the_definition(theirs: Any) -> None:
    assert theirs.Shape.definition.installed_by == "shapes"
    assert (theirs.ShapeV1beta1.resource.version, theirs.ShapeV1beta1.resource.kind) == ("v1beta1", "Shape")
    assert theirs.ShapeV1beta1.definition.deprecated == "use v1"
    crd = crd_for(theirs.Shape, theirs.ShapeV1beta1)
    spec = definitions()[0]["spec"]
    assert crd["spec"]["names"] == spec["names"]
    for ours, version in zip(crd["spec"]["versions"], spec["versions"], strict=True):
        assert {**ours, "schema": None} == {**version, "schema": None}
    cluster_wide = theirs.Plain
    assert (cluster_wide.resource.namespaced, cluster_wide.resource.plural) == (False, "plain")
    assert "status" not in cluster_wide.resource.subresources


def test_kinds_of_one_name_in_two_groups_have_two_classes(theirs: Any) -> None:
    assert {theirs.Plain.resource.group, theirs.PlainOfOther.resource.group} == {
        "shapes.example.org",
        "other.example.org",
    }


def test_equal_parts_of_one_name_are_one_class(theirs: Any) -> None:
    fields = {field.name: field.type for field in msgspec.structs.fields(theirs.ShapeV1beta1Spec)}
    assert theirs.ShapeSpecNested in map(bare, alternatives(fields["nested"]))


def test_the_same_definitions_give_the_same_module_in_any_order() -> None:
    assert definitions_to_source(reversed(definitions())) == definitions_to_source(definitions())


def test_descriptions_are_those_of_the_definition(theirs: Any) -> None:
    assert theirs.Shape.__doc__ == "A shape of every kind."
    source = definitions_to_source(definitions())
    assert '"""The name, with \\"\\"\\"quotes\\"\\"\\" and a \\\\ in it."""' in source


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"apiVersion": "apiextensions.k8s.io/v1beta1"},
            "it is a CustomResourceDefinition of apiextensions.k8s.io/v1beta1",
        ),
        ({"spec": None}, "spec: Required value"),
    ],
)
def test_a_document_that_has_no_classes_is_refused_by_name(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(SchemaProblem, match=rf"shapes\.shapes\.example\.org: {problem}"):
        definitions_to_source([definitions()[0] | change])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"scope": None}, "spec.scope: Required value"),
        ({"group": ""}, "spec.group: '': a lowercase RFC 1123 subdomain"),
        ({"versions": [{"name": "", "served": True, "storage": True}]}, "spec.versions: '': a DNS-1035 label"),
        ({"group": 3}, 'spec.group: Invalid value: "integer"'),
        ({"versions": [{"name": "v1", "served": True, "storage": False}]}, "none of them has storage: true"),
        (
            {"names": {"kind": "${KIND}", "plural": "shapes"}},
            "spec.names.kind: '${KIND}': a DNS-1035 label",
        ),
        (
            {
                "versions": [
                    {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": []}}}
                ]
            },
            "spec.versions[0].schema.openAPIV3Schema.type: Invalid value",
        ),
    ],
)
def test_a_definition_that_no_server_takes_is_refused_with_its_field(change: dict[str, Any], problem: str) -> None:
    definition = definitions()[0]
    with pytest.raises(SchemaProblem, match=re.escape(problem)):
        definitions_to_source([definition | {"spec": definition["spec"] | change}])


@pytest.mark.parametrize(("kind", "name"), [("Round-Shape", "RoundShape"), ("class", "Class")])
def test_a_kind_whose_name_no_class_can_have_has_it_as_a_keyword(kind: str, name: str) -> None:
    definition = definitions()[-1]
    definition["spec"]["names"] = {"kind": kind, "plural": "shapes"}
    module = module_of(definitions_to_source([definition]), "written_names")
    assert resource_of(getattr(module, name)).kind == kind


def create(folder: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.chdir(folder)
    with suppress(SystemExit):
        create_app(["kind", *words])


def test_a_project_takes_the_kinds_of_others_with_their_definitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, {}, force=False, scope="project", facts={"project": Project("shop", "shop.example.com").document()})
    create(tmp_path, monkeypatch, "--from", str(SHAPES), "--installed-by", "shapes", "shapes.shapes.example.org")
    module = tmp_path / "src" / "shop" / "shapes_example_org.py"
    assert 'installed_by="shapes"' in module.read_text()
    assert [file.name for file in (tmp_path / "crds").iterdir()] == ["shapes.shapes.example.org.yaml"]
    assert read_definitions(tmp_path / "crds")[0]["metadata"]["name"] == "shapes.shapes.example.org"
    before = module.read_text()
    create(tmp_path, monkeypatch, "--from", str(SHAPES), "--installed-by", "shapes", "shapes.shapes.example.org")
    assert module.read_text() == before
    create(tmp_path, monkeypatch, "--from", str(SHAPES), "plains.other.example.org")
    assert module.is_file(), "the kinds of another group stay"
    assert (tmp_path / "src" / "shop" / "other_example_org.py").is_file()
    capsys.readouterr()
    create(tmp_path, monkeypatch, "--from", str(SHAPES), "shape")
    assert "did you mean" in capsys.readouterr().err


def test_the_command_prints_the_module(capsys: pytest.CaptureFixture[str]) -> None:
    with suppress(SystemExit):
        crd_app(["classes", str(SHAPES), "plain.shapes.example.org", "--own"])
    source = capsys.readouterr().out
    assert "class Plain(" in source
    assert "installed_by" not in source
