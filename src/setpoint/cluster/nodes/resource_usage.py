"""The CPU and memory usage of hollow containers, as shown by ``metrics.k8s.io``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
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
_MOST: Final = (2**63 - 1) * 1000


def usage_of(pod: JsonObject) -> dict[str, dict[str, str]]:
    """The usage of each running container of a pod, by name; see `annotated`."""
    names = list(_running(pod))
    notes = pod.get("metadata", {}).get("annotations") or {}
    usage: dict[str, dict[str, str]] = {name: {} for name in names}
    for resource, idle in IDLE.items():
        amounts = annotated(notes, names, resource)
        for name in names:
            usage[name][resource] = str(amounts.get(name, idle))
    return usage


def annotated(notes: Mapping[str, str], names: Sequence[str], resource: str) -> dict[str, Quantity]:
    """The usage of a resource by the containers ``names`` of a pod, as far as the pod's annotations give it.

    The annotation for a container takes precedence. The amount in the pod's annotation is divided among the containers
    without an annotation of their own: their parts differ by a thousandth at most, and their sum is the amount,
    rounded up to thousandths.
    """
    amounts = {name: amount for name in names if (amount := metric(notes, resource, name)) is not None}
    others = [name for name in names if name not in amounts]
    whole = metric(notes, resource)
    return amounts if whole is None else amounts | dict(zip(others, _parts(whole, len(others)), strict=True))


def milli(quantity: str | Quantity) -> int:
    """A quantity as a number of thousandths, rounded up. As in upstream's quantities, no amount is above 2^63 - 1."""
    value = quantity.value if isinstance(quantity, Quantity) else Quantity(quantity).value
    return min(ceil(value * 1000), _MOST)


def metric(notes: Mapping[str, str], name: str, container: str = "") -> Quantity | None:
    """The value of a metric in the annotations of an object, or in those for one container of a pod. None without the
    annotation; an annotation that is not a quantity is ignored.
    """
    text = notes.get(f"{container}.{ANNOTATION}{name}" if container else f"{ANNOTATION}{name}")
    try:
        return None if text is None else Quantity(text)
    except ValueError:
        return None


def _running(pod: JsonObject) -> Iterator[str]:
    status = pod.get("status") or {}
    for container_status in [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]:
        if (container_status.get("state") or {}).get("running") is not None:
            yield container_status["name"]


def _parts(whole: Quantity, count: int) -> list[Quantity]:
    if count < 2:
        return [whole] * count
    part, rest = divmod(milli(whole), count)
    return [Quantity(f"{part + (number < rest)}m") for number in range(count)]
