"""Outcomes: the values and the exceptions with which a reconcile ends, and their effect on the next attempt.

An outcome is a value by which a reconcile says when it wants to be called again. A failure is an exception: any
exception means *back off and try again*, and `TerminalError` means *do not retry until something changes*. A table in
``docs/outcomes.md`` shows the effect of each of them on back-off, metrics and logs.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sysconfig
from collections.abc import Hashable, Iterator
from math import isfinite
from pathlib import Path, PurePath
from traceback import walk_tb
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct

from setpoint.client import ApiError, Conflict, Forbidden, Invalid, TooManyRequests, TransportError
from setpoint.meta import DecodeError
from setpoint.meta.text_escaping import unicode_text


class Done(Struct, frozen=True, gc=False):
    """The state is as wanted, and there is nothing to do until something changes. Earlier failures are forgotten."""


class After(Struct, frozen=True, gc=False):
    """The state is as wanted. The next reconcile begins in ``seconds`` seconds, or earlier if something changes.
    Earlier failures are forgotten.
    """

    seconds: float
    reason: str = ""


class Retry(Struct, frozen=True, gc=False):
    """The wanted state is not reached yet, which is not an error. The next reconcile begins after a growing back-off of
    at least ``after`` seconds, or earlier if something changes.

    The rate limiter counts such an attempt as a failure, so waiting for something never turns into polling at full
    speed.
    """

    reason: str = ""
    after: float | None = None


class Paused(Done, frozen=True, gc=False):
    """No attempt was made, because people have paused the object or the controller; ``reason`` says so."""

    reason: str = ""


class Held(After, frozen=True, gc=False):
    """No attempt was made, because the key is slowed down. Earlier failures stay counted, as there was no success."""


Outcome: TypeAlias = Done | After | Retry

AWAITED_CANCELLED: Final = "reconcile awaited a task that was cancelled"
_DONE = Done()


def done() -> Outcome:
    """The outcome of a reconcile that has nothing to do until something changes. Returning None has the same effect."""
    return _DONE


def after(seconds: float, reason: str = "") -> Outcome:
    """The outcome that asks for the next reconcile in ``seconds`` seconds (from the end of this reconcile), or as soon
    as something changes.

    Raises:
        ValueError: ``seconds`` is negative or not finite.
    """
    return After(_checked(seconds, "after"), reason)


def retry(reason: str = "", after: float | None = None) -> Outcome:
    """The outcome that asks for the next reconcile with back-off; ``after`` is a lower bound for the delay, in seconds.

    Raises:
        ValueError: ``after`` is negative or not finite.
    """
    return Retry(reason, None if after is None else _checked(after, "retry"))


class TerminalError(Exception):
    """A failure that a retry cannot fix until the object, or something that it depends on, changes.

    A reconcile function raises it: ``raise TerminalError("spec.image is not an image name")``, or ``raise
    TerminalError(...) from cause``. The error is logged and counted once, and there is no retry.
    """


class InvalidObject(TerminalError):
    """The object does not fit its class, or does not pass the controller's own checks. The controller does nothing for
    it until it changes, except that it cleans up when the object is deleted.
    """


def _checked(seconds: float, function: str) -> float:
    if not isfinite(seconds) or seconds < 0:
        raise ValueError(f"{function}(): seconds must be a finite number, 0 or more, not {seconds!r}")
    return float(seconds)


BUGS: Final = (
    TypeError, AttributeError, NameError, LookupError, AssertionError, ArithmeticError, RecursionError,
    NotImplementedError,
)  # fmt: skip
"""The exceptions that indicate a mistake in the program, not a refusal by the server. They are counted in the same way
as panics in Go.
"""


MAX_LEAVES: Final = 5
"""The maximum number of exceptions of a group that its description names."""
_TASK_GROUP: Final = "unhandled errors in a TaskGroup"
_REASON: Final = re.compile("[A-Za-z]([A-Za-z0-9_,:]{0,1022}[A-Za-z0-9])?")
"""The pattern of ``reason`` in every definition that has ``metav1.Condition`` from controller-gen."""
_PACKAGE: Final = f"{Path(__file__).resolve().parents[1]}{os.sep}"
_INSTALLED: Final = tuple({f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "purelib", "platlib")})


class OwnerError(ValueError):
    """An object cannot own a dependent: the object is namespaced and the dependent is not in its namespace, or the
    dependent already has another controller.
    """


class AdoptionError(OwnerError):
    """An object with the name of a wanted child exists but does not belong to the owner."""


class TooManyDeletions(Exception):
    """`Context.keep` would delete more children than its caller allows (``at_most_deletions``). It has not written."""


class ReconcileTimeout(Exception):
    """The reconcile function was cancelled because it took longer than the controller's ``timeout``."""


