"""``python tools/words.py [PLACE ...]``: finds sentences that break the rules for words in ``CONTRIBUTING.md``.

It reads the docstrings, comments and messages of Python files, and the text of Markdown pages, and prints a line for
each finding: file, line, rule, the words, and the remedy. The exit status is 1 if there is a finding.

Words in backticks are code and are not checked. Of code itself, in ``src``, ``examples`` and ``tools``, the names of
locals, parameters, attributes and functions are checked: a name says what a thing is (``pod``, ``owner``), not how it
came (``found``, ``made``).

``python tools/words.py --messages [PLACE ...]`` prints the messages of ``src`` instead, by package, with file and line:
the texts of exceptions, log records, warnings, conditions and events, of reports and of the command line. They are to
be read as a whole, as a user meets them. The exit status is the same.
"""

from __future__ import annotations

import ast
import gc
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
    _rule("metaphor", r"\b(?:[Tt]he|[Tt]his|[Ee]very|[Aa]nother|[Oo]ther|that) rooms?\b", "write package"),
    _rule("old-words", r"\bto and fro\b", 'write "back and forth"'),
    _rule("old-words", r"\bfor ever\b", 'write "forever"'),
    _rule("old-words", r"\b[Ii]t is awaited\b", 'write "waiting for it to ..."'),
    _rule(
        "old-words",
        r"\b(?:all|same|one|it|that|them) but for\b|, but for (?:one|the|its|their)\b",
        'write "except for"',
    ),
    _rule("old-words", r"\b(?:[Kk]nows?|[Ss]ays?|said) nothing of\b", 'write "does not know", "does not mention"'),
)

NAMED = ("src/", "examples/", "tools/")
"""The places whose names are checked."""


_FLAGS = frozenset(
    {"asked", "begun", "found", "given", "gone", "heard", "held", "kept", "known", "left", "lost", "made", "meant"}
    | {"seen", "sent", "shown", "struck", "taken", "told", "written"}
)
"""The words that are adjectives, too, so that a boolean may have them as its name."""

_CAME = _FLAGS | {"beaten", "came", "did", "died", "each", "got", "led", "one", "ran", "said", "saw", "slept", "spun"}
_CAME |= {"there", "went", "what", "where", "who", "woke", "woken", "wrote"}

UPSTREAM = ("must be no value when `operator` is",)
"""Words of API servers that are kept verbatim because clients compare them; they are not checked."""

_CODE = re.compile("|".join(map(re.escape, UPSTREAM)) + r"|``.*?``|`[^`\n]*`", re.DOTALL)
_PROSE = re.compile(r"[a-z]{2,}[,:;]? [a-z`'\"{%]|[a-z}] [a-z]{2,}")
"""Two words in a row, at least one of them in small letters."""
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


def python_passages(source: str, tree: ast.Module | None = None) -> Iterator[Passage]:
    """The docstrings (also those below attributes), messages and comments of a Python file."""
    yield from _strings(ast.parse(source) if tree is None else tree)
    yield from _comments(source)


def _strings(tree: ast.Module) -> Iterator[Passage]:
    todo: list[tuple[ast.AST, bool]] = [(tree, False)]
    while todo:
        node, is_part = todo.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield Passage("docstring", node.lineno, node.value.value)
            continue
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and not is_part):
            text = _text(node)
            if len(text.split()) > 2:
                yield Passage("message", node.lineno, text)
            is_part = True  # other strings in an f-string are a part of its text, or code
        todo += [(child, is_part) for child in _children(node)]


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """The children of a node; in half the time that `ast.iter_child_nodes` needs."""
    for value in vars(node).values():
        if isinstance(value, ast.AST):
            yield value
        elif type(value) is list:
            yield from (item for item in value if isinstance(item, ast.AST))


