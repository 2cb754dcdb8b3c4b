"""Blocks of code on all pages: Python compiles, YAML is YAML, and commands have the flags that they are given."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tools.docs import reference
from tools.docs.navigation import DOCS, ROOT

COLUMN = 84
"""The characters of code that fit beside the site's two lists on a screen of 1280 pixels."""
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
_BLOCK = re.compile(r"^( *)```(\w+)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_PROGRAM = re.compile(r"(?:python (?:-m )?[\w./]+|program\.py|\w+\.py)$")


def blocks(language: str) -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for block in _BLOCK.finditer(page.read_text("utf-8")):
            if block[2] == language:
                yield page.relative_to(ROOT).as_posix(), re.sub(rf"^{block[1]}", "", block[3], flags=re.MULTILINE)


def test_every_block_of_python_compiles() -> None:
    seen = 0
    for page, text in blocks("python"):
        try:
            compile(text, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except SyntaxError as error:
            pytest.fail(f"{page}: {error} in\n{text}")
        seen += 1
    assert seen > 100


def test_every_block_of_yaml_is_yaml() -> None:
    seen = 0
    for page, text in blocks("yaml"):
        assert list(yaml.safe_load_all(text)), page
        seen += 1
    assert seen


def test_code_fits_the_column_of_the_site_so_that_nobody_has_to_scroll_sideways() -> None:
    """The output of programs may be wider."""
    wide = [
        f"{page}: {line}"
        for language in ("python", "yaml", "json", "go", "java", "javascript", "rust", "lua", "sh")
        for page, text in blocks(language)
        for line in text.expandtabs(4).splitlines()
        if len(line) > COLUMN
    ]
    assert wide == []


def flags() -> dict[str, set[str]]:
    """The flags of each command, by its words; those of programs under ``program.py``."""
    results: dict[str, set[str]] = {}
    for section in reference.commands().split("\n## ")[1:]:
        title, _, table = section.partition("\n")
        rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
        results[title] = {name for row in rows for name in re.findall(r"`(-[^`]+)`", row)}
    return results


def commands(text: str) -> Iterator[list[str]]:
    """The words of each simple command of a session."""
    for line in text.splitlines():
        if not line.startswith("$ "):
            continue
        for part in re.split(r"\s(?:\||&&|&|;|>>?|2>|#)(?=\s|$)", line[2:]):
            try:
                words = shlex.split(part, comments=True)
            except ValueError:  # a quote that goes on behind the bar
                continue
            while words and re.fullmatch(r"\w+=.*", words[0]):
                words.pop(0)
            if words:
                yield words


def test_commands_of_the_sessions_have_the_flags_that_they_are_given() -> None:
    known = flags()
    seen = 0
    for page, text in blocks("console"):
        for words in commands(text):
            if words[0] == "python" and len(words) > 2:
                words = ["program.py", *words[3 if words[1] == "-m" else 2 :]]
            if words[0] not in ("setpoint", "program.py"):
                continue
            name = next((" ".join(words[:n]) for n in (3, 2) if " ".join(words[:n]) in known), None)
            if name is None:
                continue  # --help and --version, and programs that are not of sp.main
            own = words[: words.index("--")] if "--" in words else words
            given = {word.partition("=")[0] for word in own if re.match(r"--?[a-z]", word)}
            negative = {f"--no-{flag[2:]}" for flag in known[name]}
            unknown = given - known[name] - negative
            assert not unknown, f"{page}: {' '.join(words)}: {name} has no {sorted(unknown)}"
            seen += 1
    assert seen > 30


def test_files_that_pages_name_by_path_are_there() -> None:
    for page in PAGES:
        for name in re.findall(
            r"`((?:examples|tools|tests|src/setpoint|benchmarks)/[\w./-]+\.\w+)`", page.read_text("utf-8")
        ):
            assert Path(ROOT, name).exists(), f"{page.name} names {name}"
