"""``python tools/words.py [PLACE ...]``: finds sentences that break the rules for words in ``CONTRIBUTING.md``.

It reads the docstrings, comments and messages of Python files, and the text of Markdown pages, and prints a line for
each finding: file, line, rule, the words, and the remedy. The exit status is 1 if there is a finding.

Words in backticks are code and are not checked.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent

NOT_READ = ("src/setpoint/models/", "tests/test_words.py", "tests/typing/cases/", "tools/words.py")
"""Generated text, and examples of findings."""


@dataclass(frozen=True)
class Rule:
    """A pattern of words, and the remedy. ``only`` is a kind of passage to which the rule is limited."""

    name: str
    pattern: re.Pattern[str]
    remedy: str
    only: str = ""


def _rule(name: str, pattern: str, remedy: str, only: str = "") -> Rule:
    return Rule(name, re.compile(pattern), remedy, only)


RULES = (
    _rule(
        "headless",
        r"^(?:Who|Whoever|What|Whatever)\b(?!.*\?$)",
        'give the verb a noun: "a caller that ...", "the server ..."',
    ),
    _rule("headless", r"(?:^|[:;] )whoever\b", 'give the verb a noun: "a caller that ..."'),
    _rule(
        "headless",
        r"\b(?:[Ff]or|to|by|from|with|of|than|and|or|but|as|asks) (?:who|whoever)\b",
        'give the verb a noun: "a caller that ..."',
    ),
    _rule("first-words", r"^(?:Why|Where|How|Which)\b(?!.*\?$)", "begin with a noun or a verb", only="docstring"),
    _rule(
        "is-no",
        r"(?<!here )\b(?:is|are|was|were|be) no (?!longer\b|more\b|less\b|fewer\b|later\b|\w+er than\b)\w+",
        'write "is not a"',
    ),
    _rule("is-none", r"(?<!here )\b(?:is|are|was|were) none\b(?! of)", 'write "is invalid" or "is not a ..."'),
    _rule("somebody", r"\b(?:[Nn]o|[Ss]ome|[Ee]very|[Aa]ny)body\b", "name the client, controller, process or user"),
    _rule("metaphor", r"\b[Gg]ood-?bye\b", "write close_notify, or close"),
    _rule("metaphor", r"\b(?:[Dd]ice|[Dd]ie rolls?)\b", "write random numbers"),
    _rule("metaphor", r"\b[Ss]trangers?\b", "write untrusted input, or another client"),
    _rule("metaphor", r"\b(?:speaks of|spoken of|speak of)\b", "write covers, declares or mentions"),
    _rule("metaphor", r"\b(?:go(?:es)?|went|gone|going) in circles\b", "write hot loop"),
    _rule("metaphor", r"\b[Aa]ppointments?\b(?!-)", "write the time of the next reconcile"),
)

UPSTREAM = ("must be no value when `operator` is",)
"""Words of API servers that are kept verbatim because clients compare them; they are not checked."""

_CODE = re.compile("|".join(map(re.escape, UPSTREAM)) + r"|``.*?``|`[^`\n]*`", re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])[)\"']*\s+(?=[A-Z`])|(?<=:)\s+(?=(?:Who|What)\b)|\n\s*\n|\n\s*(?=[-*] )")


@dataclass(frozen=True)
class Passage:
    """Connected text of a file; ``line`` is its first one."""

    kind: str
    line: int
    text: str


@dataclass(frozen=True)
class Finding:
    """Words that break a rule."""

    file: str
    line: int
    rule: str
    words: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}: {self.words!r}: {self.remedy}"


def python_passages(source: str) -> Iterator[Passage]:
    """The docstrings (also those below attributes), comments and messages of a Python file."""
    tree = ast.parse(source)
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings.add(id(node.value))
            yield Passage("docstring", node.lineno, node.value.value)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in docstrings:
            continue
        if len(node.value.split()) > 2:
            yield Passage("message", node.lineno, node.value)
    yield from _comments(source)


def _comments(source: str) -> Iterator[Passage]:
    """Comments; those of consecutive lines are one passage."""
    first, last, texts = 0, 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line, column = token.start
        whole = not token.line[:column].strip()
        if texts and not (whole and line == last + 1):
            yield Passage("comment", first, "\n".join(texts))
            texts = []
        if not texts:
            first = line
        texts.append(token.string.lstrip("#").strip())
        last = line if whole else -1
    if texts:
        yield Passage("comment", first, "\n".join(texts))


def markdown_passages(source: str) -> Iterator[Passage]:
    """The text of a Markdown page outside of fenced code; each line of a table and each heading is a passage."""
    fenced, first, texts = False, 0, list[str]()
    for number, line in enumerate([*source.splitlines(), ""], 1):
        marker = line.lstrip().startswith("```")
        alone = line.lstrip().startswith(("|", "#"))
        if marker or fenced or alone or not line.strip():
            if texts:
                yield Passage("markdown", first, "\n".join(texts))
                texts = []
            if alone and not fenced:
                yield Passage("markdown", number, line.strip("# |"))
            fenced ^= marker
            continue
        if not texts:
            first = number
        texts.append(line)
    if texts:
        yield Passage("markdown", first, "\n".join(texts))


def check(file: str, source: str) -> Iterator[Finding]:
    """The findings in one file; ``file`` is its name, which tells Python from Markdown."""
    passages = python_passages(source) if file.endswith(".py") else markdown_passages(source)
    for passage in passages:
        text = _CODE.sub(lambda code: "x" * 2 + "\n" * code[0].count("\n"), passage.text)
        start = 0
        for end in [*(match.end() for match in _SENTENCE.finditer(text)), len(text)]:
            sentence = text[start:end]
            begin = len(sentence) - len(sentence.lstrip(" \n-*"))
            words = " ".join(sentence.split()).lstrip("-* ")
            for rule in RULES:
                if rule.only and (rule.only != passage.kind or start > 0):
                    continue
                if found := rule.pattern.search(words):
                    line = passage.line + text.count("\n", 0, start + begin)
                    shown = words[found.start() : found.end() + 40]
                    yield Finding(file, line, rule.name, shown, rule.remedy)
            start = end


def files(places: Iterable[str]) -> list[str]:
    """The Python and Markdown files in these places: those that git does not ignore, or all where git has no copy."""
    places = list(places)
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *places],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    names = listed.stdout.splitlines()
    if listed.returncode:
        found = (path for place in places or ["."] for path in [ROOT / place, *(ROOT / place).rglob("*")])
        names = sorted(str(path.relative_to(ROOT)) for path in found if path.is_file())
    return [name for name in names if name.endswith((".py", ".md")) and not name.startswith(NOT_READ)]


def main(places: list[str]) -> int:
    """Prints the findings in these places, or in the whole project; returns the exit status."""
    reported = 0
    for name in files(places):
        if (ROOT / name).exists():
            for finding in check(name, (ROOT / name).read_text("utf-8")):
                reported += 1
                print(finding)
    return 1 if reported else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
