"""Releases: the tag, the version and the changelog agree, and the workflows can be read."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from tools.release_check import fragments, problems

ROOT = Path(__file__).parents[1]
TYPES = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]["type"]


@pytest.mark.parametrize(
    ("tag", "changelog", "messages"),
    [
        ("v1.2.3", "# Changelog\n\n## 1.2.3\n", []),
        ("v1.2.3", "## [1.2.3] - 2026-11-22\n", []),
        ("1.2.3", "## 1.2.3\n", ["the tag is 1.2.3"]),
        ("v1.2.4", "## Unreleased\n", ["the tag is v1.2.4", "no heading ## 1.2.3"]),
    ],
)
def test_a_release_whose_tag_version_and_changelog_differ_is_refused(
    tag: str, changelog: str, messages: list[str]
) -> None:
    current_problems = problems(tag, "1.2.3", changelog)
    assert len(current_problems) == len(messages)
    assert all(words in problem for words, problem in zip(messages, current_problems, strict=True))


def test_a_release_that_leaves_changes_out_of_its_changelog_is_refused() -> None:
    (message,) = problems("v1.2.3", "1.2.3", "## 1.2.3 - 2026-11-22\n", ["scale.fixed.md"])
    assert "scale.fixed.md" in message


def towncrier(root: Path, *words: str) -> str:
    """The output of ``towncrier build`` in a project."""
    command = [sys.executable, "-m", "towncrier", "build", "--version", "1.2.3", "--date", "2026-11-22", *words]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout


def test_every_change_in_changelog_d_is_in_the_draft_as_it_is_written_below_the_heading_of_its_type() -> None:
    pytest.importorskip("towncrier", reason="towncrier is in the group `test`")
    draft = towncrier(ROOT, "--draft")
    assert draft.startswith("## 1.2.3 - 2026-11-22\n")
    below = dict(part.split("\n\n", 1) for part in re.split(r"^### ", draft, flags=re.MULTILINE)[1:])
    names = {one_type["directory"]: one_type["name"] for one_type in TYPES}
    for path in (ROOT / "changelog.d").iterdir():
        if path.name in ("README.md", "template.jinja"):
            continue
        assert path in fragments(), f"{path.name} is not named NAME.TYPE.md"
        text = path.read_text("utf-8")
        assert re.fullmatch(r"(- \S.*\n(  +\S.*\n)*)+", text), f"{path.name} is not a list of `- ` items"
        assert text in below[names[path.name.split(".")[-2]]]


def test_a_release_puts_its_changes_above_the_last_one_and_removes_their_files(tmp_path: Path) -> None:
    pytest.importorskip("towncrier", reason="towncrier is in the group `test`")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    before, marker, _ = (ROOT / "CHANGELOG.md").read_text().partition("<!-- towncrier release notes start -->\n")
    last = "## 1.2.2 - 2026-10-01\n\n### Fixed\n\n- An old thing.\n"
    (tmp_path / "CHANGELOG.md").write_text(f"{before}{marker}\n{last}")
    folder = tmp_path / "changelog.d"
    folder.mkdir()
    for name in ("template.jinja", "README.md"):
        shutil.copy(ROOT / "changelog.d" / name, folder)
    (folder / "b.fixed.md").write_text("- `b` [works](docs/b.md),\n  in two lines.\n- And b2 & <c>.\n")
    (folder / "a.fixed.md").write_text("- a\n")
    (folder / "z.added.md").write_text("- z\n")
    towncrier(tmp_path, "--yes")
    assert (tmp_path / "CHANGELOG.md").read_text() == (
        f"{before}{marker}\n## 1.2.3 - 2026-11-22\n\n### Added\n\n- z\n\n"
        f"### Fixed\n\n- a\n- `b` [works](docs/b.md),\n  in two lines.\n- And b2 & <c>.\n\n{last}"
    )
    assert fragments(tmp_path) == []
    (folder / "misspelt.fixt.md").write_text("- x\n")
    with pytest.raises(subprocess.CalledProcessError):
        towncrier(tmp_path, "--draft")


def test_ci_tests_every_python_that_the_package_says_it_supports() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yaml").read_text())
    tested = workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    parts = [classifier.rpartition(" ")[2] for classifier in project["classifiers"] if "Python :: 3." in classifier]
    assert tested[: len(parts)] == parts
    assert project["requires-python"] == f">={tested[0]}"


def test_no_workflow_may_write_but_the_one_that_publishes() -> None:
    for path in (ROOT / ".github/workflows").glob("*.yaml"):
        workflow = yaml.safe_load(path.read_text())
        assert workflow["permissions"] == {"contents": "read"}
        for name, job in workflow["jobs"].items():
            writes = [right for right, level in job.get("permissions", {}).items() if level == "write"]
            assert not writes or (path.name, name) == ("publish.yaml", "publish")
