"""The tutorial can be followed: its files pass their tests, and its commands print what it says."""

from __future__ import annotations

import importlib
import inspect
import itertools
import sys
from pathlib import Path

import pytest
from tools.docs.sessions import TUTORIAL, File, follow, steps

CHAPTERS = 10


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A directory with the files of all chapters, in their last form; the commands of chapter 9 change some of them."""
    for page in TUTORIAL:
        for step in steps(page.read_text("utf-8")):
            if isinstance(step, File):
                (tmp_path / step.name).write_text(step.text)
            elif step.text.startswith("sed -i "):
                _, changes, *names = step.text.removeprefix("sed -i ").split("'")
                for name in names[0].split():
                    text = (tmp_path / name).read_text()
                    for change in changes.split("; "):
                        _, old, new, _ = change.split("/")
                        text = text.replace(old.replace("\\.", "."), new)
                    (tmp_path / name).write_text(text)
    return tmp_path


def test_the_tutorial_has_its_chapters_and_each_leads_to_the_next() -> None:
    assert len(TUTORIAL) == CHAPTERS
    for page, following in itertools.pairwise(TUTORIAL):
        assert f"]({following.name})" in page.read_text("utf-8")


def test_the_operator_of_the_last_chapter_passes_the_tests_of_all(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(files))
    names = [file.stem for file in files.glob("*.py")]
    for name in names:  # a module of an example may have the name of one here
        monkeypatch.delitem(sys.modules, name, raising=False)
    passed = 0
    try:
        for name in sorted(name for name in names if name.startswith("test_")):
            for test, function in inspect.getmembers(importlib.import_module(name), inspect.isfunction):
                if test.startswith("test_"):
                    function()
                    passed += 1
    finally:
        for name in names:
            sys.modules.pop(name, None)
    assert passed == 16


@pytest.mark.sessions
def test_every_command_of_the_tutorial_prints_what_it_says(tmp_path: Path) -> None:
    assert follow(TUTORIAL, tmp_path) == []


@pytest.mark.generated
def test_the_tutorial_can_be_followed_in_an_environment_that_has_nothing_else(tmp_path: Path) -> None:
    assert follow(TUTORIAL, tmp_path, fresh=True) == []
