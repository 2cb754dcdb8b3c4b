"""The request as admission describes it: in reviews for webhooks, and as the variable ``request``."""

from __future__ import annotations

from typing import Any, Final

from setpoint.apiserver.http_types import UserInfo
from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.apiserver.requests.options import DeleteOptions, WriteOptions
from setpoint.apiserver.resources.registry import ServedResource

JsonObject = dict[str, Any]
_OPTIONS: Final = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions"}


def request_document(attributes: AdmissionAttributes, target: ServedResource, user: UserInfo) -> JsonObject:
    """An AdmissionRequest without uid and objects. ``target`` is the version that the webhook or policy sees."""
    info: JsonObject = {"username": user.name, "groups": list(user.groups)}
    if user.uid:
        info["uid"] = user.uid
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra.items()}
    request: JsonObject = {
        "kind": _kind(target, attributes),
        "resource": _resource(target),
        "requestKind": _kind(attributes.served, attributes),
        "requestResource": _resource(attributes.served),
        "operation": attributes.operation,
        "userInfo": info,
        "dryRun": attributes.dry_run,
        "options": _options(attributes.options, attributes.operation),
    }
    if attributes.subresource:
        request["subResource"] = request["requestSubResource"] = attributes.subresource
    for key, value in (("name", attributes.name), ("namespace", attributes.namespace)):
        if value:
            request[key] = value
    return request


def _options(options: WriteOptions | DeleteOptions, operation: str) -> JsonObject:
    """The options as a CreateOptions, UpdateOptions or DeleteOptions document."""
    document: JsonObject = {"kind": _OPTIONS.get(operation, "DeleteOptions"), "apiVersion": "meta.k8s.io/v1"}
    if options.dry_run:
        document["dryRun"] = ["All"]
    if isinstance(options, WriteOptions):
        if options.field_manager:
            document["fieldManager"] = options.field_manager
        if options.field_validation != "Warn":
            document["fieldValidation"] = options.field_validation
        return document
    preconditions = {"uid": options.uid, "resourceVersion": options.resource_version}
    for key, value in (
        ("gracePeriodSeconds", options.grace_period_seconds),
        ("orphanDependents", options.orphan_dependents),
        ("propagationPolicy", options.propagation_policy),
        ("preconditions", {name: item for name, item in preconditions.items() if item is not None} or None),
    ):
        if value is not None:
            document[key] = value
    return document


def _kind(served: ServedResource, attributes: AdmissionAttributes) -> JsonObject:
    resource = served.resource
    group, version, kind = attributes.kind or (resource.group, resource.version, resource.kind)
    return {"group": group, "version": version, "kind": kind}


def _resource(served: ServedResource) -> JsonObject:
    resource = served.resource
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}
