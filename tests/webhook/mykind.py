"""The classes in the tests of this package."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from setpoint.crd import ConditionedStatus, CustomResource, Field
from setpoint.meta import Model, Object, raw_of, to_wire
from setpoint.models.core_v1 import Container, PodSpec, PodTemplateSpec
from setpoint.webhook import Admission, Review


class MykindSpec(Model):
    replicas: Annotated[int, Field(ge=0)] = 1
    pool: str = ""
    template: PodTemplateSpec | None = None


class MykindStatus(ConditionedStatus):
    ready: int = 0


class Mykind(CustomResource, group="grp.example.com", version="v1alpha2"):
    spec: MykindSpec = MykindSpec()
    status: MykindStatus = MykindStatus()


def fill_in(mykind: Mykind) -> None:
    if mykind.spec.template is None:
        mykind.spec.template = PodTemplateSpec(spec=PodSpec(containers=[Container(name="busybox", image="busybox")]))


async def check_it(mykind: Mykind, review: Review[Mykind]) -> None:
    template = mykind.spec.template
    if template is not None and (template.spec is None or not template.spec.containers):
        review.required("spec.template.spec.containers", "the pods need something to run")
    if mykind.spec.replicas > 10 and "big" not in mykind.labels:
        review.invalid("spec.replicas", mykind.spec.replicas, "must be at most 10 without the label big")
    if review.old is not None and mykind.spec.pool != review.old.spec.pool:
        review.forbidden("spec.pool", "pods can't move to another pool")
    if mykind.spec.replicas == 0:
        review.warn("spec.replicas is 0: nothing will run")


def mykind_admission(**options: Any) -> Admission[Mykind]:
    return Admission(Mykind, **options).defaults(fill_in).validates(check_it)


MUTATE = "/mutate-grp-example-com-v1alpha2-mykind"
VALIDATE = "/validate-grp-example-com-v1alpha2-mykind"


def document(name: str = "sample", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "grp.example.com/v1alpha2",
        "kind": "Mykind",
        "metadata": {"name": name, "namespace": "default", "uid": "6d5b"},
        "spec": spec,
    }


def review(
    obj: Object | dict[str, Any] | None,
    old: Object | dict[str, Any] | None = None,
    *,
    operation: str = "CREATE",
    **request: Any,
) -> dict[str, Any]:
    """An AdmissionReview as an API server sends it."""
    plain = _plain(obj)
    stored = _plain(old)
    subject = plain or stored or {}
    group, _, version = subject.get("apiVersion", "").rpartition("/")
    metadata = subject.get("metadata", {})
    kind = {"group": group, "version": version, "kind": subject.get("kind", "")}
    resource = {"group": group, "version": version, "resource": subject.get("kind", "").lower() + "s"}
    return {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": metadata.get("name", ""),
            "namespace": metadata.get("namespace", ""),
            "operation": operation,
            "userInfo": {"username": "jane", "uid": "42", "groups": ["system:authenticated"], "extra": {"k": ["v"]}},
            "object": plain,
            "oldObject": stored,
            "dryRun": False,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions", "fieldManager": "kubectl"},
            **request,
        },
    }


def _plain(obj: Object | dict[str, Any] | None) -> dict[str, Any] | None:
    if isinstance(obj, Object):
        raw = raw_of(obj)
        return msgspec.json.decode(raw) if raw is not None else to_wire(obj)
    return obj


def encoded(value: Any) -> bytes:
    return msgspec.json.encode(value)
