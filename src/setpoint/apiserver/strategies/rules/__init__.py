"""Rules for the fields of built-in kinds, as tables that can be compared with the API documentation.

Each table maps a resource to rows, which consist of a path and the checks of its values. A field whose rules depend on
several others has a separate check in the strategy of the kind.
"""

from __future__ import annotations

from functools import cache

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.rules.rule_table import Table
from setpoint.schema import FieldError

__all__ = ["has_rules", "rule_errors", "status_errors"]


@cache
def _tables() -> dict[str, Table]:
    from setpoint.apiserver.strategies.rules import (
        access,
        cluster,
        csi,
        endpoints,
        flow,
        networking,
        quotas,
        scheduling,
        storage,
    )

    modules = (access, cluster, csi, endpoints, flow, networking, quotas, scheduling, storage)
    return {name: Table(rows) for module in modules for name, rows in module.RULES.items()}


def has_rules(resource: str) -> bool:
    """Whether the resource has a table of rules, which then also determines which fields are required."""
    return resource in _tables()


def rule_errors(resource: str, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """The errors in an object of ``resource``; empty if the resource has no table. ``old`` is None on creation."""
    table = _tables().get(resource)
    return table.errors(obj, old) if table else []


@cache
def _of_statuses() -> dict[str, Table]:
    from setpoint.apiserver.strategies.rules import statuses

    return {name: Table(rows) for name, rows in statuses.RULES.items()}


def status_errors(resource: str, obj: JsonObject, old: JsonObject) -> list[FieldError]:
    """The errors in a write of the status of ``resource``; empty if there are no rules for it."""
    table = _of_statuses().get(resource)
    return table.errors(obj, old) if table else []
