"""Navigation: the sections of the site and the files of their pages, as ``docs/navigation.toml`` lists them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


GENERATED = "reference/api/"
"""The folder of the pages of the public names, which each build makes."""


@dataclass(frozen=True)
class Section:
    """A part of the navigation: files of pages. Where the first one is an index, the others are below it."""

    title: str
    pages: tuple[Path, ...]

    @property
    def has_index(self) -> bool:
        """True if the first page stands for the section."""
        return self.pages[0].name == "index.md"


def sections() -> list[Section]:
    """The sections in their order.

    Raises:
        SystemExit: a page is listed that does not exist, or is listed twice.
    """
    listed, pages_so_far = list[Section](), set[Path]()
    for table in tomllib.loads((DOCS / "navigation.toml").read_text("utf-8"))["section"]:
        pages = tuple(page for name in table["pages"] for page in _named(name))
        for page in pages:
            if page in pages_so_far or not (page.is_file() or is_generated(page)):
                raise SystemExit(f"docs/navigation.toml: {page.relative_to(ROOT)} is listed twice or does not exist")
            pages_so_far.add(page)
        listed.append(Section(table["title"], pages))
    return listed


def _named(name: str) -> list[Path]:
    if name.endswith("/*"):  # the other pages of a folder, in the order of their names
        return sorted(page for page in (DOCS / name).parent.glob("*.md") if page.name != "index.md")
    return [ROOT / name[1:] if name.startswith("/") else DOCS / name]


def is_generated(page: Path) -> bool:
    """True for a page of the public names."""
    return page.is_relative_to(DOCS / GENERATED)


def unlisted() -> list[Path]:
    """The pages in ``docs/`` that the navigation does not list, except for the first one."""
    listed = {page for section in sections() for page in section.pages} | {DOCS / "index.md"}
    return sorted(set(DOCS.rglob("*.md")) - listed)
