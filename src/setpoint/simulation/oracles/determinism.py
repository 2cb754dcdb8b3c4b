"""Determinism: checks that two runs of a plan are identical; if they are not, finds the line of the user's code that
makes them differ.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from setpoint.simulation.trace.result import Finding, Result
from setpoint.testing.user_code import is_users

_CLOCKS = {"time", "time_ns", "now", "utcnow", "today", "localtime", "gmtime"}
_CHANCE = {"random", "getrandbits", "randbytes", "urandom", "seed"}
_MADE_OF_CHANCE = {"uuid1", "randint", "choice", "choices", "shuffle", "sample", "uniform", "randrange"}


def find_first_difference(one: Result, other: Result) -> list[Finding]:
    """A list with one finding about the first difference between two runs of the same plan; empty if their digests are
    equal. The finding names the line of the user's code that caused the differing event, if that line is known.
    """
    if one.digest == other.digest:
        return []
    blamed = sorted(other.environment.items())
    lines = "".join(f"\n    {place} {what}" for place, what in blamed)
    for ours, theirs in zip(one.trace, other.trace, strict=False):
        if ours != theirs:
            place = ours.place or theirs.place
            return [
                Finding(
                    "determinism",
                    place or ours.text,
                    f"two runs of the same plan differ at {ours.text} ({place or ours.who})"
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
    """Notes in ``found``, by ``file:line``, each line of the user's code that reads the real clock, asks for randomness
    or starts a thread. Before the block it reseeds `random` and sleeps for more than a second, so that the code sees
    different times and random values than in earlier runs.
    """
    random.seed()
    time.sleep(1.01)  # another second: texts of times differ

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call":
            name = getattr(argument, "__name__", "")
            owner = getattr(argument, "__self__", None)
            if name in _CLOCKS and _is_clock(owner) and is_users(frame):
                places.setdefault(f"{frame.f_code.co_filename}:{frame.f_lineno}", f"reads the real clock ({name})")
            elif name in _CHANCE and is_users(frame) and _is_global(owner):
                places.setdefault(f"{frame.f_code.co_filename}:{frame.f_lineno}", f"uses randomness ({name})")
        elif event == "call" and frame.f_code.co_name in _MADE_OF_CHANCE and frame.f_back is not None:
            caller = frame.f_back
            holder = frame.f_locals.get("self")
            library = frame.f_code.co_filename.rpartition("/")[2] in ("uuid.py", "random.py")
            if library and is_users(caller) and (holder is None or _is_global(holder)):
                name = frame.f_code.co_name
                places.setdefault(f"{caller.f_code.co_filename}:{caller.f_lineno}", f"uses randomness ({name})")
        elif event == "call" and frame.f_code.co_name == "start" and frame.f_code.co_filename.endswith("threading.py"):
            starter = frame.f_back
            if starter is not None and is_users(starter):
                places.setdefault(f"{starter.f_code.co_filename}:{starter.f_lineno}", "starts a thread")

    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)


def _is_clock(owner: Any) -> bool:
    module = getattr(owner, "__name__", "")
    return module == "time" or (isinstance(owner, type) and owner.__module__ == "datetime")


def _is_global(owner: Any) -> bool:
    shared = getattr(random, "_inst", None)
    return owner is shared or getattr(owner, "__name__", "") in ("posix", "nt")
