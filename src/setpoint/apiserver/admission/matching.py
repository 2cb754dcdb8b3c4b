"""Matching of requests against the rules and selectors of webhooks and policies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from setpoint.apiserver.objects.codec import labels_of
from setpoint.apiserver.objects.label_selector import selector_of
from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.apiserver.resources.registry import Registry, ServedResource
from setpoint.apiserver.storage import Storage
from setpoint.meta import Selector

JsonObject = dict[str, Any]


class Matching:
    """The rules, selectors and match policy of a webhook, of a policy's ``matchConstraints``, or of a binding's
    ``matchResources`` (where an absent list of rules matches every request).

    ``spec`` has ``resourceRules``, and optionally ``excludeResourceRules``, ``matchPolicy`` and the selectors.
    """

    __slots__ = ("_equivalent", "_excluded", "_matches_without_rules", "_namespaces", "_objects", "_rules")

    def __init__(self, spec: JsonObject, *, matches_without_rules: bool = False) -> None:
        self._equivalent = spec.get("matchPolicy", "Equivalent") == "Equivalent"
        self._rules: list[JsonObject] = spec.get("resourceRules") or []
        self._excluded: list[JsonObject] = spec.get("excludeResourceRules") or []
        self._matches_without_rules = matches_without_rules and not self._rules
        self._namespaces = _selector(spec.get("namespaceSelector"))
        self._objects = _selector(spec.get("objectSelector"))

    def wants(self, attributes: AdmissionAttributes, registry: Registry) -> ServedResource | None:
        """The version in which the webhook or policy receives the object, according to its rules; None if no rule
        matches, or if an exclusion rule does.
        """
        if self._excluded and self._match(self._excluded, attributes, registry) is not None:
            return None
        return attributes.served if self._matches_without_rules else self._match(self._rules, attributes, registry)

    def _match(
        self, rules: list[JsonObject], attributes: AdmissionAttributes, registry: Registry
    ) -> ServedResource | None:
        served = attributes.served
        if any(_matches(rule, attributes, served) for rule in rules):
            return served
        if not self._equivalent:
            return None
        others: Iterable[ServedResource] = [
            item
            for item in registry
            if item.collection == served.collection
            and item is not served
            and (not attributes.subresource or attributes.subresource in item.resource.subresources)
        ]
        return next((item for rule in rules for item in others if _matches(rule, attributes, item)), None)

    def selects(self, attributes: AdmissionAttributes, storage: Storage) -> bool:
        """Whether the selectors match the labels of the object (new or old) and of its namespace."""
        if self._namespaces and not self._namespace_selected(attributes, storage):
            return False
        if not self._objects:
            return True
        return any(
            obj is not None and self._objects.matches((obj.get("metadata") or {}).get("labels") or {})
            for obj in (attributes.obj, attributes.old)
        )

    def _namespace_selected(self, attributes: AdmissionAttributes, storage: Storage) -> bool:
        if attributes.is_namespace and not attributes.subresource and attributes.operation in ("CREATE", "UPDATE"):
            return self._namespaces.matches(((attributes.obj or {}).get("metadata") or {}).get("labels") or {})
        if not attributes.namespace:
            return True
        record = storage.get("namespaces", "", attributes.namespace)
        return self._namespaces.matches(labels_of(record.value) if record is not None else {})


def _selector(selector: JsonObject | None) -> Selector:
    return selector_of(selector) if selector else Selector()


def _matches(rule: JsonObject, attributes: AdmissionAttributes, served: ServedResource) -> bool:
    resource = served.resource
    return (
        _named(rule["operations"], attributes.operation)
        and _named(rule["apiGroups"], resource.group)
        and _named(rule["apiVersions"], resource.version)
        and _in_scope(rule.get("scope", "*"), attributes)
        and any(_resource(item, resource.plural, attributes.subresource) for item in rule["resources"])
        and (not rule.get("resourceNames") or attributes.name in rule["resourceNames"])
    )


def _named(names: list[str], name: str) -> bool:
    return "*" in names or name in names


def _resource(pattern: str, plural: str, subresource: str) -> bool:
    name, _, sub = pattern.partition("/")
    return name in ("*", plural) and sub in ("*", subresource)


def _in_scope(scope: str, attributes: AdmissionAttributes) -> bool:
    if scope == "*":
        return True
    cluster = attributes.is_namespace or not attributes.namespace
    return cluster if scope == "Cluster" else not cluster
