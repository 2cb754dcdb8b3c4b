"""Failures: what an exception out of a reconcile means for the next attempt."""

from __future__ import annotations

import asyncio
import logging
from typing import Final, NamedTuple

from setpoint.client import ApiError, Conflict, Forbidden, Invalid, TooManyRequests, TransportError
from setpoint.controller.outcome import TerminalError
from setpoint.controller.owner import AdoptionError
from setpoint.meta import DecodeError
from setpoint.meta.text import unicode_text

BUGS: Final = (
    TypeError, AttributeError, NameError, LookupError, AssertionError, ArithmeticError, RecursionError,
    NotImplementedError,
)  # fmt: skip
"""The exceptions that a mistake in the program raises, as opposed to a refusal of the server; counted as panics are in
Go."""


INSTALL: Final = "`python APP.py manifests | kubectl apply -f -`"
"""The command that installs the definitions of a program's custom resources; APP.py is the file that calls `main`."""


class ReconcileTimeout(Exception):
    """The reconcile function was cancelled because it took longer than the controller's ``timeout``."""


class Outdated(Exception):
    """A write was made for a state of the object that is no more. Handled as a conflict."""


class Unsettled(Outdated):
    """Whether something was done in an external system is not known yet; it will be after ``seconds``."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class StatusNotServed(Exception):
    """The object is there, and the server does not know the subresource in which its status belongs: the definition
    that is installed is not the one that belongs to the class."""


class HandedOver(Exception):
    """The key is another process's. No failure: nothing is counted, and there is no next attempt here."""


class Failure(NamedTuple):
    """The treatment of an exception.

    ``result`` is its label in metrics; ``retry`` whether there is another attempt without a change; ``after`` a lower
    bound of the delay in seconds; ``level`` of the log record; ``traceback`` whether it shows one.
    """

    result: str
    retry: bool
    after: float
    level: int
    traceback: bool


_CONFLICT = Failure("requeue", True, 0.0, logging.DEBUG, False)
_TERMINAL = Failure("error", False, 0.0, logging.ERROR, False)
_TERMINATING = Failure("requeue", True, 0.0, logging.DEBUG, False)
_REFUSED = Failure("error", True, 0.0, logging.ERROR, False)
_ERROR = Failure("error", True, 0.0, logging.ERROR, True)


def classify(problem: Exception) -> Failure:
    """The one place that knows kinds of failures apart; ``docs/outcomes.md`` shows it as a table."""
    if isinstance(problem, ExceptionGroup):
        return max(map(classify, problem.exceptions), key=_weight)
    if isinstance(problem, TerminalError):
        return _TERMINAL
    if isinstance(problem, Unsettled):
        return Failure("requeue", True, problem.seconds, logging.DEBUG, False)
    if isinstance(problem, Outdated):
        return _CONFLICT
    if isinstance(problem, ApiError):
        if isinstance(problem, Conflict):
            return _CONFLICT
        if isinstance(problem, TooManyRequests):
            return Failure("requeue", True, float(problem.retry_after or 0), logging.WARNING, False)
        if is_terminating(problem):
            return _TERMINATING
        return _REFUSED
    if isinstance(problem, AdoptionError | ReconcileTimeout | StatusNotServed | TransportError):
        return _REFUSED
    return _ERROR


def is_terminating(problem: ApiError) -> bool:
    """Whether something was refused because its namespace is being deleted."""
    return isinstance(problem, Forbidden) and any(cause.reason == "NamespaceTerminating" for cause in problem.causes)


def _weight(failure: Failure) -> tuple[bool, bool, int, float]:
    """The order of several failures at once (a TaskGroup's): those that may pass first, then the gravest."""
    return failure.retry, failure.result == "error", failure.level, failure.after


def is_conflict(problem: Exception) -> bool:
    """Whether the write met a newer version: an ordinary event, retried on what is there then."""
    if isinstance(problem, ExceptionGroup):
        return all(map(is_conflict, problem.exceptions))
    return isinstance(problem, Conflict | Outdated)


def is_namesake(problem: BaseException) -> bool:
    """Whether a write that named a uid was refused because the object of that name has another one, or there is none
    (any more)."""
    if isinstance(problem, Invalid):
        return any(cause.field == "metadata.uid" for cause in problem.causes)
    return isinstance(problem, Conflict) and "uid mismatch" in problem.message


def maybe_done(problem: BaseException) -> bool:
    """Whether a write that ended with this error may have been carried out all the same."""
    if isinstance(problem, TransportError):
        return problem.sent
    if isinstance(problem, ApiError):
        return problem.code >= 500
    return isinstance(problem, asyncio.CancelledError | DecodeError)  # or it was answered, but not in a readable way


def describe(problem: BaseException) -> str:
    """One line, in Unicode: it goes into statuses, logs and answers."""
    text = unicode_text(str(problem).strip().partition("\n")[0])
    return f"{type(problem).__name__}: {text}" if text else type(problem).__name__
