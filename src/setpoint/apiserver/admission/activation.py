"""The variables that expressions of admission see."""

from __future__ import annotations

from typing import Any

from setpoint.apiserver.admission.review import request_document
from setpoint.apiserver.http_types import UserInfo
from setpoint.apiserver.objects.codec import decode
from setpoint.apiserver.requests.admission import Question
from setpoint.apiserver.resources.registry import Served
from setpoint.apiserver.storage import Storage
from setpoint.cel import value_without_schema
from setpoint.cel.library.authorization import Attributes, AuthorizerValue, Decision, request_resource
from setpoint.cel.values import Value

__all__ = ["namespace_of", "values_for"]

JsonObject = dict[str, Any]


class _EverythingIsAllowed:
    """This server's authorizer, as its access reviews say it."""

    def decide(self, attributes: Attributes) -> Decision:
        return Decision(allowed=True, reason="this server allows everything")


_AUTHORIZER = _EverythingIsAllowed()


def values_for(
    question: Question, target: Served, user: UserInfo, obj: JsonObject | None, old: JsonObject | None
) -> dict[str, Value]:
    """Without ``namespaceObject`` and ``params``. ``obj`` and ``old`` are of the version ``target`` is."""
    attributes = Attributes(
        verb="",
        group=question.served.resource.group,
        resource=question.served.resource.plural,
        subresource=question.subresource,
        namespace=question.namespace,
        name=question.name,
    )
    return {
        "object": value_without_schema(obj),
        "oldObject": value_without_schema(old),
        "request": value_without_schema(request_document(question, target, user)),
        "namespaceObject": None,
        "authorizer": AuthorizerValue(_AUTHORIZER),
        "authorizer.requestResource": request_resource(_AUTHORIZER, attributes),
    }


def namespace_of(question: Question, storage: Storage) -> Value:
    """The variable ``namespaceObject``: null for what is in none, and for namespaces."""
    if question.is_namespace or not question.namespace:
        return None
    record = storage.get("namespaces", "", question.namespace)
    if record is None:
        return None
    document: JsonObject = decode(record.value)
    document["metadata"].pop("managedFields", None)
    return value_without_schema(document)
