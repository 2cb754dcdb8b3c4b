"""The fields that a field selector may name for each resource, and their values in an object.

Upstream lists these fields for each kind, next to the kind's storage strategy; a custom resource lists its fields in
the CRD's ``selectableFields`` (KEP-4358). All resources have ``metadata.name``, and most have ``metadata.namespace``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from setpoint.apiserver.responses.printers.cells import Wire, get, text
from setpoint.apiserver.responses.printers.json_path import compile_path
from setpoint.meta import GroupResource, Resource
from setpoint.meta.text_escaping import quote

Value = Callable[[Wire], Any]


def supported(resource: Resource, selectable: Iterable[str] = (), *, custom: bool = False) -> frozenset[str]:
    """The fields that a field selector on ``resource`` may name.

    ``selectable`` are the JSONPaths of a CRD version's ``selectableFields`` (``.spec.color``); ``custom``: whether a
    CRD defines the resource.
    """
    names = set(_values(resource.group_resource, tuple(selectable)))
    if str(resource.group_resource) in _BY_NAME or (custom and not resource.namespaced):
        names.discard("metadata.namespace")
    return frozenset(names)


def renamed(resource: Resource, field: str) -> str:
    """The name under which `fields_of` returns the value of ``field``: ``field`` itself, unless it is an older name
    that upstream still accepts.
    """
    return "spec.nodeName" if (field, str(resource.group_resource)) == ("spec.host", "pods") else field


def unsupported(resource: Resource, field: str, *, custom: bool = False) -> str:
    """The error message for an unsupported field, in upstream's wording for each kind."""
    kind = str(resource.group_resource)
    if kind in _WORDS:
        return _WORDS[kind].format(field)
    if custom or kind in _BUILT_IN:
        return f"field label not supported: {field}"
    return f'{quote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"'


def fields_of(resource: Resource, obj: Wire, selectable: Iterable[str] = ()) -> Mapping[str, str]:
    """The values of the supported fields in ``obj``, which is plain JSON in ``resource``'s version; a missing field has
    an empty value.
    """
    return {field: _string(value(obj)) for field, value in _values(resource.group_resource, tuple(selectable)).items()}


@lru_cache(maxsize=512)
def _values(resource: GroupResource, selectable: tuple[str, ...]) -> dict[str, Value]:
    values = {**_EVERYWHERE, **_BUILT_IN.get(str(resource), {})}
    for path in selectable:
        values[path.removeprefix(".")] = compile_path(path).first
    return values


def _string(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _at(path: str, default: Any = None) -> Value:
    steps = path.split(".")
    return lambda obj: get(obj, *steps, default=default)


def _same(*paths: str) -> dict[str, Value]:
    return {path: _at(path) for path in paths}


def _pod_ips(pod: Wire) -> str:
    return ",".join(text(item, "ip") for item in get(pod, "status", "podIPs", default=[]))


def _source(event: Wire) -> str:
    return text(event, "source", "component") or text(event, "reportingComponent")


_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_EVERYWHERE = _same("metadata.name", "metadata.namespace")
_BUILT_IN: dict[str, dict[str, Value]] = {
    "pods": {
        **_same("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName"),
        **_same("status.phase", "status.podIP", "status.nominatedNodeName"),
        "spec.hostNetwork": _at("spec.hostNetwork", False),
        "status.podIPs": _pod_ips,
    },
    "events": {
        **_same(*(f"involvedObject.{field}" for field in _REFERENCE), "reason", "reportingComponent", "type"),
        "source": _source,
    },
    "events.events.k8s.io": _same(
        *(f"regarding.{field}" for field in _REFERENCE), "reason", "reportingController", "type"
    ),
    "secrets": _same("type"),
    "services": _same("spec.clusterIP", "spec.type"),
    "namespaces": _same("status.phase"),
    "nodes": {"spec.unschedulable": _at("spec.unschedulable", False)},
    "replicationcontrollers": {"status.replicas": _at("status.replicas", 0)},
    "jobs.batch": {"status.successful": _at("status.succeeded", 0)},
    "certificatesigningrequests.certificates.k8s.io": _same("spec.signerName"),
    "clustertrustbundles.certificates.k8s.io": _same("spec.signerName"),
    "podcertificaterequests.certificates.k8s.io": _same("spec.signerName", "spec.podName", "spec.nodeName"),
    "resourceslices.resource.k8s.io": _same("spec.nodeName", "spec.driver", "spec.pool.name"),
}
_BY_NAME = frozenset(
    {
        "nodes",
        "namespaces",
        "certificatesigningrequests.certificates.k8s.io",
        "clustertrustbundles.certificates.k8s.io",
        "podcertificaterequests.certificates.k8s.io",
        "resourceslices.resource.k8s.io",
    }
)
"""Resources that can't be selected by ``metadata.namespace``; all other cluster-scoped kinds can."""
_WORDS = {
    "jobs.batch": 'field label "{}" not supported for Job',
    "resourceslices.resource.k8s.io": "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {}",
}
