"""GET of ``metrics.k8s.io``: the usage of containers, computed from the stored pods and the reports of
their kubelets.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from setpoint.apiserver.errors import not_found
from setpoint.apiserver.http_types import Response
from setpoint.apiserver.objects.codec import decode
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.options import ListOptions
from setpoint.apiserver.responses.representation import Representation
from setpoint.apiserver.storage import Record
from setpoint.apiserver.verbs.selection import Matcher
from setpoint.meta import Quantity

WINDOW: Final = "15s"
_PODS: Final = "pods"


def get_usage(call: Call) -> Response:
    """The usage of one pod or node. Raises ApiStatusError: 404, also for a pod without running
    containers, or 406.
    """
    shape = Representation.negotiate(call)
    record = call.storage.get(call.served.resource.plural, call.path.namespace, call.path.name)
    items = [] if record is None else _measured(call, [record])
    if not items:
        raise not_found(call.served.group_resource, call.path.name)
    return shape.document(call, shape.item(call, items[0]))


def list_usage(call: Call, options: ListOptions) -> Response:
    """The usage of all matching pods or nodes. Raises ApiStatusError: 400 for a field that selectors
    can't use, or 406.
    """
    shape = Representation.negotiate(call)
    records = call.storage.scan(call.served.resource.plural, call.path.namespace or None)
    matcher = Matcher.of(call, options)
    if not matcher.everything:
        records = [record for record in records if matcher.matches(record.value, call.versions)]
    return shape.document(call, shape.items(call, _measured(call, records), {}))


def _measured(call: Call, records: list[Record]) -> list[bytes]:
    if call.served.resource.plural == _PODS:
        return [item for record in records if (item := _pod(call, record)) is not None]
    pods = call.storage.scan(_PODS, None)
    used: dict[str, dict[str, Quantity]] = {record.name: _no_usage() for record in records}
    for record in pods:
        pod = _opened(record)
        sums = used.get(pod.get("spec", {}).get("nodeName", ""))
        if sums is not None:
            _add(sums, _usage(call, pod).values())
    return [_node(call, record, used[record.name]) for record in records]


def _pod(call: Call, record: Record) -> bytes | None:
    """The usage of a pod; None if no container runs in it."""
    pod = _opened(record)
    containers = [{"name": name, "usage": usage} for name, usage in _usage(call, pod).items()]
    return _item(call, pod, {"containers": containers}) if containers else None


def _node(call: Call, record: Record, used: dict[str, Quantity]) -> bytes:
    return _item(call, _opened(record), {"usage": {resource: str(amount) for resource, amount in used.items()}})


def _item(call: Call, about: dict[str, Any], figures: dict[str, Any]) -> bytes:
    resource, now = call.served.resource, call.timestamp()
    source = about["metadata"]
    metadata = {name: source[name] for name in ("name", "namespace", "labels") if name in source}
    head = {"kind": resource.kind, "apiVersion": resource.api_version}
    return msgspec.json.encode(
        {**head, "metadata": {**metadata, "creationTimestamp": now}, "timestamp": now, "window": WINDOW, **figures}
    )


def _usage(call: Call, pod: dict[str, Any]) -> dict[str, dict[str, str]]:
    kubelets = call.state.kubelets
    return {} if kubelets is None else kubelets.usage(pod)


def _no_usage() -> dict[str, Quantity]:
    return {"cpu": Quantity("0"), "memory": Quantity("0")}


def _add(sums: dict[str, Quantity], usages: Iterable[dict[str, str]]) -> None:
    for usage in usages:
        for resource, amount in usage.items():
            sums[resource] = sums.get(resource, Quantity("0")) + Quantity(amount)


def _opened(record: Record) -> dict[str, Any]:
    document: dict[str, Any] = decode(record.value)
    return document
