"""Check: finds broken links, missing anchors, lonely pages and loads from other sites, in a built site.

It reads the HTML that readers get, whatever made it, and needs no network: addresses of other sites are not asked.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tools.docs.navigation import GENERATED
from tools.docs.pages import Pages, links

_LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
_ELSEWHERE = re.compile(r"@import|url\(\s*[\"']?(?:https?:)?//")
OWN = {"search.html", "genindex.html", "404.html"}
"""Pages that the generator makes by itself."""
SEARCHED = {"informer": "concepts", "finalizer": "concepts", "settle": "reference/api/testing"}
"""Words that a search has to find, and a page where it finds them."""


class _Html(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.headings = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if "id" in attributes:
            self.anchors.add(attributes["id"])
        self.headings += tag == "h1"
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        if (name := _LOADED.get(tag)) and name in attributes:
            self.loaded.append(attributes[name])


def findings(site: Path, pages: Pages) -> Iterator[str]:
    """A line for each fault of the site."""
    parsed = {}
    for file in sorted(site.rglob("*.html")):
        parser = _Html()
        parser.feed(file.read_text("utf-8"))
        parsed[file] = parser
    for file, parser in parsed.items():
        name = file.relative_to(site).as_posix()
        if name not in OWN and parser.headings != 1:
            yield f"{name}: has {parser.headings} first headings"
        for target in parser.loaded:
            if urlsplit(target).netloc:
                yield f"{name}: loads {target} from the network"
            elif not target.startswith("data:") and (fault := _fault(site, file, target, {})):
                yield f"{name}: {fault}"
        for target in parser.links:
            if not urlsplit(target).scheme and (fault := _fault(site, file, target, parsed)):
                yield f"{name}: {fault}"
    for style in site.rglob("*.css"):
        if _ELSEWHERE.search(style.read_text("utf-8")):
            yield f"{style.relative_to(site)}: loads from the network"
    yield from lonely(pages)
    yield from _not_found(site)


def _fault(site: Path, file: Path, target: str, parsed: dict[Path, _Html]) -> str | None:
    parts = urlsplit(target)
    if parts.netloc:
        return None
    linked = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    if not linked.is_relative_to(site.resolve()) or not linked.is_file():
        return f"links to {target}, which does not exist"
    anchor = unquote(parts.fragment)
    if anchor and linked in parsed and anchor not in parsed[linked].anchors:
        return f"links to {target}: the page has no such anchor"
    return None


def lonely(pages: Pages) -> Iterator[str]:
    """Pages that no text of another page links to; the navigation does not count. The pages of the public names, which
    the repository does not have, are reached by the navigation alone.
    """
    linked = set()
    for place, text in pages.plain.items():
        for target in links(text):
            path = target.partition("#")[0]
            if path and not re.match(r"[a-z]+:", path):
                other = posixpath.normpath(posixpath.join(posixpath.dirname(place), path))
                if other != place:
                    linked.add(other)
    own_pages = {place for place in pages.plain if not place.startswith(GENERATED)}
    for place in sorted(own_pages - linked - {"index.md"}):
        yield f"{place}: no other page links to it"


def _not_found(site: Path) -> Iterator[str]:
    """Words that the index of the search should have and does not."""
    index = (site / "searchindex.js").read_text("utf-8")
    document = json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))
    for word, page in SEARCHED.items():
        hits = set[str]()
        for terms in (document["terms"], document["titleterms"]):
            for stem, pages in terms.items():  # a stem is a part of the word, at least four letters of it
                if word.startswith(stem) and len(stem) >= 4:
                    hits |= {document["docnames"][number] for number in (pages if isinstance(pages, list) else [pages])}
        if page not in hits:
            yield f"search: {word!r} does not lead to {page}"
