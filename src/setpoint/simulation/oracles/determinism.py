"""Determinism: checks that two runs of a plan are identical; if they are not, finds the line of the user's code that
makes them differ.
"""

from __future__ import annotations

import logging
import os
import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from setpoint.simulation.trace.result import Finding, Result
from setpoint.testing.user_code import HOME, is_users

_CLOCKS = {"time", "time_ns", "now", "utcnow", "today", "localtime", "gmtime", "strftime", "ctime", "asctime"}
_CHANCE = {"random", "getrandbits", "randbytes", "urandom", "seed"}
_PYTHON_CALLS = {"start", "uuid1", "randint", "choice", "choices", "shuffle", "sample", "uniform", "randrange"}
_OWN_CLOCKS = (HOME + os.sep, os.path.dirname(logging.__file__) + os.sep)
"""The folders of the code whose readings of the clock no program sees: the framework's, and that of log records."""


def find_first_difference(left: Result, right: Result) -> list[Finding]:
    """A list with one finding about the first difference between two runs of the same plan; empty if their digests are
    equal. The finding names the line of the user's code that caused the differing event, if that line is known.
    """
    if left.digest == right.digest:
        return []
    uses = sorted(right.environment.items())
    lines = "".join(f"\n    {place} {use}" for place, use in uses)
    for ours, theirs in zip(left.trace, right.trace, strict=False):
        if ours != theirs:
            place = ours.place or theirs.place
            return [
                Finding(
                    "determinism",
                    place or ours.text,
                    f"two runs of the same plan differ at {ours.text} ({place or ours.actor})"
                    + (f"; these lines use the real clock, randomness or threads:{lines}" if lines else
                       "; neither the clock nor randomness was used, so the cause is iteration order or thread "
                       "scheduling"),
                    ours.text,
                    theirs.text,
                    ours.point,
                )
            ]  # fmt: skip
    return [Finding("determinism", "trace", f"one of two runs of the same plan was longer than the other{lines}")]


@contextmanager
def audit_nondeterminism(places: dict[str, str]) -> Iterator[None]:
    """Notes in ``places``, by ``file:line``, each line of the user's code that reads the real clock, asks for
    randomness or starts a thread. The code sees other random values and times than in earlier runs: before the block
    it reseeds `random`, and before the first reading of the clock it sleeps for more than a second, because texts of
    times often have no smaller unit.
    """
    random.seed()
    has_slept = False

    def on_c_call(frame: FrameType, function: Any) -> None:
        nonlocal has_slept
        name = getattr(function, "__name__", "")
        if name in _CLOCKS and _is_clock(getattr(function, "__self__", None)):
            if is_users(frame):
                places.setdefault(_place_of(frame), f"reads the real clock ({name})")
            if not has_slept and not frame.f_code.co_filename.startswith(_OWN_CLOCKS):
                has_slept = True
                time.sleep(1.01)
        elif name in _CHANCE and is_users(frame) and _is_global(getattr(function, "__self__", None)):
            places.setdefault(_place_of(frame), f"uses randomness ({name})")

    def on_call(frame: FrameType) -> None:
        caller, file, name = frame.f_back, frame.f_code.co_filename, frame.f_code.co_name
        if caller is None or not is_users(caller):
            return
        if name == "start":
            if file.endswith("threading.py"):
                places.setdefault(_place_of(caller), "starts a thread")
        elif file.rpartition("/")[2] in ("uuid.py", "random.py"):
            holder = frame.f_locals.get("self")
            if holder is None or _is_global(holder):
                places.setdefault(_place_of(caller), f"uses randomness ({name})")

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call":
            on_c_call(frame, argument)
        elif event == "call" and frame.f_code.co_name in _PYTHON_CALLS:
            on_call(frame)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _place_of(frame: FrameType) -> str:
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _is_clock(owner: Any) -> bool:
    module = getattr(owner, "__name__", "")
    return module == "time" or (isinstance(owner, type) and owner.__module__ == "datetime")


def _is_global(owner: Any) -> bool:
    shared = getattr(random, "_inst", None)
    return owner is shared or getattr(owner, "__name__", "") in ("posix", "nt")
