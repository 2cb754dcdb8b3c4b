"""Type checkers find the typos: every line marked ``# E:`` has an error, and no other line has one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((Path(__file__).parent / "cases").glob("*.py"))
_MARK = re.compile(r"# E:\s*(\w*)\s*$")


def marked(checker: str) -> set[tuple[str, int]]:
    """Files and lines where this checker must find an error."""
    results = set()
    for path in FILES:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            mark = _MARK.search(line)
            if mark and mark[1] in ("", checker):
                results.add((path.name, number))
    return results


def by_mypy() -> set[tuple[str, int]]:
    command = [
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--hide-error-context",
        "--no-pretty",
        "--cache-dir=.mypy_cache/typing",
    ]
    ended = subprocess.run(
        [sys.executable, *command, *map(str, FILES)],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": "src:examples"},
        capture_output=True,
        text=True,
    )
    assert ended.returncode in (0, 1), ended.stderr or ended.stdout
    lines = (re.match(r"(.*?):(\d+)(?::\d+)?: error:", line) for line in ended.stdout.splitlines())
    return {(Path(line[1]).name, int(line[2])) for line in lines if line}


def by_basedpyright() -> set[tuple[str, int]]:
    command = ["-m", "basedpyright", "--outputjson", "--level", "error", "--pythonpath", sys.executable]
    ended = subprocess.run([sys.executable, *command, *map(str, FILES)], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode in (0, 1), ended.stderr or ended.stdout
    problems = json.loads(ended.stdout)["generalDiagnostics"]
    return {(Path(problem["file"]).name, problem["range"]["start"]["line"] + 1) for problem in problems}


@pytest.mark.parametrize("checker", ["mypy", "basedpyright"])
def test_typos_are_found_and_good_code_is_not_blamed(checker: str) -> None:
    if find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")
    result = by_mypy() if checker == "mypy" else by_basedpyright()
    wanted = marked(checker)
    assert result - wanted == set(), "errors that no mark expects"
    assert wanted - result == set(), "marks where no error was found"
    assert all(name.endswith("_bad.py") or name == "client_verbs.py" for name, _ in wanted)
