"""Options: the flags that a program adds to its ``run`` command, and their values for its other commands."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from typing import Annotated, Any, TypeAlias

from cyclopts import App, CycloptsError, Parameter

from setpoint.apps.error_reports import UsageError
from setpoint.cli.program_arguments import Parts

OptionValues: TypeAlias = Annotated[tuple[str, ...], Parameter(name="--option", negative_iterable="")]
"""The flag of commands other than ``run`` for an option of the program; see `with_values`."""


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


def with_values(parts: Parts, values: Sequence[str]) -> tuple[Parts, Any]:
    """The program with these options (NAME=VALUE), and the options; those that are not given have their defaults.

    Raises:
        UsageError: a value is not of the option's type, the program refuses it (with a `ValueError`), or the program
            has no option of that name.
    """
    if not values:
        return parts, None
    options = parts.operator.options
    names = flags_of(options)
    if not names:
        raise UsageError(f"--option {values[0]}: the program has no options of its own")
    words = []
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or name.replace("_", "-").partition(".")[0] not in names:
            raise UsageError(f"--option {value}: an option is NAME=VALUE, and the names are {', '.join(names)}")
        words.append(f"--{name.replace('_', '-')}={text}")

    def take(own: Any = None) -> None: ...

    take.__annotations__["own"] = Annotated[options | None, Parameter(name="*")]  # type: ignore[operator]
    app = App(name=parts.command, version_flags=[], help_flags=[])
    app.default(take)
    try:
        _, bound, _ = app.parse_args(words, print_error=False, exit_on_error=False)
        own = bound.arguments["own"]
        with redirect_stdout(sys.stderr):
            return parts.with_options(own), own
    except (CycloptsError, ValueError) as problem:
        raise UsageError(f"--option: {problem}") from None


def flags_of(options: type[Any] | None) -> list[str]:
    """The names of a program's own options, as flags are written."""
    return [field.name.replace("_", "-") for field in dataclasses.fields(options)] if options is not None else []
