from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
from tests.models.catalog import CLASSES, MODULES, module, objects, structs

from setpoint.meta import MicroTime, Object, decode, encode, from_wire, to_wire
from setpoint.models import schemas
from setpoint.models.admissionregistration_v1 import ValidatingWebhook
from setpoint.models.apiextensions_v1 import CustomResourceDefinition, JSONSchemaProps
from setpoint.models.apps_v1 import Deployment, DeploymentCondition, DeploymentSpec, DeploymentStatus
from setpoint.models.autoscaling_v1 import Scale
from setpoint.models.batch_v1 import CronJobSpec, Job, JobCondition, JobStatus
from setpoint.models.coordination_v1 import Lease, LeaseSpec
from setpoint.models.core_v1 import (
    Container,
    EmptyDirVolumeSource,
    EnvFromSource,
    Event,
    Node,
    NodeCondition,
    NodeStatus,
    Pod,
    PodCondition,
    PodList,
    PodSpec,
    PodStatus,
    PodTemplateSpec,
    Secret,
    ServiceSpec,
    Volume,
)
from setpoint.models.meta_v1 import DeleteOptions, LabelSelector, ListMeta, ObjectMeta
from setpoint.models.resource_v1 import DeviceAttribute


def test_every_definition_has_a_class_and_every_class_a_definition() -> None:
    generated = {item for name in MODULES for item in structs(name).values()}
    assert len(CLASSES) > 800
    assert len(generated) > 700
    assert generated <= set(CLASSES.values())
    assert all(issubclass(item, msgspec.Struct) for item in CLASSES.values())


def test_a_part_that_is_the_same_in_two_versions_is_one_class() -> None:
    assert module("resource_v1beta2").OpaqueDeviceConfiguration is module("resource_v1").OpaqueDeviceConfiguration
    assert module("resource_v1beta2").DeviceTaint is module("resource_v1").DeviceTaint
    assert module("resource_v1beta2").ResourceClaim is not module("resource_v1").ResourceClaim
    assert module("resource_v1beta1").DeviceRequest is not module("resource_v1").DeviceRequest  # it changed


@pytest.mark.parametrize("name", MODULES)
def test_every_class_decodes_an_empty_document_and_round_trips(name: str) -> None:
    for kind in structs(name).values():
        document = decode(kind, b"{}")
        again = decode(kind, encode(document))
        assert again == document, kind


def test_wire_names_are_exactly_the_properties_of_the_schema() -> None:
    for definition, kind in CLASSES.items():
        properties = set(schemas()[definition].get("properties", {}))
        if "x-kubernetes-group-version-kind" in schemas()[definition]:
            properties -= {"apiVersion", "kind"}  # class variables and properties
        if kind is ListMeta:
            properties -= {"shardInfo"}  # alpha: of requests for a shard of a list, which setpoint does not make
        assert set(kind.__struct_encode_fields__) == properties, definition


def test_no_attribute_hides_what_every_object_has() -> None:
    for kind in CLASSES.values():
        if issubclass(kind, Object):
            document = decode(kind, b'{"metadata": {"name": "n", "namespace": "ns", "uid": "u", "labels": {"a": "b"}}}')
            assert (document.name, document.namespace, document.uid, document.key, document.labels) == (
                "n",
                "ns",
                "u",
                "ns/n",
                {"a": "b"},
            )
            assert document.kind == kind.__name__
            assert callable(document.owner_reference)


def test_names_are_those_that_python_users_know() -> None:
    assert {"pod_ip", "pod_ips", "host_ip", "qos_class"} <= set(PodStatus.__struct_fields__)
    assert {"cluster_ip", "cluster_ips", "external_ips", "load_balancer_source_ranges"} <= set(
        ServiceSpec.__struct_fields__
    )
    assert {"host_pid", "set_hostname_as_fqdn", "dns_policy", "termination_grace_period_seconds"} <= set(
        PodSpec.__struct_fields__
    )
    assert "continue_" in ListMeta.__struct_fields__
    assert {"ref", "schema", "not_", "x_kubernetes_int_or_string"} <= set(JSONSchemaProps.__struct_fields__)
    assert {"bool_", "bools", "int_", "ints", "string", "version"} <= set(DeviceAttribute.__struct_fields__)


