"""Project: the names that ``setpoint init`` and ``setpoint create`` received, stored in the project's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from setpoint.deploy.file_tree import RECORD, recorded
from setpoint.scaffold.names import KindName, NameProblem, ProjectName


class ProjectError(Exception):
    """A folder has no project, the project's record is damaged, or the project does not allow what was requested; the
    message gives the reason.
    """


class Api(msgspec.Struct, frozen=True):
    """One of the project's kinds, with its additional versions."""

    kind: str
    version: str
    has_webhook: bool = False
    versions: tuple[str, ...] = ()
    plural: str = ""
    """The plural in URL paths, if it is not the one that follows from the kind; otherwise ``""``."""
    scope: Literal["Namespaced", "Cluster"] = "Namespaced"
    source: Literal["", "kopf"] = ""
    """The framework from whose handlers the kind's files were made, if not from templates."""


class Project(msgspec.Struct, frozen=True):
    """A project's name, API group and kinds."""

    name: str
    group: str
    apis: tuple[Api, ...] = ()

    @property
    def names(self) -> ProjectName:
        return ProjectName(self.name, self.group)

    def kind_names(self, api: Api) -> KindName:
        return KindName(api.kind, api.version, self.group, api.plural)

    def api(self, kind: str) -> Api:
        """The kind with that name.

        Raises:
            ProjectError: there is no such kind.
        """
        for api in self.apis:
            if api.kind == kind:
                return api
        kinds = ", ".join(api.kind for api in self.apis)
        raise ProjectError(f"there is no kind {kind} in this project, which has {kinds}; setpoint create api {kind}")

    def with_api(self, api: Api) -> Project:
        """The project with this kind, which replaces a kind of the same name.

        Raises:
            ProjectError: a different kind has the same module or plural.
        """
        mine = self.kind_names(api)
        for existing in self.apis:
            names = self.kind_names(existing)
            if existing.kind != api.kind and (names.module == mine.module or names.plural == mine.plural):
                raise ProjectError(f"the kinds {existing.kind} and {api.kind} would share the name {mine.plural}")
        if any(existing.kind == api.kind for existing in self.apis):
            changed = tuple(api if existing.kind == api.kind else existing for existing in self.apis)
        else:
            changed = (*self.apis, api)
        return msgspec.structs.replace(self, apis=changed)

    def document(self) -> dict[str, Any]:
        """The project as JSON values, for the record."""
        document: dict[str, Any] = msgspec.to_builtins(self)
        return document

    @classmethod
    def of(cls, folder: Path) -> Project | None:
        """The project in the folder; None if there is none.

        Raises:
            ProjectError: the project in the folder's record is invalid.
            TreeError: the folder's record is damaged.
            OSError: the folder's record can't be read.
        """
        record = recorded(folder).get("project")
        if record is None:
            return None
        try:
            project = msgspec.convert(record, cls)
            for api in project.apis:
                project.kind_names(api)
            assert project.names
        except (msgspec.ValidationError, NameProblem) as problem:
            raise ProjectError(f"{folder / RECORD}: {problem}") from None
        return project

    @classmethod
    def here(cls, folder: Path) -> Project:
        """The project in the folder.

        Raises:
            ProjectError: there is no project in the folder, or the project in the folder's record is invalid.
            TreeError: the folder's record is damaged.
            OSError: the folder's record can't be read.
        """
        if (project := cls.of(folder)) is None:
            raise ProjectError(
                f"{folder.resolve()} is not a project of setpoint init (it has no {RECORD}); go to the folder of one"
            )
        return project
