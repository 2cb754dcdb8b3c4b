"""The site's pages are gathered, named and linked; ``make docs`` runs what needs all of them."""

from __future__ import annotations

import posixpath
import re
import subprocess
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from urllib.parse import unquote

import pytest
from tools.docs import check, machines
from tools.docs.api import pages as pages_of_names
from tools.docs.navigation import ROOT, unlisted
from tools.docs.pages import Pages, linked, links


@pytest.fixture(scope="module")
def pages() -> Pages:
    return Pages(pages_of_names())


@pytest.mark.sessions
def test_the_navigation_has_every_page() -> None:
    assert unlisted() == []


@pytest.mark.sessions
def test_another_page_links_to_each_page(pages: Pages) -> None:
    assert list(check.lonely(pages)) == []


@pytest.mark.sessions
def test_every_link_leads_to_a_page_and_every_diagram_has_its_picture(pages: Pages) -> None:
    shown = pages.for_generator()
    there = {*pages.plain, *pages.files}
    for place, text in pages.plain.items():
        for target in links(text):
            path = target.partition("#")[0]
            if path and not path.startswith(("https:", "http:", "mailto:")):
                other = posixpath.normpath(posixpath.join(posixpath.dirname(place), path))
                assert other in there, f"{place} links to {target}"
    assert not any("```mermaid" in text for text in shown.values())


@pytest.mark.sessions
def test_a_page_of_names_has_the_docstring_and_the_errors_of_each(pages: Pages) -> None:
    page = pages.plain["reference/api/controller.md"]
    section = page.split("\n## after\n")[1].split("\n## ")[0]
    assert "after(seconds: float, reason: str = '') -> Outcome" in section
    assert "* `ValueError`: ``seconds`` is negative or not finite." in section


@pytest.mark.sessions
def test_machines_find_every_page_in_llms_txt(pages: Pages) -> None:
    text = machines.llms(pages)
    assert text.startswith("# setpoint\n\n> setpoint is the framework for Kubernetes controllers in Python")
    for place in pages.plain.keys() - {"index.md"}:
        assert f"]({place})" in text


def test_every_link_leads_to_a_file_of_the_repository() -> None:
    """Readers of the repository have no site, so no page may link to what only a build makes."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = {*listed.split("\0")} - {""}
    there = files | {str(parent) for file in files for parent in PurePosixPath(file).parents}
    dead = []
    for page in sorted(file for file in files if file.endswith(".md")):
        folder = (
            "" if page.startswith("changelog.d/") and page != "changelog.d/README.md" else posixpath.dirname(page)
        )  # they go into the changelog
        for target in links((ROOT / page).read_text("utf-8")):
            path = unquote(target.partition("#")[0])
            if path and not re.match("[a-z]+:", path):
                other = posixpath.normpath(posixpath.join(folder, path))
                if other not in there:
                    dead.append(f"{page}: {target}")
    assert dead == []


def test_links_in_code_are_left_alone() -> None:
    text = "[a](b.md) `[c](d.md)` [`e`](f.md)\n\n```python\n[g](h.md)\n```\n"
    assert links(text) == ["b.md", "f.md"]
    changed = linked(text, lambda target: target.replace(".md", ".html"))
    assert changed == text.replace("b.md", "b.html").replace("f.md", "f.html")


def test_a_fault_of_the_site_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="b.html">gone</a> <a href="#nowhere">gone</a> <a href="#top">here</a>'
        '<script src="https://cdn.example.com/x.js"></script>'
    )
    (tmp_path / "x.css").write_text("@import url(https://fonts.example.com/css)")
    (tmp_path / "searchindex.js").write_text('Search.setIndex({"docnames": [], "terms": {}, "titleterms": {}})')
    pages = SimpleNamespace(plain={"index.md": "[a](a.md)", "a.md": "", "b.md": "[b](b.md)"})
    findings = list(check.findings(tmp_path, pages))
    assert [finding for finding in findings if not finding.startswith("search")] == [
        "a.html: loads https://cdn.example.com/x.js from the network",
        "a.html: links to b.html, which does not exist",
        "a.html: links to #nowhere: the page has no such anchor",
        "x.css: loads from the network",
        "b.md: no other page links to it",
    ]
    assert len([finding for finding in findings if finding.startswith("search")]) == len(check.SEARCHED)