class Outdated(Exception):
    """A reconcile or a write is based on a state of an object that no longer exists. It is handled as a conflict."""


class Unconfirmed(Outdated):
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
    if isinstance(problem, Unconfirmed):
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
    if isinstance(problem, AdoptionError | ReconcileTimeout | StatusNotServed | TooManyDeletions | TransportError):
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
    """The error as one line of Unicode, for statuses, events, logs and answers.

    The lines of a message are joined. A group of exceptions is described by the exceptions in it. A mistake in the
    program (see `BUGS`) is followed by its place, as ``(operator.py:12)``: its message alone, such as that of a
    `KeyError`, does not say what to mend.
    """
    if not isinstance(problem, BaseExceptionGroup):
        return _described(problem)
    texts = list(dict.fromkeys(map(_described, leaves(problem))))
    more = len(texts) - MAX_LEAVES
    text = "; ".join(texts[:MAX_LEAVES]) + (f"; and {more} more" if more > 0 else "")
    return text if problem.message == _TASK_GROUP else f"{_in_one_line(problem.message)}: {text}"


def reason_of(problem: BaseException) -> str:
    """The reason for a condition that reports the error: the name of its class or, if API servers would refuse that
    name, of the nearest base class whose name they accept. Leading and trailing underscores are left out. For a group
    of exceptions: that of the most serious one.
    """
    if isinstance(problem, ExceptionGroup):
        problem = max(leaves(problem), key=_seriousness)
    names = (base.__name__.strip("_") for base in type(problem).__mro__)
    return next(name for name in names if _REASON.fullmatch(name))


def leaves(problem: BaseException) -> Iterator[BaseException]:
    """The exceptions in a group and in the groups in it; the exception itself if it is not a group."""
    if isinstance(problem, BaseExceptionGroup):
        for part in problem.exceptions:
            yield from leaves(part)
    else:
        yield problem


def place_of(problem: BaseException) -> str:
    """The line in the user's code at which the exception arose, as ``operator.py:12``; ``""`` if there is none.

    That is the innermost line outside of this package, the standard library and installed packages; without such a
    line, the innermost one outside of this package.
    """
    lines = [(trace.f_code.co_filename, line) for trace, line in walk_tb(problem.__traceback__)]
    for ours in ((_PACKAGE, *_INSTALLED), (_PACKAGE,)):
        outside = [(file, line) for file, line in lines if not file.startswith((*ours, "<"))]
        if outside:
            file, line = outside[-1]
            return f"{PurePath(file).name}:{line}"
    return ""


def trace_of(problem: BaseException) -> Hashable:
    """A value that is the same for exceptions of the same classes that arose at the same lines, so that their
    tracebacks are alike.
    """
    parts: list[Hashable] = [f"{type(problem).__module__}.{type(problem).__qualname__}"]
    parts += [(trace.f_code.co_filename, line) for trace, line in walk_tb(problem.__traceback__)]
    if isinstance(problem, BaseExceptionGroup):
        parts += map(trace_of, problem.exceptions)
    before = problem.__cause__ or (None if problem.__suppress_context__ else problem.__context__)
    if before is not None:
        parts.append(trace_of(before))
    return tuple(parts)


def _described(problem: BaseException) -> str:
    try:
        text = _in_one_line(str(problem))
    except Exception as second:  # noqa: BLE001 - the failure is reported all the same
        text = f"its message can't be read, because its __str__ raised {type(second).__name__}"
    text = f"{type(problem).__name__}: {text}" if text else type(problem).__name__
    mistake = problem.__cause__ if isinstance(problem.__cause__, StopIteration) else problem  # of a bare next()
    place = place_of(mistake) if isinstance(mistake, (*BUGS, StopIteration)) else ""
    return f"{text} ({place})" if place else text


def _in_one_line(text: str) -> str:
    return " ".join(filter(None, map(str.strip, unicode_text(text).splitlines())))


def _seriousness(problem: BaseException) -> tuple[bool, bool, int, float]:
    return _weight(classify(problem)) if isinstance(problem, Exception) else (True, True, logging.CRITICAL, 0.0)
