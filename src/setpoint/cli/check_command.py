"""The command ``check`` of a program. The code of the checks is imported only when the command is called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from setpoint.apps.error_reports import reported
from setpoint.cli.finding_formats import Format, stdout_for
from setpoint.cli.program_arguments import Parts
from setpoint.cli.program_options import OptionValues, with_values


def check_command(parts: Parts) -> Callable[..., None]:
    """The command ``check`` of a program with these parts."""

    def check(
        *files: Annotated[Path, Parameter(allow_leading_hyphen=True)],
        old: Annotated[list[Path] | None, Parameter(negative_iterable="")] = None,
        option: OptionValues = (),
        output: Annotated[Format, Parameter(name=["--output", "-o"])] = "text",
    ) -> None:
        """Check objects in files as an API server would: schema, defaults, rules and the admission functions.

        Objects of other kinds are left out.

        The exit status is 0 if the API server would store every object, 1 if it would refuse one, 2 if the command
        fails, also because there is nothing to check.

        Parameters
        ----------
        files
            YAML or JSON files, folders of such files, or "-" for standard input.
        old
            A file or folder with the stored state: an object that is in it, too, is checked as an update. Repeatable.
        option
            An option of the program, NAME=VALUE, if its controllers are made of options. Repeatable.
        output
            text; or json, or sarif (2.1.0) for forges, which show the errors at their lines.
        """
        from setpoint.cli.check import check_files  # imports parts of the server

        with reported(parts.command, 2), stdout_for(output) as stream:
            raise SystemExit(check_files(with_values(parts, option)[0], files, old or [], output, stream))

    return check
