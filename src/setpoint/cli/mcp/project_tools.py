"""Tools that examine a project: ``simulate``, ``check``, ``lint``, ``rbac`` and ``crd_diff``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any, Final

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult
from pydantic import Field

from setpoint.cli.crd_sources import CLUSTER
from setpoint.cli.mcp.project_commands import SETPOINT, Completed, ProjectCommands
from setpoint.cli.mcp.project_files import OutsideProject, ProjectFiles
from setpoint.cli.mcp.tool_result import tool_result
from setpoint.cli.run_flags import KubeconfigFlags
from setpoint.simulation.faults.plan import PREFIX

_BESIDES: Final = 240.0
"""Seconds beside its budget that a simulation may take to start, to judge a finding and to end."""
_LONGEST: Final = 3600.0
"""Seconds within which a number of runs has to end."""
_NOTED: Final = 60
"""The number of lines of a report that a result has."""
_JSON: Final = ("--output", "json")
Findings = list[dict[str, Any]]

Files = Annotated[list[str], Field(description="Files and folders in the project.")]
Source = Annotated[
    str,
    Field(
        description='A YAML or JSON file, a folder of them, classes (app.py:Mykind, package.module), or "cluster" for '
        "the installed definitions."
    ),
]


class ProjectTools:
    """The tools for the project ``files``. ``flags`` name the cluster whose definitions `crd_diff` may read."""

    def __init__(self, files: ProjectFiles, flags: KubeconfigFlags) -> None:
        self._files = files
        self._cluster: list[str] = []
        if flags.kubeconfig is not None:
            self._cluster += ["--kubeconfig", str(flags.kubeconfig.absolute())]
        if flags.context is not None:
            self._cluster += ["--context", flags.context]
        self.commands = ProjectCommands(files.root)

    async def simulate(
        self,
        ctx: Context,
        scenario: Annotated[
            str,
            Field(description="The users' actions, FILE:FUNCTION; empty: made from the first kind's schema."),
        ] = "",
        seconds: Annotated[int, Field(ge=1, le=1800, description="The time limit of the search, in seconds.")] = 60,
        runs: Annotated[int, Field(ge=0, description="The number of runs; 0: the time limit counts.")] = 0,
        faults: Annotated[str, Field(description="Only these faults, separated by commas; empty: all.")] = "",
        seed: Annotated[int, Field(ge=0, description="The seed of all random choices.")] = 0,
        replay: Annotated[str, Field(description="Try only this plan: a token or the file of a finding.")] = "",
    ) -> CallToolResult:
        """Runs the project's controllers in virtual time under the faults of a real cluster (crashes, conflicts, lost
        answers, late caches) and answers the findings: the promise that is broken, the object, the line, the faults,
        and a token for replay. Reports its progress and can be cancelled. Files about findings are written to the
        project's folder counterexamples.
        """
        budget = f"{runs}runs" if runs else f"{seconds}s"
        words = [*self._files.command, "simulate", *_JSON, "--progress", "--budget", budget, "--seed", str(seed)]
        if scenario:
            words += ["--scenario", self._files.checked(scenario)]
        if faults:
            words.append(f"--faults={faults}")
        if replay:
            words.append(f"--replay={replay if replay.startswith(PREFIX) else self._files.checked(replay)}")

        reported = 0

        async def report(line: str) -> None:
            nonlocal reported
            number, _, rest = line.partition(" runs, ")
            if rest and number.isdecimal() and int(number) > reported:  # the protocol wants it to increase
                reported = int(number)
                await ctx.report_progress(reported, runs or None, line)

        limit = _LONGEST if runs else seconds + _BESIDES
        done = await self.commands.run(words, Findings, timeout=limit, report=report)
        notes = [line for line in done.err if not line.partition(" runs, ")[0].isdecimal()][-_NOTED:]
        return _findings(done, notes)

    async def check(
        self,
        files: Files,
        old: Annotated[list[str], Field(description="Files with the stored objects: then updates are checked.")] = [],  # noqa: B006
    ) -> CallToolResult:
        """Checks the objects of the program's kinds in YAML or JSON files as an API server would: schema, defaults,
        rules and the project's admission functions.
        """
        words = [*self._files.command, "check", *map(self._files.checked, files), *_JSON]
        for file in old:
            words += ["--old", self._files.checked(file)]
        done = await self.commands.run(words, Findings)
        return _findings(done, done.err[-1:])

    async def lint(self, files: Files = ["."]) -> CallToolResult:  # noqa: B006
        """Finds mistakes in an operator's Python sources without running them, such as blocking calls in
        coroutines, random names of children, or times in the status. Nothing is imported.
        """
        done = await self.commands.run([*SETPOINT, "lint", *map(self._files.checked, files), *_JSON], Findings)
        return _findings(done, done.err[-1:])

    async def rbac(
        self,
        app: Annotated[str, Field(description="The file or module with the controllers as globals.")] = "",
        role: Annotated[str, Field(description="The file or folder with the roles to compare with.")] = "",
        tests: Annotated[
            bool, Field(description="Run the tests (pytest) and compare with their requests, too.")
        ] = False,
    ) -> CallToolResult:
        """Compares the permissions that the controllers declare with those that a role grants and, with tests, with
        those that the project's tests request. In a project of setpoint init, app and role are found.
        """
        files = self._files
        if not (app or files.parts):
            raise OutsideProject("name the file or module with the controllers: app")
        if not (role or files.roles or tests):
            raise OutsideProject("there is nothing to compare with: name a role, or set tests")
        words = [*SETPOINT, "rbac", files.checked(app or files.parts), *_JSON]
        if granted := role or files.roles:
            words += ["--role", files.checked(granted)]
        if tests:
            words += ["--", sys.executable, "-m", "pytest", "-q"]
        done = await self.commands.run(words, dict[str, list[str]], timeout=900.0)
        document = done.document
        texts = [f"{title}: {line}" for title, grants in document.items() for line in grants]
        return tool_result({**document, "missing": done.status == 1}, "\n".join(texts) or "nothing is missing")

    async def crd_diff(self, old: Source, new: Source) -> CallToolResult:
        """For each change between two versions of CustomResourceDefinitions: whether it breaks stored objects, writers
        or readers.
        """
        words = [*SETPOINT, "crd", "diff", *_JSON, *self._cluster]
        words += [source if source == CLUSTER else self._files.checked(source) for source in (old, new)]
        done = await self.commands.run(words, Findings, cluster=CLUSTER in (old, new))
        changes = done.document
        texts = [_change(change) for change in changes]
        content = {"breaks": done.status == 1, "changes": changes}
        return tool_result(content, "\n".join([*texts, f"{len(changes)} changes"]))


def _findings(done: Completed[Findings], notes: Sequence[str]) -> CallToolResult:
    findings = done.document
    texts = [_finding(finding) for finding in findings]
    return tool_result({"findings": findings, "notes": list(notes)}, "\n".join([*texts, *notes]) or "no findings")


def _change(change: dict[str, Any]) -> str:
    place = " ".join(part for part in (change["definition"], change.get("version"), change.get("field")) if part)
    return f"{change['severity'] or 'fine'}: {place}: {change['text']}"


def _finding(finding: dict[str, Any]) -> str:
    parts = [finding.get("file"), finding.get("line")]
    place = ":".join(str(part) for part in parts if part)
    return f"{place or '-'}: {finding.get('rule')}: {finding.get('message')}"
