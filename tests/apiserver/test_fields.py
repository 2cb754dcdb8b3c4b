from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from setpoint.apiserver.verbs.field_selectors import fields_of, supported
from setpoint.meta import FieldSelector, Resource
from setpoint.models import BUILTIN

RESOURCES = {str(resource.group_resource): resource for resource in BUILTIN}
CUSTOM = Resource(group="grp.example.com", version="v1", kind="Mykind", plural="mykinds")


def test_every_resource_can_be_selected_by_name() -> None:
    obj = {"metadata": {"name": "x", "namespace": "y"}}
    for resource in (*BUILTIN, CUSTOM):
        assert "metadata.name" in supported(resource)
        fields = fields_of(resource, obj)
        assert (fields["metadata.name"], fields["metadata.namespace"]) == ("x", "y")
        assert fields.keys() - {"metadata.namespace"} <= supported(resource) <= fields.keys()


POD = {
    "metadata": {"name": "p", "namespace": "n"},
    "spec": {"nodeName": "n1", "restartPolicy": "Always", "hostNetwork": True},
    "status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "::1"}]},
}


@pytest.mark.parametrize(
    ("resource", "obj", "selector", "matches"),
    [
        ("pods", POD, "spec.nodeName=n1,status.phase!=Pending", True),
        ("pods", POD, "status.podIP=10.0.0.2", False),
        ("pods", POD, "spec.hostNetwork=true", True),
        ("pods", {}, "spec.hostNetwork=false,spec.nodeName=", True),
        ("nodes", {}, "spec.unschedulable=false", True),
        ("nodes", {"spec": {"unschedulable": True}}, "spec.unschedulable=true", True),
        ("events", {"involvedObject": {"kind": "Pod", "name": "p"}}, "involvedObject.name=p", True),
        ("events", {"source": {"component": "kubelet"}}, "source=kubelet", True),
        ("events", {"reportingComponent": "c"}, "source=c,reportingComponent=c", True),
        ("events.events.k8s.io", {"regarding": {"uid": "u"}}, "regarding.uid=u", True),
        ("secrets", {"type": "Opaque"}, "type=Opaque", True),
        ("namespaces", {"status": {"phase": "Active"}}, "status.phase!=Active", False),
        ("replicationcontrollers", {}, "status.replicas=0", True),
        ("resourceslices.resource.k8s.io", {"spec": {"pool": {"name": "p"}}}, "spec.pool.name=p", True),
        ("jobs.batch", {"status": {"succeeded": 2}}, "status.successful=2", True),
        ("certificatesigningrequests.certificates.k8s.io", {"spec": {"signerName": "s"}}, "spec.signerName=s", True),
    ],
)
def test_fields_have_the_values_that_selectors_compare(
    resource: str, obj: dict[str, Any], selector: str, matches: bool
) -> None:
    parsed = FieldSelector.parse(selector)
    assert {requirement.field for requirement in parsed.requirements} <= supported(RESOURCES[resource])
    assert parsed.matches(fields_of(RESOURCES[resource], obj)) is matches


def test_other_fields_are_not_supported() -> None:
    assert "spec.replicas" not in supported(RESOURCES["deployments.apps"])
    assert "spec.color" not in supported(CUSTOM)
    assert "status.replicas" not in supported(RESOURCES["replicasets.apps"])
    assert "metadata.namespace" not in supported(RESOURCES["nodes"])
    assert "metadata.namespace" in supported(RESOURCES["persistentvolumes"])
    assert "metadata.namespace" in supported(CUSTOM, custom=True)
    assert "metadata.namespace" not in supported(replace(CUSTOM, namespaced=False), custom=True)


def test_custom_resources_bring_their_own_fields() -> None:
    paths = (".spec.color", ".spec.size")
    assert supported(CUSTOM, paths) >= {"spec.color", "spec.size"}
    fields = fields_of(CUSTOM, {"spec": {"color": "blue", "size": 3, "on": True}}, (*paths, ".spec.on"))
    assert (fields["spec.color"], fields["spec.size"], fields["spec.on"]) == ("blue", "3", "true")
