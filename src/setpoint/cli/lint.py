"""``setpoint lint``: checks the sources of a program for mistakes that need no run to be seen."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from setpoint.apps.error_reports import UsageError, reported
from setpoint.cli.finding_formats import Format, Location, Problem, document
from setpoint.lint import RULES, lint
from setpoint.meta.text_escaping import visible

_LEFT_OUT: Final = frozenset(("__pycache__", "build", "dist", "node_modules", "site-packages"))


def lint_command(*paths: Path, output: Annotated[Format, Parameter(name=["--output", "-o"])] = "text") -> None:
    """The command that `setpoint.cli.main` describes.

    Parameters
    ----------
    paths
        Files and folders; default: the current folder.
    output
        text, json, or sarif (2.1.0) for forges, which show the findings at their lines.
    """
    with reported("setpoint lint", 2):
        problems = []
        files = list(_sources(paths or (Path(),)))
        for file in files:
            try:
                mistakes = lint(file.read_bytes().decode(), file)
            except OSError as problem:
                raise UsageError(f"{file}: {problem.strerror}") from None
            except (SyntaxError, ValueError) as problem:
                raise UsageError(f"{file}: not a Python file: {problem}") from None
            for rule, mistake in mistakes:
                details = {"prevents": RULES[rule].prevents}
                place = Location(file, mistake.line, mistake.column)
                problems.append(Problem(rule, mistake.message, place, details))
        if not files:
            raise UsageError("the named files and folders contain no Python file")
        if output == "text":
            for item in problems:
                print(visible(f"{item.location}: {item.rule}: {item.message}"))  # noqa: T201 - a user's terminal
            word = "file" if len(files) == 1 else "files"
            print(f"{len(files)} {word} checked, mistakes: {len(problems)}", file=sys.stderr)  # noqa: T201
        else:
            about = {name: rule.about for name, rule in RULES.items()}
            sys.stdout.write(document(output, "setpoint lint", about, problems))
    raise SystemExit(1 if problems else 0)


def _sources(paths: tuple[Path, ...]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for file in sorted(path.rglob("*.py")):
            folders = file.relative_to(path).parts[:-1]
            if not any(folder in _LEFT_OUT or folder.startswith(".") for folder in folders):
                yield file