def _text(node: ast.AST) -> str:
    """The text of a string; an expression in it is its source in braces."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return ""
    values = (_expression(part) if isinstance(part, ast.FormattedValue) else _text(part) for part in node.values)
    return "".join(values)


def _expression(part: ast.FormattedValue) -> str:
    conversion = "" if part.conversion < 0 else f"!{chr(part.conversion)}"
    return f"{{{ast.unparse(part.value)}{conversion}}}"


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
    if not file.endswith(".py"):
        yield from _findings(file, markdown_passages(source))
        return
    tree = ast.parse(source)
    yield from _findings(file, python_passages(source, tree))
    if file.startswith(NAMED):
        for line, name in came(tree):
            yield Finding(file, line, "name", name, "name what it is (pod, owner, patch), not how it came")


def came(tree: ast.Module) -> list[tuple[int, str]]:
    """The lines and names of locals, parameters, attributes and functions that say how a thing came.

    Booleans are accepted where the word is an adjective: ``known: bool``, ``gone = pod is None``. So are ``left``
    beside ``right``, and the counter ``sent`` beside ``dropped``, as statistics of networks name them.
    """
    return sorted(set(_came(tree)))


_PAIRS = {"left": "right", "sent": "dropped"}

_BINDING = (
    ast.Name, ast.Attribute, ast.arg, ast.FunctionDef, ast.AsyncFunctionDef, ast.MatchAs, ast.MatchStar,
    ast.ExceptHandler, ast.AnnAssign, ast.Assign,
)  # fmt: skip


def _came(scope: ast.AST) -> Iterator[tuple[int, str]]:
    """The findings in a module, class or function, and in those inside of it."""
    bindings, flags, inner = list[tuple[int, str]](), set[str](), list[ast.AST]()
    todo = list(_children(scope))
    while todo:
        node = todo.pop()
        if isinstance(node, _BINDING):
            bindings += _bound(node)
            flags |= _flags(node)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner.append(node)
        else:
            todo += _children(node)
    names = {name for _, name in bindings}
    for line, name in bindings:
        word = name.strip("_")
        if word in _CAME and not (name in flags and word in _FLAGS) and _PAIRS.get(word) not in names:
            yield line, name
    for node in inner:
        yield from _came(node)


def _bound(node: ast.AST) -> Iterator[tuple[int, str]]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            yield node.lineno, name
        case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield node.lineno, name
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.ExceptHandler(name=str(name)):
            yield node.lineno, name
        case _:
            pass


def _flags(node: ast.AST) -> set[str]:
    """The names to which this node gives a boolean."""
    match node:
        case ast.AnnAssign(target=target, annotation=ast.Name(id="bool")):
            targets = [target]
        case ast.arg(arg=name, annotation=ast.Name(id="bool")):
            return {name}
        case ast.FunctionDef(name=name, returns=ast.Name(id="bool")):
            return {name}
        case ast.Assign(targets=targets, value=ast.Compare() | ast.UnaryOp(op=ast.Not()) | ast.Constant(value=bool())):
            pass
        case _:
            return set()
    return {ast.unparse(target).rpartition(".")[2] for target in targets}


def _findings(file: str, passages: Iterable[Passage]) -> Iterator[Finding]:
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
                if match := rule.pattern.search(words):
                    line = passage.line + text.count("\n", 0, start + begin)
                    excerpt = words[match.start() : match.end() + 40]
                    yield Finding(file, line, rule.name, excerpt, rule.remedy)
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


def messages(places: Iterable[str]) -> Iterator[tuple[str, Passage]]:
    """The messages in the files of ``src`` in these places, each with its file. Code in a text is not a message."""
    for name in files(places or ["src"]):
        if name.startswith("src/") and name.endswith(".py") and (ROOT / name).exists():
            for passage in _strings(ast.parse((ROOT / name).read_text("utf-8"))):
                if passage.kind == "message" and _PROSE.search(passage.text):
                    yield name, passage


def main(places: list[str]) -> int:
    """Prints the findings in these places, or in the whole project, or the messages; returns the exit status."""
    if "--messages" in places:
        return _print_messages([place for place in places if place != "--messages"])
    reported = 0
    for name in files(places):
        if (ROOT / name).exists():
            for finding in check(name, (ROOT / name).read_text("utf-8")):
                reported += 1
                print(finding)
    return 1 if reported else 0


def _print_messages(places: list[str]) -> int:
    package, reported = "", list[Finding]()
    for name, passage in messages(places):
        if package != (package := name.split("/")[2].removesuffix(".py")):
            print(f"== {package}")
        print(f"{name}:{passage.line}: {' '.join(passage.text.split())}")
        reported += _findings(name, [passage])
    print(*reported, sep="\n", end="\n" if reported else "")
    return 1 if reported else 0


if __name__ == "__main__":
    gc.disable()  # trees of syntax are large, and have no cycles
    sys.exit(main(sys.argv[1:]))
