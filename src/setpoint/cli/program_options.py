"""Options: the flags that a program adds to its ``run`` command."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any

from cyclopts import Parameter

from setpoint.apps.error_reports import UsageError


def with_options(
    command: Callable[..., None], options: type[Any] | None, reserved_names: set[str]
) -> Callable[..., None]:
    """``command`` with the fields of ``options`` as further flags. The command receives their values as an instance of
    ``options``, in its argument ``own``.

    Raises:
        UsageError: ``options`` is not a dataclass, or one of its fields has the name of another flag.
    """
    if options is None:
        command.__annotations__["own"] = Annotated[Any, Parameter(parse=False)]
        return command
    if not (isinstance(options, type) and dataclasses.is_dataclass(options)):
        raise UsageError(f"options= takes a dataclass, whose fields are the program's own flags, not {options!r}")
    for field in dataclasses.fields(options):
        if field.name in reserved_names:
            raise UsageError(
                f"{options.__name__}.{field.name}: run already has a flag of that name; choose another one"
            )
    # In a program that imports pydantic, cyclopts has it check the default, which is None.
    command.__annotations__["own"] = Annotated[options | None, Parameter(name="*")]
    return command
