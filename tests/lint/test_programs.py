"""``setpoint lint`` on programs: no false alarm on those that are right, and its output."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest
from tests.simulation.corpus import PAIRS

from setpoint.cli.main import app
from setpoint.lint import lint

ROOT = Path(__file__).parents[2]


def mistakes(folder: Path) -> list[str]:
    return [
        f"{file.name}:{mistake.line}: {rule}"
        for file in sorted(folder.rglob("*.py"))
        for rule, mistake in lint(file.read_text(), file)
    ]


@pytest.mark.parametrize("folder", ["examples", "src/setpoint/cluster"])
def test_the_examples_and_the_control_plane_have_no_mistake(folder: str) -> None:
    assert mistakes(ROOT / folder) == []


def test_no_twin_of_the_corpus_is_accused() -> None:
    correct: set[tuple[str, int]] = set()
    for pair in PAIRS:
        for controller in pair.correct():
            function = inspect.unwrap(controller.reconcile)
            if inspect.isfunction(function):
                lines, first = inspect.getsourcelines(function)
                correct |= {(Path(inspect.getfile(function)).name, first + line) for line in range(len(lines))}
    accused = {
        (file.name, mistake.line)
        for file in (ROOT / "tests/simulation/corpus").glob("*.py")
        for _, mistake in lint(file.read_text(), file)
    }
    assert accused, "the corpus has a program whose mistake is seen without a run"
    assert not accused & correct


WRONG = """\
import setpoint as sp

async def reconcile(pot, ctx: sp.Context):
    pot.status.seen = ctx.now()
"""


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        app(["lint", *words])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_mistakes_are_printed_with_their_places(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pots.py").write_text(WRONG)
    Path(".venv").mkdir()
    Path(".venv/other.py").write_text(WRONG)
    assert run() == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("pots.py:4:5: status-time: the status contains the time of every reconcile")
    assert printed.err == "1 file checked, mistakes: 1\n"
    assert run("-o", "json") == 1
    (problem,) = json.loads(capsys.readouterr().out)
    assert (problem["rule"], problem["line"], problem["prevents"]) == ("status-time", 4, "quiet")
    assert run("-o", "sarif") == 1
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    region = {"startLine": 4, "startColumn": 5}
    place = {"artifactLocation": {"uri": "pots.py"}, "region": region}
    assert result["locations"] == [{"physicalLocation": place}]
    Path("pots.py").write_text("x = 1\n")
    assert run() == 0


@pytest.mark.parametrize(
    ("words", "content", "message"),
    [
        (["none.py"], "", "none.py: No such file or directory"),
        (["."], "def", "a.py: not a Python file: invalid syntax"),
        (["empty"], "", "the named files and folders contain no Python file"),
    ],
)
def test_what_can_not_be_read_is_named(
    words: list[str], content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(content)
    Path("empty").mkdir()
    assert run(*words) == 2
    assert f"setpoint lint: {message}" in capsys.readouterr().err
