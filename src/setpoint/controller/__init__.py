"""The parts of one reconcile loop: sources, predicates, handlers, workers, outcomes, context, status, finalizers,
events.
"""

from setpoint.controller.barriers import WriteBarriers
from setpoint.controller.cache_reader import CacheReader
from setpoint.controller.cause import Cause
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.declaration import Declaration, watched_kinds
from setpoint.controller.failures import Outdated, ReconcileTimeout, Unsettled
from setpoint.controller.hotloop import HotLoopLimits
from setpoint.controller.journal import Journal
from setpoint.controller.log import BoundLogger
from setpoint.controller.metrics import ControllerMetrics, LoopMetrics
from setpoint.controller.outcome import After, Done, Outcome, Retry, TerminalError, after, done, retry
from setpoint.controller.owner import (
    AdoptionError,
    OwnerError,
    is_owned_by,
    remove_owner_reference,
    set_controller_reference,
    set_owner_reference,
)
from setpoint.controller.predicates import Predicate
from setpoint.controller.running import RunningController
from setpoint.controller.state import ProgramState
from setpoint.controller.sync_context import SyncContext
from setpoint.controller.timeline import Attempt, Timeline, Write
from setpoint.controller.work_loop import End, UnderWay, WorkLoop

__all__ = [
    "AdoptionError",
    "After",
    "Attempt",
    "BoundLogger",
    "CacheReader",
    "Cause",
    "Context",
    "Controller",
    "ControllerMetrics",
    "Declaration",
    "Done",
    "End",
    "HotLoopLimits",
    "Journal",
    "LoopMetrics",
    "Outcome",
    "Outdated",
    "OwnerError",
    "Predicate",
    "ProgramState",
    "ReconcileTimeout",
    "Retry",
    "RunningController",
    "SyncContext",
    "TerminalError",
    "Timeline",
    "UnderWay",
    "Unsettled",
    "WorkLoop",
    "Write",
    "WriteBarriers",
    "after",
    "done",
    "is_owned_by",
    "remove_owner_reference",
    "retry",
    "set_controller_reference",
    "set_owner_reference",
    "watched_kinds",
]