def test_words_of_python_keep_their_name_on_the_wire() -> None:
    assert to_wire(DeviceAttribute(bool_=True)) == {"bool": True}
    assert to_wire(JSONSchemaProps(ref="#/x", not_=JSONSchemaProps(type="string"))) == {
        "$ref": "#/x",
        "not": {"type": "string"},
    }
    assert decode(DeviceAttribute, b'{"int": 3}').int_ == 3


def test_an_object_made_by_hand_says_its_kind_and_nothing_empty() -> None:
    pod = Pod.named(
        "web", "default", {"app": "web"}, spec=PodSpec(containers=[Container(name="main", image="busybox")])
    )
    assert to_wire(pod) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "busybox"}]},
    }


def test_spec_status_and_metadata_are_there_and_zero_when_the_server_sent_none() -> None:
    pod = decode(Pod, b"{}")
    assert pod.spec == PodSpec(containers=[])
    assert pod.status.conditions == []
    assert pod.metadata.labels == {}
    assert to_wire(Pod()) == {"apiVersion": "v1", "kind": "Pod"}
    deployment = Deployment()
    assert deployment.spec.template.spec.containers == []
    assert deployment.spec.selector == LabelSelector()


def test_instances_share_no_default() -> None:
    one, other = Pod(), Pod()
    one.status.conditions.append(PodCondition(type="Ready", status="True"))
    one.metadata.labels["a"] = "b"
    assert other.status.conditions == []
    assert other.metadata.labels == {}
    assert one.spec is not other.spec


def test_zero_is_not_absent_where_the_field_is_optional() -> None:
    spec = DeploymentSpec(replicas=0, selector=LabelSelector(), template=PodTemplateSpec(spec=PodSpec(containers=[])))
    assert to_wire(spec)["replicas"] == 0
    assert to_wire(PodSpec(containers=[], automount_service_account_token=False)) == {
        "containers": [],
        "automountServiceAccountToken": False,
    }


def test_an_empty_struct_is_something() -> None:
    assert to_wire(Volume(name="tmp", empty_dir=EmptyDirVolumeSource())) == {"name": "tmp", "emptyDir": {}}


def test_templates_have_metadata_and_need_a_spec() -> None:
    assert PodTemplateSpec(spec=PodSpec(containers=[])).metadata == ObjectMeta()
    with pytest.raises(TypeError, match="spec"):
        PodTemplateSpec()  # type: ignore[call-arg]
    assert "job_template" in CronJobSpec.__struct_fields__


def test_a_list_is_a_page_of_its_kind() -> None:
    page = decode(
        PodList, b'{"kind": "PodList", "metadata": {"continue": "t"}, "items": [{"metadata": {"name": "a"}}]}'
    )
    assert page.metadata.continue_ == "t"
    assert [pod.name for pod in page.items] == ["a"]
    assert (PodList.api_version, PodList.kind) == ("v1", "PodList")


def test_times_bytes_quantities_and_int_or_strings_have_their_types() -> None:
    lease = decode(Lease, b'{"spec": {"renewTime": "2026-01-31T12:00:00.000000Z"}}')
    assert type(lease.spec.renew_time) is MicroTime
    assert to_wire(lease)["spec"]["renewTime"] == "2026-01-31T12:00:00.000000Z"
    assert decode(Secret, b'{"data": {"a": "aGk="}}').data == {"a": b"hi"}
    assert to_wire(Secret(data={"a": b"hi"}))["data"] == {"a": "aGk="}
    container = {"name": "c", "resources": {"limits": {"cpu": "100m"}}, "livenessProbe": {"httpGet": {"port": "http"}}}
    probed = from_wire(Container, container)
    assert probed.resources is not None
    assert probed.resources.limits == {"cpu": "100m"}
    assert probed.liveness_probe is not None
    assert probed.liveness_probe.http_get is not None
    assert probed.liveness_probe.http_get.port == "http"
    assert to_wire(probed) == container


