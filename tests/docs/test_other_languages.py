"""The blocks of Go and Java on the pages for people who come from elsewhere compile, in their surroundings of
``languages/``: they are what a reader knows, so they must be right.

The libraries come from registries: ``make test-peers``.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.toolchains import fetched, needs, run_offline
from tools.docs.navigation import DOCS

pytestmark = pytest.mark.peers
LANGUAGES = Path(__file__).parent / "languages"
PAGES = DOCS / "coming-from"
FRAMES = {
    ("client-go", "go"): "go/client-go.go",
    ("controller-runtime", "go"): "go/controller-runtime.go",
    ("java-operator-sdk", "java"): "java/src/main/java/NoteReconciler.java",
}


def blocks(page: Path) -> dict[str, str]:
    """The blocks of a page by their language; none has two of one language that is not Python."""
    matches = re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    others = [(language, text) for language, text in matches if language != "python"]
    assert len({language for language, _ in others}) == len(others), page.name
    return dict(others)


def framed(language: str, request: pytest.FixtureRequest) -> Path:
    """A folder that outlives the run, with the surroundings of a language and the pages' blocks in them."""
    folder = Path(request.config.cache.mkdir("languages")) / language
    shutil.copytree(LANGUAGES / language, folder, dirs_exist_ok=True)
    for (page, kind), frame in FRAMES.items():
        if frame.startswith(f"{language}/"):
            text = (LANGUAGES / frame).read_text("utf-8")
            (line,) = re.findall(r"^([ \t]*)// PAGE\n", text, re.MULTILINE)
            block = re.sub(r"^(?=.)", line, blocks(PAGES / f"{page}.md")[kind], flags=re.MULTILINE)
            (folder / frame.removeprefix(f"{language}/")).write_text(text.replace(f"{line}// PAGE\n", block), "utf-8")
    return folder


def test_every_block_of_go_and_java_has_its_surroundings() -> None:
    result = {(page.stem, language) for page in PAGES.glob("*.md") for language in blocks(page)}
    assert {item for item in result if item[1] in ("go", "java")} == {*FRAMES}


def test_the_blocks_of_go_are_formatted_and_compile(request: pytest.FixtureRequest) -> None:
    needs("go", "gofmt")
    folder = framed("go", request)
    assert run_offline(["gofmt", "-l", "."], folder) == ""
    fetched(["go", "mod", "download"], folder)
    run_offline(["go", "vet", "./..."], folder)


def test_the_block_of_java_compiles_without_a_warning(request: pytest.FixtureRequest) -> None:
    needs("javac", "mvn")
    folder = framed("java", request)
    fetched(["mvn", "-q", "-B", "dependency:go-offline"], folder)
    run_offline(["mvn", "-q", "-B", "compile"], folder)
