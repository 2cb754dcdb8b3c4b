"""Optional dependencies: an import that fails names the extra of this distribution that brings the package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

from setpoint.meta.user_error import UserError

Extra: TypeAlias = Literal["server", "exec", "mcp", "tracing"]


class MissingExtra(UserError, ImportError):
    """A package of an extra is not installed; the message is the command that installs it."""


@contextmanager
def needs_extra(extra: Extra, feature: str) -> Iterator[None]:
    """Imports in the ``with`` block are those of an extra, and ``feature`` needs them.

    Raises:
        MissingExtra: one of them is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as problem:
        if (problem.name or "").startswith("setpoint."):
            raise
        message = f"{feature} needs {problem.name}, which is not installed: pip install 'setpoint[{extra}]'"
        raise MissingExtra(message, name=problem.name) from None
