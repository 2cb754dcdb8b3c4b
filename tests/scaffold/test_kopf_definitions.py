"""A kopf operator keeps the names that the definitions beside it give its kinds."""

from __future__ import annotations

from pathlib import Path

from setpoint.scaffold.kopf import ported

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


def test_kind_plural_and_group_are_those_of_the_definition(tmp_path: Path) -> None:
    (tmp_path / "operator.py").write_text(OPERATOR)
    (tmp_path / "crds").mkdir()
    (tmp_path / "crds" / "mice.yaml").write_text(DEFINITION)
    (tmp_path / "chart.yaml").write_text("{{ not: yaml")
    port = ported(tmp_path / "operator.py")
    assert port.group == "zoo.example.com"
    assert [(api.kind, api.plural) for api in port.apis] == [("FieldMouse", "mice")]
