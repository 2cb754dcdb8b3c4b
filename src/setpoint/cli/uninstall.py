"""``uninstall``: removes a program, the objects of its kinds and its definitions from a cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any, Final

from cyclopts import Parameter
from cyclopts.validators import Number

from setpoint.apps.error_reports import UsageError
from setpoint.cli.manifests import operator_of
from setpoint.cli.program_arguments import Parts
from setpoint.cli.program_options import OptionValues, with_values
from setpoint.cli.run_flags import KubeconfigFlags
from setpoint.meta.text_escaping import visible

_DEFAULT_CLUSTER: Final = KubeconfigFlags()


def uninstall_command(parts: Parts) -> Callable[..., None]:
    """The command ``uninstall`` of a program."""

    def uninstall(
        *,
        namespace: Annotated[str, Parameter(name=["--namespace", "-n"])] = "default",
        watch_namespace: str | None = None,
        name: str | None = None,
        service: str = "",
        chart: str = "",
        option: OptionValues = (),
        cluster: KubeconfigFlags = _DEFAULT_CLUSTER,
        timeout: Annotated[float, Parameter(validator=Number(gt=0))] = 300,
        yes: Annotated[bool, Parameter(name=["--yes", "-y"], negative="")] = False,
    ) -> None:
        """Remove the program from a cluster: the objects of its kinds, then the program, then its definitions.

        The program has to run until the objects are gone, because it removes their finalizers. Without --yes, the user
        is asked after the list of the things to delete; without a terminal, only the list is printed.

        Parameters
        ----------
        namespace
            The namespace in which the program runs. The namespace itself stays.
        watch_namespace
            The only namespace that the controllers watch: objects in other namespaces stay, and the definitions.
        name
            The name of the program's objects, as for manifests.
        service
            The Service of the webhooks, as for manifests.
        chart
            Helm installed the program, and its names begin with this: remove only what has to go before the rest of the
            release, and what Helm does not know. The chart's hook does this.
        option
            An option of the program, NAME=VALUE, as for manifests. Repeatable.
        timeout
            Seconds after which the command ends if objects are still there.
        yes
            Do not ask.
        """
        from setpoint.apps.program_runner import run
        from setpoint.deploy.uninstallation import ObjectsRemain, Uninstallation

        with_options, _ = with_values(parts, option)
        operator = operator_of(
            with_options.controllers,
            with_options.admissions,
            image="none",  # what is deleted has the same names for every image
            given_name=name or parts.operator.name,
            namespace=namespace,
            watch_namespace=watch_namespace,
            service=service,
            policies=parts.operator.policies,
            short=chart,
            managed_by="Helm" if chart else "setpoint",
        )

        async def remove(*, first: bool) -> None:
            async with cluster.client(operator.program) as client:
                removal = Uninstallation(client, operator, timeout, _print)
                if first:
                    _print_plan(operator, await removal.objects())
                    return
                try:
                    await removal.run()
                except ObjectsRemain as problem:
                    raise UsageError(str(problem)) from None

        run(parts.command, remove(first=True))
        if not yes and not _confirmed():
            raise SystemExit(1)
        run(parts.command, remove(first=False))

    return uninstall


def _print_plan(operator: Any, objects: list[tuple[Any, list[Any]]]) -> None:
    for resource, heads in objects:
        namespaces = len({head.namespace for head in heads})
        places = f" (namespaces: {namespaces})" if resource.namespaced and heads else ""
        _print(f"to delete: all objects of {resource.group_resource}, and what they own: {len(heads)}{places}")
    by_helm = operator.managed_by == "Helm"
    rest = "" if by_helm else ", its roles and webhooks"
    _print(f"to delete: {operator.program} in the namespace {operator.namespace}{rest}")
    if operator.watch_namespace is None and not by_helm:
        for resource, _ in objects:
            _print(f"to delete: the definition {resource.group_resource}")


def _confirmed() -> bool:
    if not sys.stdin.isatty():
        _print("nothing was deleted: confirm the deletion with --yes")
        return False
    return input("Delete all of it? [y/N] ").strip().lower() in ("y", "yes")


def _print(line: str) -> None:
    print(visible(line), flush=True)  # noqa: T201 - this is the user's terminal
