"""``setpoint mcp``: the flags of the server for agents, whose code is imported only when it is started."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from setpoint.apps.error_reports import reported
from setpoint.cli.debug_client import USUAL
from setpoint.cli.run_flags import KubeconfigFlags

_DEFAULT_CLUSTER: Final = KubeconfigFlags()


def mcp_command(
    *,
    project: Path = Path(),
    program: str | None = None,
    address: Annotated[list[str] | None, Parameter(name=["--address", "-a"], negative_iterable="")] = None,
    token_file: Path | None = None,
    ca_file: Path | None = None,
    cluster: KubeconfigFlags = _DEFAULT_CLUSTER,
) -> None:
    """The command that `setpoint.cli.main` describes.

    Parameters
    ----------
    project
        The folder of the operator's project; tools use no file outside of it.
    program
        The module or file in the project that calls sp.main, for the tools simulate and check; default: that of a
        project of setpoint init.
    address
        The address of a running operator's metrics server (default: http://127.0.0.1:8080); repeat it for each replica.
    token_file
        A file with the bearer token for these addresses.
    ca_file
        With https: the CA certificates to trust, instead of the system's.
    """
    with reported("setpoint mcp"):
        from setpoint.meta.optional_dependencies import needs_extra

        with needs_extra("mcp", "this command"):
            from setpoint.cli.mcp.session import serve
        from setpoint.cli.mcp.operator_tools import OperatorTools
        from setpoint.cli.mcp.project_files import ProjectFiles

        operators = OperatorTools(address or [USUAL], token_file, ca_file)
        serve(operators, cluster, ProjectFiles.of(project, program))
