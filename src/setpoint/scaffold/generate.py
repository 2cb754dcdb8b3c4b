"""The files of a new project, and the files that are added to it later."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from setpoint.deploy.file_tree import File, Written, write
from setpoint.meta.yaml_text import to_yaml
from setpoint.scaffold.classes import definitions_to_source
from setpoint.scaffold.names import check_version
from setpoint.scaffold.project import Api, Project, ProjectError
from setpoint.scaffold.scope import cluster_scoped
from setpoint.scaffold.templates import parts_file, template, words


def project_files(project: Project) -> dict[str, File]:
    return template("project", words(project.names)) | parts_file(project)


def api_files(project: Project, api: Api) -> dict[str, File]:
    """The files of a kind: its types, controller, tests, and a sample."""
    return _of_kind("api", project, api)


def template_files(project: Project) -> dict[str, File]:
    """All files of the project that are made from templates, without those that are generated anew for every part."""
    files = template("project", words(project.names))
    for api in project.apis:
        if not api.source:
            files |= api_files(project, api)
        if api.has_webhook:
            files |= _of_kind("webhook", project, api)
        for version in api.versions:
            files |= _of_kind("version", project, api, version)
    return files


def _of_kind(name: str, project: Project, api: Api, version: str = "") -> dict[str, File]:
    files = template(name, words(project.names, project.kind_names(api), version))
    return cluster_scoped(files, api.kind) if api.scope == "Cluster" else files


def create(folder: Path, project: Project, files: Mapping[str, File], *, force: bool = False) -> Written:
    """Writes the files, after storing the project in its record, so that an interrupted command can be repeated.

    Raises:
        TreeError: a file can't be read or written.
    """
    return write(
        folder, {**files, **parts_file(project)}, force=force, scope="project", facts={"project": project.document()}
    )


def add_api(project: Project, api: Api) -> tuple[Project, dict[str, File]]:
    """The project with an additional kind, and the kind's files. A kind that already exists stays as it is.

    Raises:
        NameProblem: the name of the kind or version is not valid.
        ProjectError: a different kind has the same module or plural, or the kind exists with a different version or
            scope.
    """
    present = next((entry for entry in project.apis if entry.kind == api.kind), None)
    if present is not None and present.version != api.version:
        raise ProjectError(
            f"the project has {api.kind} in version {present.version}: add one with setpoint create version {api.kind} "
            f"{api.version}"
        )
    if present is not None and present.scope != api.scope:
        raise ProjectError(
            f"the project has {api.kind} with the scope {present.scope}, and a kind can't change its scope"
        )
    project = project.with_api(present or api)
    return project, api_files(project, present or api)


def foreign_files(
    project: Project, definitions: Iterable[dict[str, Any]], installed_by: str
) -> dict[str, dict[str, File]]:
    """The files for kinds of other projects, by API group: a module of classes, and the definitions themselves, for the
    project's tests.

    Raises:
        SchemaProblem: a document is not a definition, or has no schema.
    """
    groups: dict[str, list[dict[str, Any]]] = {}
    for definition in definitions:
        groups.setdefault(str(definition.get("spec", {}).get("group", "")), []).append(definition)
    files: dict[str, dict[str, File]] = {}
    for group, documents in groups.items():
        module = re.sub(r"\W", "_", group, flags=re.ASCII)
        source = definitions_to_source(documents, installed_by=installed_by)
        files[group] = {f"src/{project.names.package}/{module}.py": File(source)}
        for document in documents:
            files[group][f"crds/{document['metadata']['name']}.yaml"] = File(to_yaml([document]))
    return files


def add_webhook(project: Project, kind: str) -> tuple[Project, dict[str, File]]:
    """The project with webhooks for the kind, and their files.

    Raises:
        ProjectError: there is no such kind.
    """
    api = replace(project.api(kind), has_webhook=True)
    return project.with_api(api), _of_kind("webhook", project, api)


def add_version(project: Project, kind: str, version: str) -> tuple[Project, dict[str, File]]:
    """The project with an additional version of the kind, and that version's files.

    Raises:
        NameProblem: the name of the version is not valid.
        ProjectError: the project has no such kind, ``version`` is the version that the kind was created with, or the
            kind already has a different additional version.
    """
    check_version(version)
    api = project.api(kind)
    if version == api.version:
        raise ProjectError(f"{kind} already has the version {version}")
    if version not in api.versions:
        if api.versions:
            raise ProjectError(
                f"{kind} has the version {api.versions[-1]} beside {api.version}; one class lists all "
                f"conversions, so add {version} to it by hand (docs/crd.md)"
            )
        api = replace(api, versions=(*api.versions, version))
    return project.with_api(api), _of_kind("version", project, api, version)
