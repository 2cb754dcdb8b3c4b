"""The CPU and memory usage of hollow containers, as shown by ``metrics.k8s.io``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from setpoint.meta import Quantity

JsonObject = dict[str, Any]

ANNOTATION: Final = "metrics.hollow.setpoint.io/"
"""The prefix of the annotations for metrics. On a pod, ``metrics.hollow.setpoint.io/cpu: 250m`` is the CPU usage of the
pod and ``NAME.metrics.hollow.setpoint.io/cpu`` that of one container; other metrics have their names in place of
``cpu``. On other objects, the annotation is a metric of the object; on an autoscaler, an external metric.
"""
IDLE: Final = {"cpu": Quantity("1m"), "memory": Quantity("16Mi")}
"""The usage of a running container without an annotation: that of an idle program."""


def usage_of(pod: JsonObject) -> dict[str, dict[str, str]]:
    """The usage of each running container of a pod, by name.

    The annotation for a container takes precedence. The amount in the pod's annotation is divided equally among the
    containers without an annotation of their own. An annotation that is not a quantity is ignored.
    """
    names = list(_running(pod))
    notes = pod.get("metadata", {}).get("annotations") or {}
    found: dict[str, dict[str, str]] = {name: {} for name in names}
    for resource, idle in IDLE.items():
        own = {name: amount for name in names if (amount := _read(notes, f"{name}.{ANNOTATION}{resource}")) is not None}
        whole = _read(notes, f"{ANNOTATION}{resource}")
        others = len(names) - len(own)
        for name in names:
            amount = own.get(name) or (idle if whole is None else _part(whole, others))
            found[name][resource] = str(amount)
    return found


def _running(pod: JsonObject) -> Iterator[str]:
    status = pod.get("status") or {}
    for each in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        if (each.get("state") or {}).get("running") is not None:
            yield each["name"]


def _part(whole: Quantity, count: int) -> Quantity:
    return Quantity(f"{int(whole.value * 1000) // count}m") if count > 1 else whole


def _read(notes: dict[str, str], name: str) -> Quantity | None:
    text = notes.get(name)
    try:
        return None if text is None else Quantity(text)
    except ValueError:
        return None
