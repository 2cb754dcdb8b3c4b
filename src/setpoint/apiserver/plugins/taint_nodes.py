"""TaintNodesByCondition: a new node accepts no pods until a controller finds it ready."""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.requests.admission import AdmissionAttributes

_TAINT: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def taint(attributes: AdmissionAttributes) -> None:
    """Adds the ``not-ready`` taint to a new node, unless the node already has a taint with the same key and
    effect.
    """
    if attributes.old is not None or attributes.subresource:
        return
    spec = attributes.new.setdefault("spec", {})
    taints = spec.get("taints") or []
    if not any(item.get("key") == _TAINT["key"] and item.get("effect") == _TAINT["effect"] for item in taints):
        spec["taints"] = [*taints, dict(_TAINT)]
