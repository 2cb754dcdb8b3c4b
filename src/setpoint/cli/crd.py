"""``setpoint crd``: compares and migrates the versions of custom resources, and writes classes for them."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from setpoint.meta.text_escaping import visible

if TYPE_CHECKING:
    from setpoint.crd.definition_change import Change

crd_app = App(name="crd")
Source = Annotated[str, Parameter(allow_leading_hyphen=True)]
_BREAKS, _TROUBLE = 1, 2
_WORDS = {"breaks": "BREAKS", "may": "MAY BREAK", "": "fine"}


@crd_app.command
def diff(
    old: Source,
    new: Source,
    /,
    *,
    strict: Annotated[bool, Parameter(negative="")] = False,
    output: Annotated[Literal["text", "json"], Parameter(name=["--output", "-o"])] = "text",
    kubeconfig: Annotated[Path | None, Parameter(name=["--kubeconfig", "-k"])] = None,
    context: str | None = None,
) -> None:
    """Show for each change whether it breaks stored objects, writers or readers.

    The exit status is 0 if no change breaks anything, 1 if one does, 2 if the command fails.

    Parameters
    ----------
    old
        One of the following: a YAML or JSON file; a folder of such files; "-" for standard input; "cluster" for the
        installed definitions; or classes (app.py, app.py:Mykind, a package's folder, package.module:Mykind).
    new
        The same of the changed definitions.
    strict
        Also return 1 if something may break, depending on writers and readers.
    output
        text, or json for one list of changes.
    kubeconfig
        The kubeconfig to use; default: KUBECONFIG, ~/.kube/config, or the pod this runs in.
    context
        The kubeconfig's context to use.
    """
    with _user_errors("setpoint crd diff"):
        changes = asyncio.run(_changes(old, new, kubeconfig, context))
    if output == "json":
        sys.stdout.write(json.dumps([_document(change) for change in changes], indent=2) + "\n")
    else:
        _print(changes)
    failing = ("breaks", "may") if strict else ("breaks",)
    if any(change.severity in failing for change in changes):
        raise SystemExit(_BREAKS)


@crd_app.command
def classes(
    source: Source,
    /,
    *names: str,
    installed_by: str = "",
    own: Annotated[bool, Parameter(negative="")] = False,
    kubeconfig: Annotated[Path | None, Parameter(name=["--kubeconfig", "-k"])] = None,
    context: str | None = None,
) -> None:
    """Print Python classes for the kinds of CustomResourceDefinitions, as a module.

    The exit status is 0 on success, and 2 if the command fails.

    Parameters
    ----------
    source
        A YAML or JSON file, a folder of such files, "-" for standard input, or "cluster" for the installed definitions.
    names
        The names of the definitions to use, such as certificates.cert-manager.io; default: all.
    installed_by
        The project that installs the definitions; default: the one that their labels name, or the API group.
    own
        The kinds are those of your program, which installs their definitions.
    kubeconfig
        The kubeconfig to use; default: KUBECONFIG, ~/.kube/config, or the pod this runs in.
    context
        The kubeconfig's context to use.
    """
    from setpoint.cli.crd_sources import CLUSTER, from_cluster, from_files, only
    from setpoint.cli.program_loader import SourceError
    from setpoint.scaffold.classes import definitions_to_source

    with _user_errors("setpoint crd classes"):
        if own and installed_by:
            raise SourceError("--own and --installed-by exclude each other")
        if source == CLUSTER:
            definitions = asyncio.run(_with_client(kubeconfig, context, lambda client: from_cluster(client)))
        else:
            definitions = from_files(source)
        text = definitions_to_source(only(definitions, names, source), own=own, installed_by=installed_by)
    sys.stdout.write(text)


@crd_app.command
def migrate(
    name: str,
    /,
    *,
    state: Path | None = None,
    kubeconfig: Annotated[Path | None, Parameter(name=["--kubeconfig", "-k"])] = None,
    context: str | None = None,
) -> None:
    """Rewrite stored objects in the storage version, then remove the other versions from status.storedVersions.

    The migration can be stopped at any time; the next run continues it. Concurrent writes by other clients do no harm.

    The exit status is 0 on success, and 2 if the command fails.

    Parameters
    ----------
    name
        The definition's name, such as mykinds.grp.example.com.
    state
        The file in which the progress is stored; default: a file in XDG_STATE_HOME/setpoint (~/.local/state/setpoint).
    kubeconfig
        The kubeconfig to use; default: KUBECONFIG, ~/.kube/config, or the pod this runs in.
    context
        The kubeconfig's context to use.
    """
    from setpoint.cli.crd_migrate import migrate as work

    with _user_errors("setpoint crd migrate"):
        asyncio.run(_with_client(kubeconfig, context, lambda client: work(client, name, state)))


async def _changes(old: str, new: str, kubeconfig: Path | None, context: str | None) -> list[Change]:
    from setpoint.cli.crd_sources import CLUSTER, from_cluster
    from setpoint.cli.program_loader import SourceError
    from setpoint.crd.diff import compare_all

    if old == new == CLUSTER:
        raise SourceError("OLD and NEW are both the cluster: replace one of them by files or classes")
    definitions = {source: _local(source) for source in (old, new) if source != CLUSTER}
    if CLUSTER in (old, new):
        (local_definitions,) = definitions.values()
        names = [str(document["metadata"]["name"]) for document in local_definitions]
        definitions[CLUSTER] = await _with_client(kubeconfig, context, lambda client: from_cluster(client, names))
    return compare_all(definitions[old], definitions[new])


def _local(source: str) -> list[dict[str, Any]]:
    from setpoint.cli.crd_sources import from_classes, from_files
    from setpoint.meta.yaml_files import SUFFIXES

    path = Path(source)
    package = (path / "__init__.py").is_file()
    files = source == "-" or (path.is_dir() and not package) or source.endswith(SUFFIXES)
    return from_files(source) if files else from_classes(source)


async def _with_client(kubeconfig: Path | None, context: str | None, work: Any) -> Any:
    from setpoint.client import Client, HttpTransport, load_config

    config = load_config(kubeconfig, context)
    # Warnings are for authors of objects: one for each migrated object, or about an old API, does not help here.
    async with Client(HttpTransport(config), config=config, on_warning=lambda _: None) as client:
        coroutine: Coroutine[Any, Any, Any] = work(client)
        return await coroutine


@contextmanager
def _user_errors(command: str) -> Iterator[None]:
    """Turns failures that a user can fix into exit status 2, because 1 means that something breaks."""
    from setpoint.apps.error_reports import explain
    from setpoint.apps.storage_migration import MigrationError
    from setpoint.cli.program_loader import SourceError

    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except Exception as problem:
        sentence = str(problem) if isinstance(problem, SourceError | MigrationError | ValueError) else explain(problem)
        if sentence is None:
            raise
        print(visible(f"{command}: {sentence}"), file=sys.stderr)  # noqa: T201 - this is the user's terminal
        raise SystemExit(_TROUBLE) from None


def _document(change: Change) -> dict[str, str]:
    import msgspec

    document: dict[str, str] = msgspec.to_builtins(change)
    return document | {"severity": change.severity}


def _print(changes: list[Change]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    styles = {"breaks": "bold red", "may": "yellow", "": "green"}
    order = ("breaks", "may", "")
    for change in sorted(changes, key=lambda change: order.index(change.severity)):
        line = Text.assemble(
            (f"{_WORDS[change.severity]:9}", styles[change.severity]), visible(f" {change.place}: {change.text}")
        )
        if consequences := _consequences(change):
            line.append(f" [{consequences}]", style="dim")
        console.print(line)
    counts = [sum(change.severity == severity for change in changes) for severity in order]
    console.print(f"changes: {len(changes)} (breaks: {counts[0]}, may break: {counts[1]}, fine: {counts[2]})")


def _consequences(change: Change) -> str:
    """The consequences in words: ``stored objects and writers break, readers may break``; empty if there are none."""
    named = (("stored objects", change.stored), ("writers", change.writers), ("readers", change.readers))
    parts = [
        f"{' and '.join(words)} {verb}"
        for severity, verb in (("breaks", "break"), ("may", "may break"))
        if (words := [word for word, severity_of_field in named if severity_of_field == severity])
    ]
    return ", ".join(parts)
