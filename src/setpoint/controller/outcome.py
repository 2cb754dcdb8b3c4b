"""Outcomes: the values by which a reconcile says when it wants to be called again.

An outcome is a value. A failure is an exception: any exception means *back off and try again*, and `TerminalError`
means *do not retry until something changes*. A table in ``docs/outcomes.md`` shows the effect of each of them on
back-off, metrics and logs.
"""

from __future__ import annotations

from math import isfinite
from typing import TypeAlias

from msgspec import Struct


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


class Held(After, frozen=True, gc=False):
    """No attempt was made, because the key is slowed down. Earlier failures stay counted, as there was no success."""


Outcome: TypeAlias = Done | After | Retry

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
        raise ValueError(f"{function}(): seconds must be a finite number from 0 on, not {seconds!r}")
    return float(seconds)
