"""Reports the failure of a command as one line that names the problem, without a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from setpoint.meta import DecodeError, SelectorError
from setpoint.meta.text_escaping import visible
from setpoint.meta.user_error import UserError


class UsageError(UserError):
    """An argument of the command line is invalid; the message gives the reason."""


EXIT_STATUSES: Final = "The exit status is 0 on success and 1 after an error, unless the command names another."
"""The last line of the help of every command."""


@contextmanager
def reported(program: str, status: int = 1) -> Iterator[None]:
    """Turns failures that a user can fix into one line on stderr and this exit status: 2 for commands whose status 1
    is a verdict.

    Any other failure is a defect of the program and keeps its traceback. Ctrl-C ends with status 130, as shells expect.
    If the reader of the output has gone (a broken pipe), the status is 0.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except Exception as problem:
        if all(isinstance(part, BrokenPipeError) for part in _parts(problem)):
            # The reader of the output has gone (`chronos | head`), which is not a failure.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(0) from None
        sentence = explain(problem)
        if sentence is None:
            raise
        if program.endswith(".py"):  # the message suggests a command of this program
            sentence = sentence.replace("APP.py", program)
        print(visible(f"{program}: {sentence}"), file=sys.stderr)  # noqa: T201 - this is the user's terminal
        raise SystemExit(status) from None


def explain(problem: BaseException) -> str | None:
    """One sentence for a failure that is not a defect of the program; None for any other failure."""
    from setpoint.cache import CacheSyncError
    from setpoint.client import ApiError, ConfigError, CredentialsError, TransportError
    from setpoint.crd import ConversionError, DefinitionError
    from setpoint.manager import LeadershipLost
    from setpoint.manager.processes import ChildFailed, SupervisorLost

    parts = _parts(problem)
    if len(parts) > 1:
        sentences = [explain(part) for part in parts]
        return None if None in sentences else sentences[0]
    (problem,) = parts
    from_client = (CacheSyncError, ApiError, ConfigError, CredentialsError, LeadershipLost, TransportError)
    from_processes = (ChildFailed, SupervisorLost)
    from_user = (UserError, *from_processes, ConversionError, DefinitionError, DecodeError, SelectorError)
    if isinstance(problem, (*from_client, *from_user)):
        return str(problem)
    if isinstance(problem, OSError) and problem.strerror:  # an error of the system, not one raised by Python code
        path = problem.filename2 or problem.filename
        return problem.strerror + (f": {path}" if path else "")
    return None


def _parts(problem: BaseException) -> list[BaseException]:
    """The individual exceptions in an exception group, at any depth."""
    if isinstance(problem, BaseExceptionGroup):
        return [part for inner in problem.exceptions for part in _parts(inner)]
    return [problem]