def test_a_micro_time_is_written_with_six_digits() -> None:
    lease = Lease.named("l", spec=LeaseSpec(acquire_time=MicroTime.of(datetime(2026, 1, 31, tzinfo=UTC))))
    assert to_wire(lease)["spec"] == {"acquireTime": "2026-01-31T00:00:00.000000Z"}


def test_schemas_of_schemas_are_recursive() -> None:
    document = {
        "type": "object",
        "properties": {"a": {"items": {"type": "integer", "minimum": 0}}, "b": {"items": [{"type": "string"}]}},
        "additionalProperties": False,
        "dependencies": {"a": ["b"], "b": {"not": {"required": ["a"]}}},
        "default": {"a": []},
        "enum": [1, "x", None],
        "x-kubernetes-list-map-keys": ["name"],
    }
    assert to_wire(from_wire(JSONSchemaProps, document)) == document
    assert from_wire(JSONSchemaProps, document).additional_properties is False


def test_a_number_keeps_its_spelling() -> None:
    assert encode(decode(JSONSchemaProps, b'{"minimum":0}')) == b'{"minimum":0}'
    assert encode(decode(JSONSchemaProps, b'{"minimum":0.5}')) == b'{"minimum":0.5}'


def test_kinds_without_metadata_know_their_names() -> None:
    assert (DeleteOptions.api_version, DeleteOptions.kind) == ("v1", "DeleteOptions")
    assert to_wire(DeleteOptions(propagation_policy="Foreground")) == {"propagationPolicy": "Foreground"}


def test_questions_of_the_mixins() -> None:
    assert not Pod().is_ready
    ready = Pod(status=PodStatus(phase="Running", conditions=[PodCondition(type="Ready", status="True")]))
    assert ready.is_ready
    assert ready.is_running
    assert not ready.is_finished
    assert Pod(status=PodStatus(phase="Failed")).is_finished
    assert Node(status=NodeStatus(conditions=[NodeCondition(type="Ready", status="True")])).is_ready
    assert not Node(status=NodeStatus(conditions=[NodeCondition(type="Ready", status="Unknown")])).is_ready
    condition = DeploymentCondition(type="Available", status="True")
    assert Deployment(status=DeploymentStatus(conditions=[condition])).is_available
    failed = Job(status=JobStatus(conditions=[JobCondition(type="Failed", status="True")]))
    assert failed.is_failed
    assert failed.is_finished
    assert not failed.is_complete
    established = decode(
        CustomResourceDefinition, b'{"status": {"conditions": [{"type": "Established", "status": "True"}]}}'
    )
    assert established.is_established


def test_docstrings_come_from_the_schema() -> None:
    assert (Pod.__doc__ or "").startswith("Pod is a collection of containers")
    assert all(kind.__doc__ for name in MODULES for kind in structs(name).values())


def test_required_fields_must_be_given() -> None:
    for kind, missing in (
        (Container, "name"),
        (PodSpec, "containers"),
        (ValidatingWebhook, "admission_review_versions"),
    ):
        with pytest.raises(TypeError, match=missing):
            kind()  # type: ignore[call-arg]


def test_every_object_can_be_subclassed_with_fields() -> None:
    class Labelled(EnvFromSource, kw_only=True):
        extra_note: str = ""

    assert to_wire(Labelled(extra_note="x")) == {"extraNote": "x"}


def test_kinds_of_the_same_name_are_kept_apart() -> None:
    assert Event.resource.group == ""
    assert {kind.resource.group for name in MODULES for kind in objects(name) if kind.__name__ == "Event"} == {
        "",
        "events.k8s.io",
    }
    assert Scale.resource.verbs == ()
