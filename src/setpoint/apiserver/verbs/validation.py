"""All checks of an object before it is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import msgspec

from setpoint.apiserver.errors import ApiStatusError, forbidden, invalid, not_found
from setpoint.apiserver.objects.codec import check_size, metadata_of
from setpoint.apiserver.objects.metadata import metadata_errors, update_errors
from setpoint.apiserver.requests.body import LARGE, delays_others
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.apiserver.strategies.addresses import LOOPBACK
from setpoint.apiserver.strategies.rules import has_rules, rule_errors, status_errors
from setpoint.apiserver.strategies.warnings import status_warnings, warnings_of
from setpoint.apiserver.verbs.scale_fields import scale_errors
from setpoint.cel.rules import object_errors
from setpoint.meta import GroupKind, GroupResource
from setpoint.meta.names import path_segment_prefix
from setpoint.schema import FieldError

JsonObject = dict[str, Any]
NAMESPACES = GroupResource("", "namespaces")

PARTIAL = frozenset({"status", "approval", "ephemeralcontainers", "resize"})
"""Subresources whose requests contain the whole object but change only part of it."""
_ENDPOINTS = frozenset({"endpoints", "endpointslices"})
_GENERIC_GROUPS = frozenset(
    {
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "coordination.k8s.io",
        "node.k8s.io",
    }
)
_ANY_PREFIX = frozenset(
    {
        "certificatesigningrequests", "clusterrolebindings", "clusterroles", "cronjobs", "csidrivers",
        "customresourcedefinitions", "daemonsets", "deployments", "deviceclasses", "devicetaintrules", "events",
        "horizontalpodautoscalers", "jobs", "leases", "networkpolicies", "poddisruptionbudgets", "podtemplates",
        "priorityclasses", "replicasets", "replicationcontrollers", "resourcequotas", "resourceslices", "rolebindings",
        "roles", "servicecidrs", "services", "statefulsets",
    }
)  # fmt: skip
"""The kinds whose rule for a ``generateName`` upstream does not apply to an update."""


def check_namespace(call: Call, name: str) -> None:
    """Checks that the namespace of a new object exists and is not being deleted. Raises ApiStatusError (404, 403)."""
    namespace = call.path.namespace
    if not call.served.resource.namespaced:
        return
    record = call.storage.get("namespaces", "", namespace)
    if record is None:
        raise not_found(NAMESPACES, namespace)
    if metadata_of(record.value).deletionTimestamp:
        reason = f"unable to create new content in namespace {namespace} because it is being terminated"
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
        raise forbidden(call.served.group_resource, name, reason, [cause])


def check_new(call: Call, served: ServedResource, obj: JsonObject) -> None:
    """Validates a new object, and adds warnings to the response. Raises ApiStatusError (422)."""
    _check(call, served, obj, None, partial(_errors_of_new, call, served, obj))


def _errors_of_new(call: Call, served: ServedResource, obj: JsonObject, warnings: list[str]) -> list[FieldError]:
    strategy = served.strategy
    rules = strategy.name_rule, strategy.prefix_rule
    errors = metadata_errors(obj["metadata"], served.resource.namespaced, *rules, custom=_any_finalizer(served))
    errors += _schema_errors(call, served, obj, None, warnings)
    if not served.custom:
        errors += _rule_errors(call, served, obj, None)
    if not errors or not served.custom:
        errors += strategy.validate(obj, None)
    if not errors:
        warnings += _warnings(served, obj, None)
    return errors and ([error for error in errors if not error.field.startswith(strategy.checked_last)] or errors)


def check_update(
    call: Call, served: ServedResource, new: JsonObject, old: JsonObject, *, subresource: str = ""
) -> None:
    """Validates a changed object, and adds warnings to the response. Raises ApiStatusError (422)."""
    check_defaulted_size(call, served, new)
    _check(call, served, new, old, partial(_errors_of_update, call, served, new, old, subresource))


def _errors_of_update(
    call: Call, served: ServedResource, new: JsonObject, old: JsonObject, subresource: str, warnings: list[str]
) -> list[FieldError]:
    strategy = served.strategy
    resource = served.resource
    rules: list[Callable[[str], list[str]]] = [path_segment_prefix]
    if not subresource and not served.custom and resource.plural not in _ANY_PREFIX:
        rules.append(strategy.prefix_rule)
    prefix_rule = partial(_broken, rules)
    errors = metadata_errors(new["metadata"], resource.namespaced, _unruled, prefix_rule, custom=_any_finalizer(served))
    errors += update_errors(new["metadata"], old["metadata"])
    errors += _schema_errors(call, served, new, old, warnings)
    if not errors or not served.custom:
        if subresource in PARTIAL:
            if subresource in ("status", "approval"):  # an approval is a part of the status
                errors += status_errors(served.name, new, old)
            errors += strategy.validate_subresource(subresource, new, old)
        else:
            errors += _rule_errors(call, served, new, old)
            errors += strategy.validate(new, old)
    if not errors:
        warnings += _warnings(served, new, old, subresource)
    return errors


def _check(
    call: Call,
    served: ServedResource,
    new: JsonObject,
    old: JsonObject | None,
    errors_of: Callable[[list[str]], list[FieldError]],
) -> None:
    """Adds the warnings that ``errors_of`` notes, and raises ApiStatusError (422) for the errors that it returns.

    If others would have to wait for it, it is called in a thread. It depends on nothing but the objects.
    """
    warnings: list[str] = []
    if call.replay is not None and delays_others(call.request):

        def check() -> tuple[list[FieldError], list[str]]:
            texts: list[str] = []
            return errors_of(texts), texts

        errors, warnings = call.replay.apart((served, msgspec.json.encode((new, old))), check)
    else:
        errors = errors_of(warnings)
    for text in warnings:
        call.warn(text)
    if errors:
        raise _invalid(served, new, errors)


def check_defaulted_size(call: Call, served: ServedResource, obj: JsonObject) -> None:
    """Raises ApiStatusError (413) if the defaults of an object of a large body make it too large to be stored. Without
    this check it would be validated first, which takes longer than all else. Custom objects are not checked here,
    because they may be smaller in the version in which they are stored.
    """
    if not served.custom and len(call.request.body or b"") > LARGE:
        check_size(served, msgspec.json.encode(obj))


def _rule_errors(call: Call, served: ServedResource, new: JsonObject, old: JsonObject | None) -> list[FieldError]:
    errors = rule_errors(served.name, new, old)
    if call.state.loopback_endpoints and served.resource.plural in _ENDPOINTS:
        return [error for error in errors if error.detail != LOOPBACK]
    return errors


def _unruled(_: str) -> list[str]:
    """A rule that accepts every name, because names don't change and need not be checked again."""
    return []


