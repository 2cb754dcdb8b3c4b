"""The rules for words that lint keeps (``tools/words.py``): the sentences that it finds, and those that it accepts."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools import words


def rules(file: str, source: str) -> list[tuple[int, str]]:
    return [(finding.line, finding.rule) for finding in words.check(file, source)]


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("Who knows.", "headless"),
        ("A wait. Whoever waits is cancelled.", "headless"),
        ("What a call costs.", "headless"),
        ("A wait: whoever is cancelled ends it.", "headless"),
        ("A shortcut for who seldom looks at the old head.", "headless"),
        ("It is no error.", "is-no"),
        ("A value that is none.", "is-none"),
        ("Nobody waits.", "somebody"),
        ("An object that somebody else changed.", "somebody"),
        ("The connection says good-bye.", "metaphor"),
        ("A run whose dice repeat.", "metaphor"),
        ("Regular expressions of strangers.", "metaphor"),
        ("A field that no conversion speaks of.", "metaphor"),
        ("A key that went in circles.", "metaphor"),
        ("Its last reconcile made an appointment.", "metaphor"),
    ],
)
def test_a_sentence_that_breaks_the_rule_is_found_wherever_it_stands(sentence: str, rule: str) -> None:
    assert rules("a.py", f'"""{sentence}"""\n') == [(1, rule)]
    assert rules("a.py", f"x = 1  # {sentence}\n") == [(1, rule)]
    assert rules("a.py", f'raise ValueError("an error. {sentence}")\n') == [(1, rule)]
    assert rules("a.md", f"# Title\n\n* {sentence}\n") == [(3, rule)]
    assert rules("a.md", f"| cell |\n|---|\n| {sentence} |\n") == [(3, rule)]


@pytest.mark.parametrize(
    "sentence",
    [
        "There is no error.",
        "There is none.",
        "The watch is no longer open.",
        "A key is no larger than its object.",
        "Who may ask?",
        "The server knows who asks.",
        "The user `nobody` runs it, for ``who`` is a word of the code.",
        "A missing object is not an error.",
    ],
)
def test_a_sentence_that_keeps_the_rule_is_accepted(sentence: str) -> None:
    assert rules("a.py", f'"""{sentence}"""\n') == []
    assert rules("a.md", f"{sentence}\n") == []


def test_only_the_first_words_of_a_docstring_must_be_a_noun_or_a_verb() -> None:
    assert rules("a.py", '"""Why it failed."""\n') == [(1, "first-words")]
    assert rules("a.py", '"""The reason.\n\nHow it is found: by search.\n"""\n') == []
    assert rules("a.py", "# Why: speed\nx = 1\n") == []


def test_the_line_of_a_finding_is_that_of_its_sentence() -> None:
    source = 'def f():\n    """A list.\n\n    Nothing here. It is\n    long.\n\n    Whoever waits, waits.\n    """\n'
    assert rules("a.py", source) == [(7, "headless")]
    assert rules("a.py", "# One line.\n# Another one is\n# kept by nobody.\n") == [(2, "somebody")]
    assert rules("a.py", 'class A:\n    x = 1\n    """What x is."""\n') == [(3, "headless")]


@pytest.mark.parametrize(
    "code",
    [
        "for each in pods:\n    pass",
        "found = pods[0]",
        "def f(known: list[str]): ...",
        "def f(*given): ...",
        "class A:\n    told: str = ''",
        "class A:\n    def wrote(self) -> bool: ...",
        "self._seen = {}",
        "if made := f(): ...",
        "[left for left in f()]",
        "def f():\n    def g(x, *, kept=()): ...",
        "match x:\n    case [*there]: ...",
        "each: bool = True",
        "where = f'{path}[0]'",
        "for one, other in pairs: ...",
        "class A:\n    who: str\n    sent: bytes",
    ],
)
def test_a_name_that_says_how_a_thing_came_is_found(code: str) -> None:
    places = [file for file in ("src/a.py", "tests/a.py") if rules(file, f"{code}\n")]
    assert places == ["src/a.py"]
    assert {rule for _, rule in rules("src/a.py", f"{code}\n")} == {"name"}


@pytest.mark.parametrize(
    "code",
    [
        "def f(known: bool): ...",
        "gone = pod is None",
        "found = False",
        "self._closed = True",
        "class A:\n    taken: bool = False",
        "def f(*, sent: bool): ...",
        "class A:\n    def gone(self) -> bool: ...",
        "def f(left, right): ...",
        "sent, dropped = 1, 0",
        "f(found=1)",
        "print(found)",
        "found_pods = 1",
    ],
)
def test_a_boolean_that_is_an_adjective_and_other_projects_names_are_accepted(code: str) -> None:
    assert rules("src/a.py", f"{code}\n") == []


def test_code_is_not_read() -> None:
    assert rules("a.md", "```python\n# nobody\n```\n\n`nobody` and ``is no``\n") == []
    assert rules("a.py", "nobody = 'nobody'\n") == []


def test_findings_anywhere_in_the_project_are_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name, text in {"clean/a.md": "A page.", "unclean/a.md": "What it costs."}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text + "\n")
    monkeypatch.setattr(words, "ROOT", tmp_path)
    monkeypatch.setattr(words, "files", lambda places: ["clean/a.md", "gone/a.md"])
    assert words.main([]) == 0
    monkeypatch.setattr(words, "files", lambda places: ["clean/a.md", "unclean/a.md"])
    assert words.main([]) == 1
    assert capsys.readouterr().out.startswith("unclean/a.md:1: headless: ")


def test_a_place_that_is_named_is_read() -> None:
    assert words.main(["src/setpoint/concurrency"]) == 0


def test_messages_are_printed_by_package_with_file_and_line(capsys: pytest.CaptureFixture[str]) -> None:
    words.main(["--messages", "src/setpoint/workqueue", "src/setpoint/serving"])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("==")] == ["== serving", "== workqueue"]
    texts = [
        text
        for line in lines
        if line.startswith("src/setpoint/workqueue/queue.py:")
        for text in [line.split(": ", 1)[1]]
    ]
    assert "queue {self.name!r} is shut down" in texts


def test_no_message_breaks_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert words.main(["--messages", "src"]) == 0
    printed = {line[3:] for line in capsys.readouterr().out.splitlines() if line.startswith("==")}
    assert printed >= {path.name for path in Path("src/setpoint").iterdir() if path.is_dir()} - {
        "__pycache__",
        "models",
    }


def test_the_text_of_an_f_string_is_one_message() -> None:
    source = 'raise ValueError(f"the {name!r} is no" f" error {1 + 1}")\n'
    assert [passage.text for passage in words.python_passages(source)] == ["the {name!r} is no error {1 + 1}"]
    assert rules("a.py", source) == [(1, "is-no")]


def test_the_glossary_has_at_most_twenty_words_with_a_sentence_each() -> None:
    page = (words.ROOT / "docs" / "glossary.md").read_text("utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("|")][2:]
    assert 0 < len(rows) <= 20
    assert [word for word, meaning in rows if meaning.count(".") != 1 or not meaning.endswith(".")] == []
