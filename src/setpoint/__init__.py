"""setpoint: the framework for Kubernetes controllers in Python.

All names that a controller's author needs are in this module. Nothing is imported until it is used, so ``import
setpoint`` costs almost nothing, and a controller does not load the server or the command line.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from setpoint import simulation, testing
    from setpoint.cache import Head, InformerFactory
    from setpoint.cli.program import main
    from setpoint.client import AlreadyExists, ApiError, Client, Conflict, Forbidden, Invalid, NotFound
    from setpoint.controller import (
        CacheReader,
        Context,
        Controller,
        Journal,
        Outcome,
        SyncContext,
        TerminalError,
        after,
        done,
        retry,
    )
    from setpoint.crd import (
        Column,
        ConditionedStatus,
        Conversion,
        CustomResource,
        Field,
        ScaleSubresource,
        ValidationRule,
    )
    from setpoint.manager import Fleet, Manager, ManagerOptions, Serving
    from setpoint.meta import Condition, Duration, LabelSelector, Model, Object, ObjectKey, ObjectMeta, Quantity
    from setpoint.models.rbac_v1 import PolicyRule
    from setpoint.operator import Operator, Program
    from setpoint.testing.checks import check
    from setpoint.webhook import Admission, Policy, Review
    from setpoint.workqueue import RateLimitingQueue, default_controller_rate_limiter

_NAMES = {
    "cache": ("Head", "InformerFactory"),
    "cli.program": ("main",),
    "client": ("AlreadyExists", "ApiError", "Client", "Conflict", "Forbidden", "Invalid", "NotFound"),
    "controller": (
        "CacheReader",
        "Context",
        "Controller",
        "Journal",
        "Outcome",
        "SyncContext",
        "TerminalError",
        "after",
        "done",
        "retry",
    ),
    "crd": (
        "Column",
        "ConditionedStatus",
        "Conversion",
        "CustomResource",
        "Field",
        "ScaleSubresource",
        "ValidationRule",
    ),
    "manager": ("Fleet", "Manager", "ManagerOptions", "Serving"),
    "meta": ("Condition", "Duration", "LabelSelector", "Model", "Object", "ObjectKey", "ObjectMeta", "Quantity"),
    "models.rbac_v1": ("PolicyRule",),
    "operator": ("Operator", "Program"),
    "testing.checks": ("check",),
    "webhook": ("Admission", "Policy", "Review"),
    "workqueue": ("RateLimitingQueue", "default_controller_rate_limiter"),
}
"""The public names of each module."""
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "Admission",
    "AlreadyExists",
    "ApiError",
    "CacheReader",
    "Client",
    "Column",
    "Condition",
    "ConditionedStatus",
    "Conflict",
    "Context",
    "Controller",
    "Conversion",
    "CustomResource",
    "Duration",
    "Field",
    "Fleet",
    "Forbidden",
    "Head",
    "InformerFactory",
    "Invalid",
    "Journal",
    "LabelSelector",
    "Manager",
    "ManagerOptions",
    "Model",
    "NotFound",
    "Object",
    "ObjectKey",
    "ObjectMeta",
    "Operator",
    "Outcome",
    "Policy",
    "PolicyRule",
    "Program",
    "Quantity",
    "RateLimitingQueue",
    "Review",
    "ScaleSubresource",
    "Serving",
    "SyncContext",
    "TerminalError",
    "ValidationRule",
    "after",
    "check",
    "default_controller_rate_limiter",
    "done",
    "main",
    "retry",
    "simulation",
    "testing",
]


if not TYPE_CHECKING:  # else a misspelt name would be of type Any to type checkers

    def __getattr__(name: str) -> Any:
        if name in ("testing", "simulation"):
            return import_module(f"setpoint.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module 'setpoint' has no attribute {name!r}")
        value = getattr(import_module(f"setpoint.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