def _schema_errors(
    call: Call, served: ServedResource, obj: JsonObject, old: JsonObject | None, warnings: list[str]
) -> list[FieldError]:
    """The errors found by the schema and its rules. Objects of built-in kinds are already checked when they are
    decoded.
    """
    if not served.custom:
        return [] if served.strategy.says_required or has_rules(served.name) else call.missing
    errors, texts = object_errors(served.schema, served.rules, obj, old)
    warnings += texts
    return errors + (scale_errors(served.scale, obj) if served.scale is not None else [])


def _broken(rules: Iterable[Callable[[str], list[str]]], text: str) -> list[str]:
    return [problem for rule in rules for problem in rule(text)]


def _any_finalizer(served: ServedResource) -> bool:
    """Whether finalizers may lack a domain. Only built-in kinds require one, except those in `_GENERIC_GROUPS` and
    those whose metadata upstream validates generically.
    """
    if served.custom or served.resource.group in _GENERIC_GROUPS or "metadata." in served.strategy.checked_last:
        return True
    return served.name == "events"


def _warnings(served: ServedResource, new: JsonObject, old: JsonObject | None, subresource: str = "") -> Iterator[str]:
    if not served.custom:
        name = served.name
        if subresource == "status":
            yield from status_warnings(name, new)
        elif not subresource:
            yield from warnings_of(name, new, old)
        return
    old_finalizers = set((old or {}).get("metadata", {}).get("finalizers") or ())
    for finalizer in new["metadata"].get("finalizers") or ():
        if (
            "/" not in finalizer
            and finalizer not in old_finalizers
            and finalizer not in ("foregroundDeletion", "orphan")
        ):
            yield (
                f'metadata.finalizers: "{finalizer}": prefer a domain-qualified finalizer name including a path (/) to '
                "avoid accidental conflicts with other finalizer writers"
            )


def _invalid(served: ServedResource, obj: JsonObject, errors: list[FieldError]) -> ApiStatusError:
    resource = served.resource
    group = "" if resource.kind == "Event" and not served.custom else resource.group  # upstream checks them as core's
    return invalid(GroupKind(group, resource.kind), obj["metadata"].get("name", ""), errors)
