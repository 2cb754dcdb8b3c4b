"""``setpoint init`` and ``setpoint create``: write a project for an operator, and add to it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from cyclopts import App, Parameter

from setpoint.cli.manifests import operator_of
from setpoint.cli.program_declarations import declared_by
from setpoint.cli.program_loader import SourceError, loaded
from setpoint.deploy.file_tree import File, TreeError, Written, write
from setpoint.deploy.kustomize import kustomize
from setpoint.scaffold import generate
from setpoint.scaffold.classes import SchemaProblem
from setpoint.scaffold.kopf import KopfProblem, ported
from setpoint.scaffold.names import KindName, NameProblem, ProjectName
from setpoint.scaffold.project import Api, Project, ProjectError
from setpoint.scaffold.update import remember, update

create_app = App(name="create")
Scope: TypeAlias = Literal["Namespaced", "Cluster"]
Force = Annotated[bool, Parameter(negative="")]
_FIRST_VERSION = "v1alpha1"


def init(
    name: str,
    *,
    group: str | None,
    kind: str | None,
    version: str,
    scope: Scope,
    source: tuple[Literal["kopf"], Path] | None,
    force: bool,
) -> None:
    """See `setpoint.cli.main.init`."""
    with _reported("setpoint init"):
        port = ported(source[1], group or "") if source is not None else None
        if port is not None and (kind or version != _FIRST_VERSION or scope != "Namespaced"):
            raise ProjectError("--kind, --version and --scope are those of the handlers with --from kopf")
        domain = group or (port.group if port is not None else "") or f"{name}.example.com"
        names = ProjectName(name, domain)
        folder = Path(name)
        project = Project.of(folder) if folder.is_dir() else None
        if folder.exists() and not folder.is_dir():
            raise ProjectError(f"{folder} is a file; choose another name")
        if project is None and folder.exists() and not force and not _is_for_projects(folder):
            raise ProjectError(f"{folder} exists already; choose another name, or write into it with --force")
        if project is not None and (project.name, project.group) != (name, domain):
            raise ProjectError(
                f"{folder} is the project {project.name} of the group {project.group}: choose another folder"
            )
        if project is None:
            names.check_is_free()
            project = Project(name, domain)
        files: dict[str, File] = {}
        apis = port.apis if port is not None else (Api(kind or _default_kind(names, version), version, scope=scope),)
        for api in apis:
            project, more = generate.add_api(project, api)
            files |= more if port is None else port.files(project, api)
        files = generate.project_files(project) | files
        _write(folder, project, files, force)
        print(f"next: cd {folder} && make test && make demo")  # noqa: T201 - this is the user's terminal


def _is_for_projects(folder: Path) -> bool:
    """Whether a project may be made in the folder: the folder is empty, or it is the root of a git repository. Existing
    files are not overwritten.
    """
    return not any(folder.iterdir()) or (folder / ".git").exists()


def _default_kind(names: ProjectName, version: str) -> str:
    try:
        return KindName(names.kind, version, names.group).kind
    except NameProblem as problem:
        raise ProjectError(f"{problem}, with --kind") from None


@create_app.command
def api(kind: str, /, *, version: str = _FIRST_VERSION, scope: Scope = "Namespaced", force: Force = False) -> None:
    """Add a kind: types, a controller, tests, a sample.

    Parameters
    ----------
    kind
        The kind's name, such as Database.
    version
        The kind's version.
    scope
        Cluster, for objects that are in no namespace.
    force
        Overwrite existing files that have different contents.
    """
    _add("api", lambda project: generate.add_api(project, Api(kind, version, scope=scope)), force)


@create_app.command(name="kind")
def kind_command(
    *names: str,
    source: Annotated[Path, Parameter(name="--from")],
    installed_by: str = "",
    force: Force = False,
) -> None:
    """Add classes for kinds of other projects, and their definitions for tests.

    There is one module for each API group. The command can be repeated after an upgrade of the other project.

    Parameters
    ----------
    names
        The names of the definitions to use, such as certificates.cert-manager.io; default: all in the source.
    source
        The file of the CustomResourceDefinitions, or a folder of such files.
    installed_by
        The project that installs the definitions; default: the one that their labels name, or the API group.
    force
        Overwrite existing files that have different contents.
    """
    from setpoint.cli.crd_sources import from_files, only

    with _reported("setpoint create kind"):
        folder = Path()
        project = Project.here(folder)
        try:
            definitions = only(from_files(str(source)), names, str(source))
            groups = generate.foreign_files(project, definitions, installed_by)
        except (SchemaProblem, SourceError) as problem:
            raise ProjectError(str(problem)) from None
        for group, files in groups.items():
            _tell(folder, write(folder, files, force=force, scope=f"kinds {group}"))
        print('in tests: sp.testing.cluster(..., crds=["crds"])')  # noqa: T201 - this is the user's terminal


@create_app.command
def webhook(kind: str, /, *, force: Force = False) -> None:
    """Add webhooks to a kind: defaults and checks before an object is stored, with tests.

    Parameters
    ----------
    kind
        The name of a kind of this project.
    force
        Overwrite existing files that have different contents.
    """
    _add("webhook", lambda project: generate.add_webhook(project, kind), force)


@create_app.command(name="version")
def version_command(kind: str, version: str, /, *, force: Force = False) -> None:
    """Add a version to a kind, with its conversion and tests; the stored version stays as it is.

    Parameters
    ----------
    kind
        The name of a kind of this project.
    version
        The new version, such as v1beta1.
    force
        Overwrite existing files that have different contents.
    """
    _add("version", lambda project: generate.add_version(project, kind, version), force)


def update_command() -> None:
    """The command that `setpoint.cli.main` describes."""
    with _reported("setpoint update"):
        folder = Path()
        done = update(folder)
        parts = generate.create(folder, Project.here(folder), {})
        for line in (*done.lines(), *parts.lines()):
            print(line)  # noqa: T201 - this is the user's terminal
        if done.conflicts:
            print("resolve the conflicts, then: make manifests && make test")  # noqa: T201
            raise SystemExit(1)
        print("next: make manifests && make test")  # noqa: T201


def _add(noun: str, change: Callable[[Project], tuple[Project, dict[str, File]]], force: bool) -> None:
    with _reported(f"setpoint create {noun}"):
        folder = Path()
        project, files = change(Project.here(folder))
        _write(folder, project, files, force)


def _write(folder: Path, project: Project, files: dict[str, File], force: bool) -> None:
    """Writes the files, then loads the project's program and writes its ``deploy/``.

    Raises:
        ProjectError: the program can't be loaded; the files are written, but ``deploy/`` is not.
        TreeError: a file can't be written.
    """
    done = generate.create(folder, project, files, force=force)
    remember(folder, generate.template_files(project), [*done.created, *done.updated, *done.replaced])
    _tell(folder, done)
    package = folder / "src" / project.names.package
    try:
        with loaded(str(package / "parts.py")) as program:
            declared = declared_by(program.values)
            operator = operator_of(
                declared.controllers,
                declared.admissions,
                image=f"registry.example.com/{project.name}:0.1.0",
                given_name=project.names.program,
                namespace=project.name,
            )
            files = kustomize(operator)
    except SourceError as problem:
        raise ProjectError(
            f"deploy is not written: the program can't be loaded; fix it, then run make manifests: {problem}"
        ) from None
    _tell(folder / "deploy", write(folder / "deploy", files, force=force, scope="manifests kustomize"))


def _tell(folder: Path, done: Written) -> None:
    for line in done.lines():
        word, _, path = line.rpartition(": ")
        print(f"{word}: {folder / path}")  # noqa: T201 - this is the user's terminal


@contextmanager
def _reported(command: str) -> Iterator[None]:
    from setpoint.apps.error_reports import reported

    with reported(command):
        try:
            yield
        except (KopfProblem, NameProblem, ProjectError, TreeError) as problem:
            print(f"{command}: {problem}", file=sys.stderr)  # noqa: T201 - this is the user's terminal
            raise SystemExit(1) from None
