"""What a command says when it fails: one line that names what is wrong, and no traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from setpoint.meta import DecodeError, SelectorError


class UsageError(Exception):
    """What was asked for on the command line can't be; the message says why."""


@contextmanager
def reported(program: str) -> Iterator[None]:
    """Turns the failures that a user can do something about into one line on stderr and exit status 1.

    Anything else is a fault of the program and keeps its traceback. Ctrl-C ends with 130, as shells expect.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except Exception as problem:
        if all(isinstance(part, BrokenPipeError) for part in _parts(problem)):
            # The reader of our output has gone (`chronos | head`): that is its right, and no failure of ours.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(0) from None
        sentence = explain(problem)
        if sentence is None:
            raise
        if program.endswith(".py"):  # the command that the sentence advises is this very program's
            sentence = sentence.replace("APP.py", program)
        print(f"{program}: {sentence}", file=sys.stderr)  # noqa: T201 - this is the user's terminal
        raise SystemExit(1) from None


def explain(problem: BaseException) -> str | None:
    """One sentence for a failure that is not the program's fault, None for any other."""
    from setpoint.apiserver import OpenAddressError, PortTakenError, StorageError
    from setpoint.cache import CacheSyncError
    from setpoint.client import ApiError, ConfigError, CredentialsError, TransportError
    from setpoint.crd import ConversionError, DefinitionError
    from setpoint.manager import LeadershipLost

    parts = _parts(problem)
    if len(parts) > 1:
        sentences = [explain(part) for part in parts]
        return None if None in sentences else sentences[0]
    (problem,) = parts
    from_client = (CacheSyncError, ApiError, ConfigError, CredentialsError, LeadershipLost, TransportError)
    from_here = (UsageError, OpenAddressError, PortTakenError, StorageError)
    from_user = (*from_here, ConversionError, DefinitionError, DecodeError, SelectorError)
    if isinstance(problem, (*from_client, *from_user)):
        return str(problem)
    if isinstance(problem, OSError) and problem.strerror:  # what the system refused, and not what somebody raised
        where = problem.filename2 or problem.filename
        return problem.strerror + (f": {where}" if where else "")
    return None


def _parts(problem: BaseException) -> list[BaseException]:
    """What a task group's exception is made of."""
    if isinstance(problem, BaseExceptionGroup):
        return [part for inner in problem.exceptions for part in _parts(inner)]
    return [problem]
