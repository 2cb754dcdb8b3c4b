"""setpoint: the framework for Kubernetes controllers in Python.

All names that a controller's author needs are in this module. Nothing is imported until it is used, so ``import
setpoint`` costs almost nothing, and a controller does not load the server or the command line.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from setpoint import simulation as simulation
    from setpoint import testing as testing
    from setpoint.cache import Head as Head
    from setpoint.cache import InformerFactory as InformerFactory
    from setpoint.cli.program import main as main
    from setpoint.client import AlreadyExists as AlreadyExists
    from setpoint.client import ApiError as ApiError
    from setpoint.client import Client as Client
    from setpoint.client import Conflict as Conflict
    from setpoint.client import Forbidden as Forbidden
    from setpoint.client import Invalid as Invalid
    from setpoint.client import NotFound as NotFound
    from setpoint.controller import CacheReader as CacheReader
    from setpoint.controller import Context as Context
    from setpoint.controller import Controller as Controller
    from setpoint.controller import Journal as Journal
    from setpoint.controller import Outcome as Outcome
    from setpoint.controller import SyncContext as SyncContext
    from setpoint.controller import TerminalError as TerminalError
    from setpoint.controller import after as after
    from setpoint.controller import done as done
    from setpoint.controller import retry as retry
    from setpoint.crd import Column as Column
    from setpoint.crd import ConditionedStatus as ConditionedStatus
    from setpoint.crd import Conversion as Conversion
    from setpoint.crd import CustomResource as CustomResource
    from setpoint.crd import Field as Field
    from setpoint.crd import ScaleSubresource as ScaleSubresource
    from setpoint.crd import ValidationRule as ValidationRule
    from setpoint.manager import Fleet as Fleet
    from setpoint.manager import Manager as Manager
    from setpoint.manager import ManagerOptions as ManagerOptions
    from setpoint.manager import Serving as Serving
    from setpoint.meta import Condition as Condition
    from setpoint.meta import Duration as Duration
    from setpoint.meta import LabelSelector as LabelSelector
    from setpoint.meta import Model as Model
    from setpoint.meta import Object as Object
    from setpoint.meta import ObjectKey as ObjectKey
    from setpoint.meta import ObjectMeta as ObjectMeta
    from setpoint.meta import Quantity as Quantity
    from setpoint.models.rbac_v1 import PolicyRule as PolicyRule
    from setpoint.operator import Operator as Operator
    from setpoint.operator import Program as Program
    from setpoint.testing.checks import check as check
    from setpoint.webhook import Admission as Admission
    from setpoint.webhook import Policy as Policy
    from setpoint.webhook import Review as Review
    from setpoint.workqueue import RateLimitingQueue as RateLimitingQueue
    from setpoint.workqueue import default_controller_rate_limiter as default_controller_rate_limiter

_HOMES = {
    "Admission": "webhook",
    "AlreadyExists": "client",
    "ApiError": "client",
    "CacheReader": "controller",
    "Client": "client",
    "Column": "crd",
    "Condition": "meta",
    "Conflict": "client",
    "ConditionedStatus": "crd",
    "Context": "controller",
    "Controller": "controller",
    "Conversion": "crd",
    "CustomResource": "crd",
    "Duration": "meta",
    "Field": "crd",
    "Fleet": "manager",
    "Forbidden": "client",
    "Head": "cache",
    "InformerFactory": "cache",
    "Invalid": "client",
    "Journal": "controller",
    "LabelSelector": "meta",
    "Manager": "manager",
    "Model": "meta",
    "NotFound": "client",
    "Object": "meta",
    "ObjectKey": "meta",
    "ObjectMeta": "meta",
    "Operator": "operator",
    "Outcome": "controller",
    "Policy": "webhook",
    "PolicyRule": "models.rbac_v1",
    "Program": "operator",
    "Quantity": "meta",
    "RateLimitingQueue": "workqueue",
    "Review": "webhook",
    "ValidationRule": "crd",
    "ManagerOptions": "manager",
    "ScaleSubresource": "crd",
    "Serving": "manager",
    "SyncContext": "controller",
    "TerminalError": "controller",
    "after": "controller",
    "check": "testing.checks",
    "default_controller_rate_limiter": "workqueue",
    "done": "controller",
    "main": "cli.program",
    "retry": "controller",
}

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
