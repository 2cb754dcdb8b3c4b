"""One admission webhook as it is configured, and which requests it is for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from setpoint.apiserver.hooks.caller import Target
from setpoint.apiserver.objects import labels_of
from setpoint.apiserver.registry import Registry, Served
from setpoint.apiserver.storage import Storage
from setpoint.meta import LabelSelector, Selector, from_wire

__all__ = ["Hook", "Question"]

JsonObject = dict[str, Any]
_EXEMPT: Final = "admissionregistration.k8s.io"


@dataclass(slots=True)
class Question:
    """What admission is asked about. ``obj`` and ``old`` are of the version ``served`` is, unless ``kind`` (group,
    version, kind) says that they are something else, such as a Scale.
    """

    served: Served
    operation: str
    subresource: str
    namespace: str
    name: str
    obj: JsonObject | None
    old: JsonObject | None
    options: JsonObject
    dry_run: bool
    kind: tuple[str, str, str] | None = None

    @property
    def is_namespace(self) -> bool:
        return (self.served.resource.group, self.served.resource.plural) == ("", "namespaces")

    @property
    def exempt(self) -> bool:
        """Configurations of admission are not subject to it: nobody could repair them any more."""
        return self.served.resource.group == _EXEMPT


class Hook:
    """One entry of ``webhooks``, checked by its strategy. ``uid`` tells it from all others."""

    __slots__ = (
        "_equivalent",
        "_namespaces",
        "_objects",
        "_rules",
        "dry_runs",
        "ignores_failure",
        "name",
        "reinvoked",
        "target",
        "timeout",
        "uid",
    )

    def __init__(self, configuration: str, spec: JsonObject) -> None:
        self.name: str = spec["name"]
        self.uid = f"{configuration}/{self.name}"
        self.timeout: int = spec.get("timeoutSeconds") or 10
        self.ignores_failure = spec.get("failurePolicy") == "Ignore"
        self.dry_runs = spec.get("sideEffects") in ("None", "NoneOnDryRun")
        self.reinvoked = spec.get("reinvocationPolicy") == "IfNeeded"
        self.target = Target.of(spec["clientConfig"], f"timeout={self.timeout}s")
        self._equivalent = spec.get("matchPolicy", "Equivalent") == "Equivalent"
        self._rules: list[JsonObject] = spec.get("rules") or []
        self._namespaces = _selector(spec.get("namespaceSelector"))
        self._objects = _selector(spec.get("objectSelector"))

    def wants(self, question: Question, registry: Registry) -> Served | None:
        """The version in which the webhook wants to be asked, by its rules; None if it does not."""
        served = question.served
        if any(_matches(rule, question, served) for rule in self._rules):
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
        return next((item for rule in self._rules for item in others if _matches(rule, question, item)), None)

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
