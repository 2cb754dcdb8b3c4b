"""The command ``setpoint torture``. The code of the simulation is imported only when the command is called."""

from __future__ import annotations

from typing import Annotated, Final

from cyclopts import Parameter

from setpoint.apps.error_reports import reported
from setpoint.cli.torture_flags import TortureFlags

_DEFAULT: Final = TortureFlags()


def torture_command(
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    scenario: str,
    flags: TortureFlags = _DEFAULT,
) -> int:
    """The command that `setpoint.cli.main` describes.

    Parameters
    ----------
    command
        After --: the program and its arguments. {kubeconfig}, {server} and {port} (a free one) are filled in.
    scenario
        What users do: FILE.yaml with steps, or FILE.py or FILE.py:FUNCTION as in simulate.
    """
    from setpoint.cli.torture import torture

    with reported("setpoint torture", 2):
        return torture(command, scenario, flags)
