"""Matching of requests against the rules and selectors of webhooks and policies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from setpoint.apiserver.objects.codec import labels_of
from setpoint.apiserver.requests.admission import Question
from setpoint.apiserver.resources.registry import Registry, Served
from setpoint.apiserver.storage import Storage
from setpoint.meta import LabelSelector, Selector, from_wire

__all__ = ["Matching"]

JsonObject = dict[str, Any]


class Matching:
    """Rules, selectors and match policy: of a webhook, of a policy's ``matchConstraints``, or of a binding's
    ``matchResources`` (where no rules are all).

    ``spec`` has ``resourceRules`` and perhaps ``excludeResourceRules``, ``matchPolicy`` and the selectors.
    """

    __slots__ = ("_equivalent", "_excluded", "_namespaces", "_objects", "_rules", "_unruled")

    def __init__(self, spec: JsonObject, *, unruled: bool = False) -> None:
        self._equivalent = spec.get("matchPolicy", "Equivalent") == "Equivalent"
        self._rules: list[JsonObject] = spec.get("resourceRules") or []
        self._excluded: list[JsonObject] = spec.get("excludeResourceRules") or []
        self._unruled = unruled and not self._rules
        self._namespaces = _selector(spec.get("namespaceSelector"))
        self._objects = _selector(spec.get("objectSelector"))

    def wants(self, question: Question, registry: Registry) -> Served | None:
        """The version that the webhook or policy is to see, by its rules; None if no rule matches."""
        if self._excluded and self._ruled(self._excluded, question, registry) is not None:
            return None
        return question.served if self._unruled else self._ruled(self._rules, question, registry)

    def _ruled(self, rules: list[JsonObject], question: Question, registry: Registry) -> Served | None:
        served = question.served
        if any(_matches(rule, question, served) for rule in rules):
            return served
        if not self._equivalent:
            return None
        others: Iterable[Served] = [
            item
            for item in registry
            if item.collection == served.collection
            and item is not served
            and (not question.subresource or question.subresource in item.resource.subresources)
        ]
        return next((item for rule in rules for item in others if _matches(rule, question, item)), None)

    def selects(self, question: Question, storage: Storage) -> bool:
        """Whether the labels of the object (new or old) and of its namespace are what it asks for."""
        if self._namespaces and not self._namespace_selected(question, storage):
            return False
        if not self._objects:
            return True
        return any(
            obj is not None and self._objects.matches((obj.get("metadata") or {}).get("labels") or {})
            for obj in (question.obj, question.old)
        )

    def _namespace_selected(self, question: Question, storage: Storage) -> bool:
        if question.is_namespace and not question.subresource and question.operation in ("CREATE", "UPDATE"):
            return self._namespaces.matches(((question.obj or {}).get("metadata") or {}).get("labels") or {})
        if not question.namespace:
            return True
        record = storage.get("namespaces", "", question.namespace)
        return self._namespaces.matches(labels_of(record.value) if record is not None else {})


def _selector(selector: JsonObject | None) -> Selector:
    return Selector.from_label_selector(from_wire(LabelSelector, selector)) if selector else Selector()


def _matches(rule: JsonObject, question: Question, served: Served) -> bool:
    resource = served.resource
    return (
        _named(rule["operations"], question.operation)
        and _named(rule["apiGroups"], resource.group)
        and _named(rule["apiVersions"], resource.version)
        and _in_scope(rule.get("scope", "*"), question)
        and any(_resource(item, resource.plural, question.subresource) for item in rule["resources"])
        and (not rule.get("resourceNames") or question.name in rule["resourceNames"])
    )


def _named(names: list[str], name: str) -> bool:
    return "*" in names or name in names


def _resource(pattern: str, plural: str, subresource: str) -> bool:
    name, _, sub = pattern.partition("/")
    return name in ("*", plural) and sub in ("*", subresource)


def _in_scope(scope: str, question: Question) -> bool:
    if scope == "*":
        return True
    cluster = question.is_namespace or not question.namespace
    return cluster if scope == "Cluster" else not cluster
