"""Outcomes: how a reconcile says when it wants to be called again.

An outcome is a value. A failure is an exception: any exception means *back off and try again*, and `TerminalError`
means *don't, until something changes*. The effect of each of them on back-off, metrics and logs is one table in
``docs/outcomes.md``.
"""

from __future__ import annotations

from math import isfinite
from typing import TypeAlias

from msgspec import Struct


class Done(Struct, frozen=True, gc=False):
    """All is as wanted: nothing to do until something changes. Failures so far are forgotten."""


class After(Struct, frozen=True, gc=False):
    """All is well; come again in ``seconds`` at the latest, earlier if something changes. Failures are forgotten."""

    seconds: float
    reason: str = ""


class Retry(Struct, frozen=True, gc=False):
    """Not there yet, which is not an error: come again with growing back-off, after ``after`` seconds at least.

    An attempt that ends so counts as a failure for the rate limiter, so waiting for something never turns into
    polling at full speed.
    """

    reason: str = ""
    after: float | None = None


Outcome: TypeAlias = Done | After | Retry

_DONE = Done()


def done() -> Outcome:
    """Nothing to do until something changes. A reconcile function that returns None says the same."""
    return _DONE


def after(seconds: float, reason: str = "") -> Outcome:
    """Come again in ``seconds`` (from the end of this reconcile), or as soon as something changes.

    Raises:
        ValueError: ``seconds`` is negative or not finite.
    """
    return After(_checked(seconds, "after"), reason)


def retry(reason: str = "", after: float | None = None) -> Outcome:
    """Come again with back-off; ``after`` is a lower bound of the delay in seconds.

    Raises:
        ValueError: ``after`` is negative or not finite.
    """
    return Retry(reason, None if after is None else _checked(after, "retry"))


class TerminalError(Exception):
    """Trying again is of no use until the object, or something that it depends on, changes.

    ``raise TerminalError("spec.image is no image name")`` or ``raise TerminalError(...) from cause``. It is logged and
    counted as an error once, and there is no retry.
    """


def _checked(seconds: float, function: str) -> float:
    if not isfinite(seconds) or seconds < 0:
        raise ValueError(f"{function}(): seconds must be a finite number from 0 on, not {seconds!r}")
    return float(seconds)
