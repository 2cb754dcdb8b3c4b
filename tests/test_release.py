"""Releases: the tag, the version and the changelog agree, and the workflows can be read."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import yaml
from tools.release_check import problems

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("tag", "changelog", "said"),
    [
        ("v1.2.3", "# Changelog\n\n## 1.2.3\n", []),
        ("v1.2.3", "## [1.2.3] - 2026-11-22\n", []),
        ("1.2.3", "## 1.2.3\n", ["the tag is 1.2.3"]),
        ("v1.2.4", "## Unreleased\n", ["the tag is v1.2.4", "no heading ## 1.2.3"]),
    ],
)
def test_a_release_whose_tag_version_and_changelog_differ_is_refused(tag: str, changelog: str, said: list[str]) -> None:
    found = problems(tag, "1.2.3", changelog)
    assert len(found) == len(said)
    assert all(words in problem for words, problem in zip(said, found, strict=True))


def test_ci_tests_every_python_that_the_package_says_it_supports() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yaml").read_text())
    tested = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    said = [each.rpartition(" ")[2] for each in project["classifiers"] if "Python :: 3." in each]
    assert tested == said
    assert project["requires-python"] == f">={tested[0]}"


def test_no_workflow_may_write_but_the_one_that_publishes() -> None:
    for path in (ROOT / ".github/workflows").glob("*.yaml"):
        workflow = yaml.safe_load(path.read_text())
        assert workflow["permissions"] == {"contents": "read"}
        for name, job in workflow["jobs"].items():
            writes = [right for right, level in job.get("permissions", {}).items() if level == "write"]
            assert not writes or (path.name, name) == ("publish.yaml", "publish")
