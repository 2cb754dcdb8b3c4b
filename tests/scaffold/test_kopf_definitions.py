"""A kopf operator keeps the names that the definitions beside it give its kinds."""

from __future__ import annotations

from pathlib import Path

import pytest

from setpoint.scaffold.kopf import ported
from setpoint.scaffold.project import Project

OPERATOR = """
import kopf

@kopf.on.create("mice")
@kopf.on.delete("mouse")
def handle(spec, **_):
    spec.get("size", 3)
"""
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: mice.zoo.example.com}
spec:
  group: zoo.example.com
  names: {kind: FieldMouse, plural: mice, singular: mouse, listKind: FieldMouseList}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"""


@pytest.mark.parametrize("scope", ["Namespaced", "Cluster"])
def test_kind_plural_scope_and_group_are_those_of_the_definition(scope: str, tmp_path: Path) -> None:
    (tmp_path / "operator.py").write_text(OPERATOR)
    (tmp_path / "crds").mkdir()
    (tmp_path / "crds" / "mice.yaml").write_text(DEFINITION.replace("Namespaced", scope))
    (tmp_path / "part.yaml").write_text("{kind: CustomResourceDefinition, spec: {names: }}")
    (tmp_path / "chart.yaml").write_text("{{ not: yaml")
    port = ported(tmp_path / "operator.py")
    assert port.group == "zoo.example.com"
    (api,) = port.apis
    assert (api.kind, api.plural, api.scope) == ("FieldMouse", "mice", scope)
    files = port.files(Project("zoo", port.group, port.apis), api)
    has_scope = 'scope="Cluster",' in files["src/zoo/field_mouse/types.py"].text
    has_namespace = '"default"' in files["tests/test_field_mouse.py"].text
    assert (has_scope, has_namespace) == (scope == "Cluster", scope == "Namespaced")
