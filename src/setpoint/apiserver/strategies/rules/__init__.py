"""What the fields of built-in kinds may hold, as tables that can be laid beside the API documentation.

Each table maps a resource to rows: a path and the checks of what is there. Fields whose rules depend on several others
have a check of their own in the strategy of the kind.
"""

from __future__ import annotations

from functools import cache

from setpoint.apiserver.strategies.rules.row import Row, row_errors
from setpoint.apiserver.strategies.strategy import JsonObject
from setpoint.schema import FieldError

__all__ = ["has_rules", "rule_errors"]


@cache
def _tables() -> dict[str, tuple[Row, ...]]:
    from setpoint.apiserver.strategies.rules import access, cluster, flow, networking, scheduling, storage

    tables: dict[str, tuple[Row, ...]] = {}
    for module in (access, cluster, flow, networking, scheduling, storage):
        tables |= module.RULES
    return tables


@cache
def _kept() -> dict[str, tuple[Row, ...]]:
    from setpoint.apiserver.strategies.rules import devices

    return devices.KEPT


def has_rules(resource: str) -> bool:
    """Whether there is a table, which then says what is required, too."""
    return resource in _tables()


def rule_errors(resource: str, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """What is wrong with an object of ``resource``; ``old`` is None on creation."""
    rows = _tables().get(resource) or _kept().get(resource, ())
    return row_errors(rows, obj, old)
