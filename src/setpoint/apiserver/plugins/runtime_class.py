"""RuntimeClass: sets the overhead of a pod, and the nodes on which it can run, from its runtime class."""

from __future__ import annotations

from typing import Any

from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.meta import Quantity

JsonObject = dict[str, Any]


def apply_runtime_class(attributes: AdmissionAttributes) -> None:
    """Gives a new pod the overhead, node selector and tolerations of its class.

    Raises ApiStatusError (403): the class does not exist, or the pod contradicts it.
    """
    if attributes.old is not None or attributes.subresource:
        return
    runtime_class = _class_of(attributes)
    spec = attributes.spec
    overhead = _overhead(runtime_class)
    if overhead is not None:
        if spec.get("overhead") and not _equal(spec["overhead"], overhead):
            raise attributes.forbidden("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
        spec["overhead"] = dict(overhead)
    scheduling = (runtime_class or {}).get("scheduling")
    if scheduling is None:
        return
    selector: JsonObject = dict(spec.get("nodeSelector") or {})
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if selector.get(key, value) != value:
            raise attributes.forbidden(
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = "
                f"{selector[key]}"
            )
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector
    own: list[JsonObject] = spec.get("tolerations") or []
    keys = {_key(toleration) for toleration in own}
    more: list[JsonObject] = scheduling.get("tolerations") or []
    tolerations = own + [toleration for toleration in more if _key(toleration) not in keys]
    if tolerations:
        spec["tolerations"] = tolerations


def validate_overhead(attributes: AdmissionAttributes) -> None:
    """Refuses a new pod whose overhead is not exactly that of its class. Raises ApiStatusError (403)."""
    if attributes.old is not None or attributes.subresource:
        return
    overhead, overhead_given = _overhead(_class_of(attributes)), attributes.spec.get("overhead")
    if overhead is None and overhead_given:
        raise attributes.forbidden(
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        )  # fmt: skip
    if overhead is not None and not _equal(overhead_given or {}, overhead):
        raise attributes.forbidden("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")


def _class_of(attributes: AdmissionAttributes) -> JsonObject | None:
    name = attributes.spec.get("runtimeClassName")
    if name is None:
        return None
    runtime_class = attributes.get("runtimeclasses.node.k8s.io", name)
    if runtime_class is None:
        raise attributes.forbidden(f'pod rejected: RuntimeClass "{name}" not found')
    return runtime_class


def _overhead(runtime_class: JsonObject | None) -> JsonObject | None:
    overhead = (runtime_class or {}).get("overhead")
    return None if overhead is None else overhead.get("podFixed") or {}


def _equal(left: JsonObject, right: JsonObject) -> bool:
    return left.keys() == right.keys() and all(Quantity(left[key]) == Quantity(right[key]) for key in left)


def _key(toleration: JsonObject) -> frozenset[tuple[str, object]]:
    return frozenset(toleration.items())
