"""The printer for CustomResourceDefinitions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from setpoint.apiserver.responses.printers.cells import Wire, get, has_condition, name, text
from setpoint.apiserver.responses.printers.printer import CREATED_AT, NAME, Column, Printer


def _definition(obj: Wire, now: datetime) -> list[Any]:
    versions = sorted(
        version["name"] + ("(storage)" if version.get("storage") else "")
        for version in get(obj, "spec", "versions", default=[])
        if version.get("served")
    )
    return [
        name(obj),
        text(obj, "spec", "scope"),
        ",".join(versions),
        get(obj, "metadata", "creationTimestamp"),
        text(obj, "spec", "group"),
        text(obj, "spec", "names", "kind"),
        ",".join(get(obj, "spec", "names", "shortNames", default=[])),
        has_condition(obj, "Established"),
    ]


DEFINITIONS = Printer(
    (
        NAME,
        Column("Scope", about="Cluster/Namespaced"),
        Column("Versions", about="Served versions"),
        CREATED_AT,
        Column("Group", priority=1, about="API group"),
        Column("Kind", priority=1, about="CustomResource kind"),
        Column("ShortNames", priority=1, about="Short names"),
        Column("Established", type="boolean", priority=1, about="Established status"),
    ),
    _definition,
)
