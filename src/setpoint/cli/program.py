"""The command line of a controller, run by ``setpoint.main(controller)``."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from cyclopts import App

from setpoint.apps.error_reports import EXIT_STATUSES, UsageError, reported
from setpoint.cli.option_sources import OptionSources, hidden_fields
from setpoint.cli.program_arguments import Parts
from setpoint.cli.program_loader import SourceError, being_loaded
from setpoint.cli.program_options import flags_of
from setpoint.cli.run import run_command
from setpoint.controller import Controller
from setpoint.manager import Runnable
from setpoint.operator import Operator, ProgramLifespan
from setpoint.webhook import Admission, Policy

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

Own = TypeVar("Own")


@overload
def main(operator: Operator[Any], /, *, argv: Sequence[str] | None = None) -> None: ...
@overload
def main(
    *parts: Controller[Any] | Admission[Any] | Policy | Runnable,
    name: str | None = None,
    argv: Sequence[str] | None = None,
    lifespan: ProgramLifespan[None] | None = None,
    registry: CollectorRegistry | None = None,
) -> None: ...
@overload
def main(
    *parts: Controller[Any] | Admission[Any] | Policy | Runnable,
    name: str | None = None,
    argv: Sequence[str] | None = None,
    options: type[Own],
    lifespan: ProgramLifespan[Own],
    registry: CollectorRegistry | None = None,
) -> None: ...


def main(
    *parts: Operator[Any] | Controller[Any] | Admission[Any] | Policy | Runnable,
    name: str | None = None,
    argv: Sequence[str] | None = None,
    options: type[Any] | None = None,
    lifespan: ProgramLifespan[Any] | None = None,
    registry: CollectorRegistry | None = None,
) -> None:
    """Runs the command line of a program: ``run``, ``manifests`` and other commands, for one `Operator`, or for the
    controllers, admissions, policies and runnables in ``parts``.

    Call it under ``if __name__ == "__main__":``. ``argv`` defaults to the process's arguments. The program's webhooks
    are the admissions, and the conversions of the controllers' kinds. An ``--embedded`` server calls them
    automatically; in a cluster, ``run --webhook-service`` or ``setpoint webhook`` serves them, with any number of
    replicas. A program may have admissions and no controller.

    ``name`` is the name of the program's role, Lease and webhook configurations in a cluster, and of its field manager:
    a DNS name that no other program has. By default a role and a Lease are named after the first controller and its API
    group (``mykind.grp.example.com``), and webhook configurations after the API group; a program whose kinds are all
    built in has to set a name if it needs one. ``--name`` overrides it.

    Further parts of a program:

    - runnables among the ``parts``: objects with ``async def run(self)``, which run while the manager leads or, with
      ``leader_only = False``, while it runs (`setpoint.Manager.add`);
    - ``options``, a dataclass: its fields become flags of ``run``;
    - ``lifespan(program)``, an asynchronous context manager around everything that runs. It receives the `Program` with
      its manager, options and metrics registry; the object that it yields is available to reconciles as
      ``ctx.state(App)``;
    - ``registry``, a registry of prometheus_client, whose metrics are served with all other metrics.
    """
    if source := being_loaded():
        raise SourceError(f"sp.main() is called while {source} is imported; put it under if __name__ == '__main__':")
    script = Path(sys.argv[0])
    command = script.parent.name if script.name == "__main__.py" else script.name
    with reported(command):
        operators = [part for part in parts if isinstance(part, Operator)]
        if operators and (len(parts) > 1 or name or options or lifespan or registry):
            raise UsageError("sp.main() takes one Operator and nothing else: pass the other arguments to the Operator")
        others: list[Any] = [part for part in parts if not isinstance(part, Operator)]
        runnables = [part for part in others if not isinstance(part, Controller | Admission | Policy)]
        for part in runnables:
            if isinstance(part, type) or not inspect.iscoroutinefunction(getattr(part, "run", None)):
                raise UsageError(
                    "sp.main() takes an Operator, or controllers, admissions, policies and runnables (with async def "
                    f"run(self)), not {part!r}"
                )
        operator = (
            operators[0]
            if operators
            else Operator(
                [part for part in others if isinstance(part, Controller)],
                [part for part in others if isinstance(part, Admission)],
                lifespan,
                options,
                policies=[part for part in others if isinstance(part, Policy)],
                runnables=runnables,
                name=name,
                registry=registry,
            )
        )
        sources = OptionSources(operator.prefix, hidden_fields(operator.options))
        words = list(sys.argv[1:] if argv is None else argv)
        app = program(command, operator, sources, all_commands=words[:1] != ["run"])
        if operator.options is not None:
            try:
                app.parse_args(words)
            except ValueError as problem:  # of the options' own class: those of values have been reported
                values = sources.set_values(flags_of(operator.options))
                raise UsageError(f"{problem}: {', '.join(values) or 'no option is set'}") from None
        app(words)


def program(
    command: str, operator: Operator[Any], sources: OptionSources | None = None, *, all_commands: bool = True
) -> App:
    """The commands of a program; see `main`. ``sources`` provide values of the flags of ``run``. Without
    ``all_commands``, ``run`` is the only one: a process in a cluster calls no other, and imports the code of none.

    Raises:
        UsageError: there is neither a controller nor an admission, or an option has no default but is needed for one.
    """
    try:
        with redirect_stdout(sys.stderr):  # stdout is for the command's own output, such as YAML
            controllers = operator.controllers_for()
    except TypeError as problem:
        raise UsageError(str(problem)) from None
    admissions = operator.admissions
    if not controllers and not admissions:
        raise UsageError("there is neither a controller to run nor an admission to serve")
    parts = Parts(command, operator, controllers)
    names = ", ".join(controller.name for controller in controllers)
    kinds = ", ".join(dict.fromkeys(admission.kind.__name__ for admission in admissions))
    app = App(
        name=command,
        help=f"Controllers: {names}." if names else f"Webhooks for {kinds}.",
        version_flags=[],
        help_epilogue=EXIT_STATUSES,
    )
    sources = sources or OptionSources(operator.prefix, hidden_fields(operator.options))
    app.command(run_command(parts, sources), name="run", config=[sources])
    if all_commands:
        _add_others(app, parts)
    return app


def _add_others(app: App, parts: Parts) -> None:
    from setpoint.cli.check_command import check_command
    from setpoint.cli.manifests import manifests_command
    from setpoint.cli.simulate_command import simulate_command
    from setpoint.cli.uninstall import uninstall_command

    app.command(manifests_command(parts), name="manifests")
    app.command(uninstall_command(parts), name="uninstall")
    app.command(check_command(parts), name="check")
    if parts.controllers:
        app.command(simulate_command(parts), name="simulate")
