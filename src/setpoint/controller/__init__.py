"""The parts of one reconcile loop: sources, predicates, handlers, workers, outcomes, context, status, finalizers,
events.
"""

from setpoint.controller.cache_reader import CacheReader
from setpoint.controller.context import Context
from setpoint.controller.controller import Controller
from setpoint.controller.declaration import Declaration, watched_kinds
from setpoint.controller.environment import ProgramState
from setpoint.controller.external_resource_journal import Journal
from setpoint.controller.history import Attempt, Cause, Timeline, Write
from setpoint.controller.hotloop import HotLoopLimits
from setpoint.controller.memory import WriteBarriers
from setpoint.controller.outcome import (
    AdoptionError,
    After,
    Done,
    Outcome,
    Outdated,
    OwnerError,
    ReconcileTimeout,
    Retry,
    TerminalError,
    TooManyDeletions,
    Unconfirmed,
    after,
    done,
    retry,
)
from setpoint.controller.predicates import Predicate
from setpoint.controller.run.running import RunningController
from setpoint.controller.run.workers import End, UnderWay, WorkLoop
from setpoint.controller.sync_context import SyncContext
from setpoint.controller.telemetry import BoundLogger, ControllerMetrics, LoopMetrics
from setpoint.controller.writes.ownership import (
    is_owned_by,
    remove_owner_reference,
    set_controller_reference,
    set_owner_reference,
)

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
    "TooManyDeletions",
    "Unconfirmed",
    "UnderWay",
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
