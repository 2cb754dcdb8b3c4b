"""Findings of commands as JSON and SARIF 2.1.0, so that forges show them at their lines."""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TextIO
from urllib.parse import quote

Format = Literal["text", "json", "sarif"]
_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_PAGE: Final = "https://pypi.org/project/setpoint/"


@dataclass(frozen=True, slots=True)
class Location:
    """A file, and a line and column in it that count from 1; 0 if they are not known."""

    file: Path
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return ":".join([str(self.file), *(str(number) for number in (self.line, self.column) if number)])


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding: the rule that is broken, a sentence, the location if it is known, and ``details`` for programs."""

    rule: str
    message: str
    location: Location | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@contextmanager
def stdout_for(form: Format) -> Iterator[TextIO]:
    """Standard output, for a command that runs code of a program. Unless the output is text, ``print`` in that code
    writes to stderr meanwhile, so that nothing is mixed with the document.
    """
    stream = sys.stdout
    if form == "text":
        yield stream
        return
    with redirect_stdout(sys.stderr):
        yield stream


def document(form: Literal["json", "sarif"], tool: str, rules: Mapping[str, str], problems: Sequence[Problem]) -> str:
    """The findings of the command ``tool``. ``rules`` are the rules that it checks, with a sentence for each; the rule
    of a problem need not be among them.

    JSON is a list of objects with ``rule``, ``message``, ``file``, ``line``, ``column`` (null if not known) and the
    details. In SARIF, files below the current directory are relative to it.
    """
    if form == "json":
        return json.dumps([_entry(problem) for problem in problems], indent=2, default=str) + "\n"
    names = list(dict.fromkeys((*rules, *(problem.rule for problem in problems))))
    described = [
        {"id": name, **({"shortDescription": {"text": rules[name]}} if name in rules else {})} for name in names
    ]
    results = [{**_result(problem), "ruleIndex": names.index(problem.rule)} for problem in problems]
    driver = {"name": tool, "informationUri": _PAGE, "rules": described, **_version()}
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}
    return json.dumps(log, indent=2, default=str) + "\n"


def place_of(function: Callable[..., Any]) -> Location | None:
    """The location of a function's definition; None if it has no source file."""
    function = inspect.unwrap(function)
    try:
        file = inspect.getsourcefile(function)
        line = inspect.getsourcelines(function)[1]
    except (OSError, TypeError):
        return None
    return None if file is None else Location(Path(file), line)


def _entry(problem: Problem) -> dict[str, Any]:
    place = problem.location
    location: dict[str, Any] = {"file": None, "line": None, "column": None}
    if place is not None:
        location = {"file": _relative(place.file), "line": place.line or None, "column": place.column or None}
    return {"rule": problem.rule, "message": problem.message, **location, **problem.details}


def _result(problem: Problem) -> dict[str, Any]:
    result: dict[str, Any] = {"ruleId": problem.rule, "level": "error", "message": {"text": problem.message}}
    if problem.details:
        result["properties"] = dict(problem.details)
    place = problem.location
    if place is not None:
        physical: dict[str, Any] = {"artifactLocation": {"uri": quote(_relative(place.file))}}
        if place.line:
            column = {"startColumn": place.column} if place.column else {}
            physical["region"] = {"startLine": place.line, **column}
        result["locations"] = [{"physicalLocation": physical}]
    return result


def _relative(file: Path) -> str:
    absolute = Path(os.path.normpath(file.absolute()))  # without .., which forges do not follow
    return absolute.relative_to(Path.cwd()).as_posix() if absolute.is_relative_to(Path.cwd()) else absolute.as_posix()


def _version() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version  # with a parser of mail: a megabyte of `run`

    try:
        return {"version": version("setpoint")}
    except PackageNotFoundError:  # a copy of the sources
        return {}
