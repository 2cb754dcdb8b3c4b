"""Pages: the Markdown of the site, gathered from ``docs/``, the root of the project and the docstrings.

A page is plain Markdown that GitHub shows as well. Links lead to files of the project; a linked file that is not a page
of ``docs/`` becomes one, sources as blocks of code. The tables of contents, which only the generator needs, are added
to copies of the pages, so that the plain ones can be published for machines.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

from tools.docs.navigation import DOCS, GENERATED, ROOT, is_generated, sections

_LINK_OR_CODE = re.compile(
    r"^(?P<fence>```+|~~~+).*?^(?P=fence)`*[ ]*$|`[^`\n]+`"
    r"|(?P<open>!?\[[^\]\n]*(?:\n[^\]\n]*)?\]\()(?P<target>[^)\s]+)\)",
    re.MULTILINE | re.DOTALL,
)
"""Blocks of code, code in a line, or a link: the one that begins first."""
_MERMAID = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LANGUAGES = {".py": "python", ".yaml": "yaml", ".toml": "toml", ".txt": "text", ".md": "markdown"}


def linked(text: str, change: Callable[[str], str]) -> str:
    """The Markdown with another target for each link; code is left alone."""

    def changed(match: re.Match[str]) -> str:
        return match[0] if match["target"] is None else f"{match['open']}{change(match['target'])})"

    return _LINK_OR_CODE.sub(changed, text)


def links(text: str) -> list[str]:
    """The targets of the links of a page, in their order."""
    return [match["target"] for match in _LINK_OR_CODE.finditer(text) if match["target"] is not None]


class Pages:
    """The pages of one build: ``plain`` is the Markdown of each, by its place in the site."""

    def __init__(self, generated: dict[str, str]) -> None:
        self.sections = sections()
        self.plain: dict[str, str] = {}
        self.files: dict[str, Path] = {}
        """Pictures and other files, by their place in the site."""
        self.listed: set[str] = set()
        """Sources that became pages because a page links to them: they are in no section."""
        self._add(DOCS / "index.md")
        for section in self.sections:
            for page in section.pages:
                if not is_generated(page):
                    self._add(page)
        self.plain |= generated

    @staticmethod
    def place(file: Path) -> str:
        """The place of a file's page in the site."""
        if file.is_relative_to(DOCS):
            name = file.relative_to(DOCS).as_posix()
        elif file.parent == ROOT:
            name = f"project/{file.name.lower()}"
        else:
            name = f"project/{file.relative_to(ROOT).as_posix()}"
        return name if name.endswith(".md") else f"{name}.md"

    def _add(self, file: Path) -> None:
        place = self.place(file)
        if place in self.plain:
            return
        name = file.relative_to(ROOT).as_posix()
        if file.is_dir():
            self.listed.add(place)
            inside = sorted(example for example in file.iterdir() if example.suffix in (".py", ".md", ".yaml"))
            self.plain[place] = f"# {name}\n\n" + "".join(
                f"* [{example.name}]({self._target(file / 'x', place, example.name)})\n" for example in inside
            )
            return
        text = file.read_text("utf-8")
        if file.suffix != ".md":
            self.listed.add(place)
            self.plain[place] = f"# {name}\n\n````{_LANGUAGES.get(file.suffix, 'text')}\n{text.rstrip()}\n````\n"
            return
        self.plain[place] = ""  # a page that links back must not be added again
        self.plain[place] = linked(text, lambda target: self._target(file, place, target))

    def _target(self, file: Path, place: str, link: str) -> str:
        """The target of a link in a file's page, after the linked file has become a page."""
        target, _, anchor = link.partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return link
        other = (file.parent / target).resolve()
        if (other / "README.md").is_file():
            other = other / "README.md"
        if not other.exists() and not is_generated(other):
            raise SystemExit(f"{file.relative_to(ROOT)}: no such file: {link}")
        if other.suffix in (".svg", ".png"):
            name = other.relative_to(DOCS).as_posix()
            self.files[name] = other
        else:
            if not is_generated(other):
                self._add(other)
            name = self.place(other)
        return "../" * place.count("/") + name + (f"#{anchor}" if anchor else "")

    def for_generator(self) -> dict[str, str]:
        """The pages with pictures for diagrams, and with tables of contents."""
        pages = {place: self._drawn(place, text) for place, text in self.plain.items()}
        for section in self.sections:
            places = [self.place(page) for page in section.pages]
            if section.has_index:
                pages["index.md"] += _contents(places[:1])
                pages[places[0]] += _contents(places[1:])
            else:
                pages["index.md"] += _contents(places, section.title)
        of_names = sorted(place for place in pages if place.startswith(GENERATED))
        index = f"{GENERATED}index.md"
        pages[index] += _contents([place for place in of_names if place != index])
        for place in self.listed:
            pages[place] = f"---\norphan: true\nnosearch: true\n---\n\n{pages[place]}"
        return pages

    def _drawn(self, place: str, text: str) -> str:
        """The page with pictures in place of its diagrams."""

        def picture(match: re.Match[str]) -> str:
            name = f"pictures/{digest(match[1])}.svg"
            if not (DOCS / name).is_file():
                raise SystemExit(f"{place}: a diagram has no picture docs/{name}: run python -m tools.docs.diagrams")
            self.files[name] = DOCS / name
            return f"![diagram]({'../' * place.count('/')}{name})"

        return _MERMAID.sub(picture, text)


def digest(diagram: str) -> str:
    """The name of a diagram's picture: it changes with the diagram."""
    return hashlib.sha256(diagram.encode()).hexdigest()[:12]


def _contents(places: list[str], title: str = "") -> str:
    """A table of contents for the generator, which shows it in the navigation only."""
    lines = "\n".join(f"/{place.removesuffix('.md')}" for place in places)
    caption = f":caption: {title}\n" if title else ""
    return f"\n```{{toctree}}\n:hidden:\n{caption}\n{lines}\n```\n"
