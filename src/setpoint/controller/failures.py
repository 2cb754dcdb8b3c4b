"""Failures: how an exception in a reconcile affects the next attempt."""

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
"""The exceptions that indicate a mistake in the program, not a refusal by the server. They are counted in the same way
as panics in Go.
"""


INSTALL: Final = "`python APP.py manifests | kubectl apply -f -`"
"""The command that installs the definitions of a program's custom resources; APP.py is the file that calls `main`."""


class ReconcileTimeout(Exception):
    """The reconcile function was cancelled because it took longer than the controller's ``timeout``."""


class Outdated(Exception):
    """A reconcile or a write is based on a state of an object that no longer exists. It is handled as a conflict."""


class Unsettled(Outdated):
    """It is not yet known whether an action was carried out in an external system; it will be known after ``seconds``
    seconds.
    """

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class StatusNotServed(Exception):
    """The object exists, but the server does not know its status subresource: the installed definition does not
    match the class.
    """


class HandedOver(Exception):
    """The key belongs to another process. This is not a failure: nothing is counted, and this process makes no further
    attempt.
    """


class Failure(NamedTuple):
    """The treatment of an exception.

    ``result`` is its label in metrics; ``retry`` says whether there is another attempt without a change; ``after`` is a
    lower bound for the delay, in seconds; ``level`` is the level of the log record; ``traceback`` says whether the
    record shows a traceback.
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
    """Returns the treatment of the exception, as in the table in ``docs/outcomes.md``. The treatment of an
    `ExceptionGroup` is that of its most serious exception; an exception that is retried takes precedence over one that
    is not.
    """
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
    """Whether a request was refused because its namespace is being deleted."""
    return isinstance(problem, Forbidden) and any(cause.reason == "NamespaceTerminating" for cause in problem.causes)


def _weight(failure: Failure) -> tuple[bool, bool, int, float]:
    """The sort key for several simultaneous failures (of a TaskGroup). Failures that are retried have the highest keys;
    among them, and among the others, the more serious failure has the higher key.
    """
    return failure.retry, failure.result == "error", failure.level, failure.after


def is_conflict(problem: Exception) -> bool:
    """Whether the write failed because the object has a newer version. That is an ordinary event: the reconcile is
    tried again on the newer version.
    """
    if isinstance(problem, ExceptionGroup):
        return all(map(is_conflict, problem.exceptions))
    return isinstance(problem, Conflict | Outdated)


def is_namesake(problem: BaseException) -> bool:
    """Whether a write that named a uid was refused because the object with that name has a different uid, or because no
    object has that name any more.
    """
    if isinstance(problem, Invalid):
        return any(cause.field == "metadata.uid" for cause in problem.causes)
    return isinstance(problem, Conflict) and "uid mismatch" in problem.message


def maybe_done(problem: BaseException) -> bool:
    """Whether a write that ended with this error may have been carried out nevertheless."""
    if isinstance(problem, TransportError):
        return problem.sent
    if isinstance(problem, ApiError):
        return problem.code >= 500
    return isinstance(problem, asyncio.CancelledError | DecodeError)  # or it was answered, but not in a readable way


def describe(problem: BaseException) -> str:
    """The error as one line of Unicode, for statuses, logs and answers."""
    text = unicode_text(str(problem).strip().partition("\n")[0])
    return f"{type(problem).__name__}: {text}" if text else type(problem).__name__
