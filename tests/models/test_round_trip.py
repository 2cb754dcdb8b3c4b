"""Any document of a server comes back as it was: random ones, valid by the schema, for the big kinds."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.models.documents import documents

from setpoint.meta import GroupVersionKind, Object, decode, to_wire
from setpoint.models import BUILTIN, definition_name, kind_for

BIG = {
    "pods",
    "services",
    "nodes",
    "events",
    "persistentvolumes",
    "deployments",
    "cronjobs",
    "customresourcedefinitions",
    "horizontalpodautoscalers",
    "ingresses",
    "networkpolicies",
    "resourceslices",
    "validatingadmissionpolicies",
    "leases",
    "secrets",
}
KINDS = [kind_for(resource.gvk) for resource in BUILTIN]


def expected(kind: type[Object], document: dict[str, Any]) -> dict[str, Any]:
    """The document with the names of its kind, without what says nothing."""
    nothing = {
        item.encode_name: to_wire(item.default_factory())
        for item in msgspec.structs.fields(kind)
        if item.default_factory is not msgspec.NODEFAULT and item.name in ("metadata", "spec", "status")
    }
    by_name = {name: value for name, value in document.items() if name not in nothing or value != nothing[name]}
    return {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind, **by_name}


def check(kind: type[Object], document: dict[str, Any]) -> None:
    new_document = decode(kind, msgspec.json.encode(document))
    assert to_wire(new_document) == expected(kind, document)


@pytest.mark.parametrize(
    "kind",
    [kind for kind in KINDS if kind.resource.plural in BIG and "beta" not in kind.resource.version],
    ids=lambda kind: str(kind.resource.gvr),
)
def test_a_big_kind_comes_back_as_it_was(kind: type[Object]) -> None:
    @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(documents(definition_name(kind.resource.gvk)))
    def run(document: dict[str, Any]) -> None:
        check(kind, document)

    run()


@pytest.mark.parametrize(
    "claim", [{}, {"spec": {}}, {"metadata": {"name": "data"}, "spec": {}}, {"spec": {"volumeName": "v"}}]
)
def test_an_object_inside_of_another_has_all_its_parts_as_go_writes_them(claim: dict[str, Any]) -> None:
    template = {"metadata": {}, "spec": {"containers": []}}
    rest = {"selector": {}, "serviceName": "web", "template": template}
    written = {"metadata": {}, "spec": {}, "status": {}} | claim
    kind = kind_for(GroupVersionKind("apps", "v1", "StatefulSet"))
    document = decode(kind, msgspec.json.encode({"spec": {**rest, "volumeClaimTemplates": [claim]}}))
    assert to_wire(document)["spec"]["volumeClaimTemplates"] == [written]
    check(kind, {"spec": {**rest, "volumeClaimTemplates": [written]}})


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(st.data())
def test_any_kind_comes_back_as_it_was(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(KINDS))
    check(kind, data.draw(documents(definition_name(kind.resource.gvk))))
