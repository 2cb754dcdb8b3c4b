"""Printers for the usage of nodes and pods (``metrics.k8s.io``), in the form of the metrics-server."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from setpoint.apiserver.responses.printers.cells import Wire, get, name, text
from setpoint.apiserver.responses.printers.printer import NAME, Column, Printer
from setpoint.meta import Quantity

_COLUMNS = (
    NAME,
    Column("cpu", about="Processors in use"),
    Column("memory", about="Memory in use"),
    Column("Window", about="The time that the figures are an average of"),
)


def _node(obj: Wire, _now: datetime) -> list[Any]:
    return [name(obj), text(obj, "usage", "cpu"), text(obj, "usage", "memory"), text(obj, "window")]


def _pod(obj: Wire, _now: datetime) -> list[Any]:
    sums = {"cpu": Quantity("0"), "memory": Quantity("0")}
    for container in get(obj, "containers", default=[]):
        for resource in sums:
            sums[resource] += Quantity(get(container, "usage", resource, default="0"))
    return [name(obj), *map(str, sums.values()), text(obj, "window")]


NODE_METRICS = Printer(_COLUMNS, _node)
POD_METRICS = Printer(_COLUMNS, _pod)
