"""The variables that admission expressions see."""

from __future__ import annotations

from typing import Any

from setpoint.apiserver.admission.admission_review import request_document
from setpoint.apiserver.http_types import UserInfo
from setpoint.apiserver.objects.codec import decode
from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.apiserver.storage import Storage
from setpoint.cel import value_without_schema
from setpoint.cel.library.authorization import Attributes, AuthorizerValue, Decision, request_resource
from setpoint.cel.values import Value

JsonObject = dict[str, Any]


class _EverythingIsAllowed:
    """The authorizer behind the variable ``authorizer``. It allows everything, even on a server with an authorizer."""

    def decide(self, attributes: Attributes) -> Decision:
        return Decision(allowed=True, reason="this server allows everything")


_AUTHORIZER = _EverythingIsAllowed()


def values_for(
    attributes: AdmissionAttributes,
    target: ServedResource,
    user: UserInfo,
    obj: JsonObject | None,
    old: JsonObject | None,
) -> dict[str, Value]:
    """The values of the variables, by name, except ``params`` and ``variables``. ``namespaceObject`` is null; a caller
    whose expressions may use it replaces the value. ``obj`` and ``old`` must be in the version of ``target``.
    """
    access = Attributes(
        verb="",
        group=attributes.served.resource.group,
        resource=attributes.served.resource.plural,
        subresource=attributes.subresource,
        namespace=attributes.namespace,
        name=attributes.name,
    )
    return {
        "object": value_without_schema(obj),
        "oldObject": value_without_schema(old),
        "request": value_without_schema(request_document(attributes, target, user)),
        "namespaceObject": None,
        "authorizer": AuthorizerValue(_AUTHORIZER),
        "authorizer.requestResource": request_resource(_AUTHORIZER, access),
    }


def namespace_of(attributes: AdmissionAttributes, storage: Storage) -> Value:
    """The variable ``namespaceObject``: the namespace of the request's object, without managed fields. It is null for
    cluster-scoped objects, for namespaces themselves, and if the namespace does not exist.
    """
    if attributes.is_namespace or not attributes.namespace:
        return None
    record = storage.get("namespaces", "", attributes.namespace)
    if record is None:
        return None
    document: JsonObject = decode(record.value)
    document["metadata"].pop("managedFields", None)
    return value_without_schema(document)
