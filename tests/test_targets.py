"""Tests that the everyday suite leaves out are run by the target of the Makefile that their marker names."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MARKERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["markers"]
TARGETS = dict(re.findall(r"^(\w+): .*\(make ([\w-]+)\)$", "\n".join(MARKERS), re.MULTILINE))
"""By marker."""


def recipe(target: str) -> str:
    match = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert match is not None, target
    return match[1]


def folders(target: str, marker: str) -> list[Path]:
    """The folders and files whose tests with a marker a target runs."""
    results: list[Path] = []
    for line in recipe(target).splitlines():
        words = shlex.split(line)
        if "-m" in words and marker in words:
            results += [ROOT / word for word in words[words.index(marker) + 1 :]]
    return results


def test_every_marker_of_the_suite_is_known_to_leave_tests_out_or_not() -> None:
    assert sorted(TARGETS) == ["browser", "generated", "long", "peers", "sessions"]


@pytest.mark.parametrize("marker", sorted(TARGETS))
def test_every_test_that_is_left_out_is_run_by_the_target_of_its_marker(marker: str) -> None:
    marked = [
        file
        for folder in ("tests", "examples")
        for file in (ROOT / folder).rglob("test_*.py")
        if f"mark.{marker}" in file.read_text("utf-8")
    ]
    assert marked
    places = folders(TARGETS[marker], marker)
    forgotten = [str(file.relative_to(ROOT)) for file in marked if not any(file.is_relative_to(p) for p in places)]
    assert forgotten == []
