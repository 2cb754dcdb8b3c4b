"""DefaultTolerationSeconds: sets how long pods stay on a node that does not respond."""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.requests.admission import AdmissionAttributes

_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def tolerate(attributes: AdmissionAttributes) -> None:
    """Adds tolerations that keep a pod on a node for five minutes after the node becomes not ready or
    unreachable, unless the pod already tolerates these taints.
    """
    if attributes.subresource:
        return
    spec = attributes.spec
    tolerations = spec.get("tolerations") or []
    missing = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in _TAINTS
        if not any(
            item.get("key") in (None, "", key) and item.get("effect") in (None, "", "NoExecute") for item in tolerations
        )
    ]
    if missing:
        spec["tolerations"] = [*tolerations, *missing]
