"""The requests and limits of a whole pod, as the scheduler, quotas and limit ranges count them."""

from __future__ import annotations

from typing import Any, Literal

from setpoint.meta import Quantity

JsonObject = dict[str, Any]

Amounts = dict[str, Quantity]
Side = Literal["requests", "limits"]


def amounts_of(holder: JsonObject, side: Side) -> Amounts:
    """The requests or limits of a container, of a claim, or of a pod itself."""
    amounts = (holder.get("resources") or {}).get(side) or {}
    return {name: Quantity(value) for name, value in amounts.items()}


def pod_amounts(spec: JsonObject, side: Side, *, overhead: bool = True) -> Amounts:
    """The requests or limits of a pod: the sum over its containers, or more if an init container needs more
    while it runs.

    Sidecars (init containers that always restart) count in addition to everything that starts after them.
    Resources of the pod itself replace those of its containers. Without ``overhead``, the overhead of the
    runtime class is left out.
    """
    running: Amounts = {}
    beginning: Amounts = {}
    for container in spec.get("initContainers") or ():
        wanted = amounts_of(container, side)
        if container.get("restartPolicy") == "Always":
            _add(running, wanted)
            _raise(beginning, running)
        else:
            together = dict(running)
            _add(together, wanted)
            _raise(beginning, together)
    for container in spec.get("containers") or ():
        _add(running, amounts_of(container, side))
    _raise(running, beginning)
    running |= amounts_of(spec, side)
    if overhead:
        more = {name: Quantity(value) for name, value in (spec.get("overhead") or {}).items()}
        _add(running, more if side == "requests" else {name: more[name] for name in more if name in running})
    return running


def _add(into: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        into[name] = into[name] + amount if name in into else amount


def _raise(into: Amounts, others: Amounts) -> None:
    for name, amount in others.items():
        if name not in into or into[name] < amount:
            into[name] = amount
