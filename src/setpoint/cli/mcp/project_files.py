"""The files of an operator's project that tools may name: those below its folder."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from setpoint.apps.error_reports import UsageError
from setpoint.deploy.file_tree import TreeError
from setpoint.scaffold.project import Project, ProjectError

_NO_PROGRAM: Final = (
    "the program is not known: start setpoint mcp with --program, the module or file that calls sp.main; setpoint init "
    "writes a project in which it is found"
)


class OutsideProject(Exception):
    """A name that a tool was given is not that of a file in the project; the message says which."""


@dataclass(frozen=True)
class ProjectFiles:
    """The project in the folder ``root``. ``program`` is the module or file that calls ``sp.main``, ``""`` if it is not
    known; ``parts`` is the file with its controllers, and ``roles`` the folder with its roles, likewise.
    """

    root: Path
    program: str = ""
    parts: str = ""
    roles: str = ""

    @classmethod
    def of(cls, root: Path, program: str | None) -> ProjectFiles:
        """The project in a folder. In a project of ``setpoint init`` the program and the roles are found.

        Raises:
            UsageError: the folder does not exist, its record is damaged, or the program is not in it.
        """
        root = root.resolve()
        if not root.is_dir():
            raise UsageError(f"--project {root}: no such folder")
        try:
            project = Project.of(root)
        except (ProjectError, TreeError) as problem:
            raise UsageError(f"--project: {problem}") from None
        package = project.names.package if project is not None else ""
        files = cls(
            root,
            program or package,
            f"src/{package}/parts.py" if package else "",
            "deploy/base" if package else "",
        )
        if program is not None:
            try:
                files.checked(program)
            except OutsideProject as problem:
                raise UsageError(f"--program: {problem}") from None
        return files

    def checked(self, name: str) -> str:
        """Returns ``name``, which names a file or folder of the project, or a module, and maybe names after a colon.

        Raises:
            OutsideProject: it names something else, or could be taken for a flag.
        """
        path = name.partition(":")[0] if not Path(name).is_absolute() else name
        if not name or name.startswith("-") or "\0" in name:
            raise OutsideProject(f"{name!r} is not the name of a file or module of the project")
        if not (self.root / path).resolve().is_relative_to(self.root):
            raise OutsideProject(f"{name} is not in the project {self.root}")
        return name

    @property
    def command(self) -> list[str]:
        """The words that start the project's program.

        Raises:
            OutsideProject: the program is not known.
        """
        if not self.program:
            raise OutsideProject(_NO_PROGRAM)
        is_file = self.program.endswith(".py")
        return [sys.executable, *([self.program] if is_file else ["-m", self.program])]
