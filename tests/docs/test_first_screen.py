"""The first screen of the README and the site: its words are in the glossary, its picture shows the demo of today."""

from __future__ import annotations

import html
import re
import subprocess
import sys

import pytest
from tools.docs import animation
from tools.docs.navigation import DOCS, ROOT

TEXT = re.compile(r'<text class="l [^>]*>(.*?)</text>')
EVENT = re.compile(r"\w+ default/\S+ (Pending|Running|Terminating) node=\S+ ready=\d/\d restarts=\d$")


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_words_that_the_first_pages_explain_are_in_the_glossary(page: str) -> None:
    words = set(re.findall(r"(?<![*\w])\*(\w+)\*(?![*\w])", (ROOT / page).read_text("utf-8")))
    glossary = re.findall(r"^\| ([\w ]+) \|", (DOCS / "glossary.md").read_text("utf-8"), re.MULTILINE)
    assert words
    assert words <= {word.lower() for word in glossary}


def test_pages_that_install_setpoint_say_what_to_do_before_its_first_release() -> None:
    pages = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    texts = {page.relative_to(ROOT).as_posix(): page.read_text("utf-8") for page in pages}
    install = re.compile(r"^\$ .*pip install .*(?<![./\w])'?setpoint(?![\w/])", re.MULTILINE)
    installing = {page: text for page, text in texts.items() if install.search(text)}
    assert installing.keys() >= {"README.md", "docs/init.md", "docs/tutorial/01-a-cluster.md"}
    assert [page for page, text in installing.items() if not re.search(r"Before the\s+first release", text)] == []


def test_the_picture_of_the_demo_shows_the_steps_of_the_demo() -> None:
    """`python -m tools.docs.animation` draws it again."""
    done = subprocess.run([sys.executable, "examples/demo.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    printed = [animation.short(line) for line in done.stdout.splitlines()]
    drawn = [html.unescape(text) for text in TEXT.findall(animation.TARGET.read_text("utf-8"))]

    def steps(lines: list[str]) -> list[str]:
        return [re.sub(r"\d[\d.]*", "N", line) for line in lines if line.startswith("demo:")]

    assert steps(drawn) == steps(printed)
    # Which changes Chronos sees depends on the machine; how it prints them does not.
    for lines in (drawn, printed):
        events = [line.removeprefix("chronos: ") for line in lines if line.startswith("chronos:")]
        assert events
        assert [event for event in events if not EVENT.match(event)] == []
