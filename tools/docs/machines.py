"""For machines: ``llms.txt``, the list of the pages as plain Markdown, by the convention of llmstxt.org."""

from __future__ import annotations

import re

from tools.docs.pages import Pages


def llms(pages: Pages) -> str:
    """The list: sections as in the navigation, with the first sentence of each page."""
    lines = ["# setpoint", "", f"> {summary(pages.plain['index.md'])}", ""]
    listed = set()
    for section in pages.sections:
        lines += [f"## {section.title}", ""]
        for page in section.pages:
            place = pages.place(page)
            listed.add(place)
            lines.append(_line(place, pages.plain[place]))
        lines.append("")
    lines += ["## Optional", ""]
    lines += [_line(place, text) for place, text in sorted(pages.plain.items()) if place not in listed | {"index.md"}]
    return "\n".join(lines) + "\n"


def _line(place: str, text: str) -> str:
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    description = summary(text)
    return f"- [{title[1] if title else place}]({place})" + (f": {description}" if description else "")


def summary(text: str) -> str:
    """The first sentence of the first paragraph, without markup. A question in italics is one."""
    for paragraph in re.split(r"\n\s*\n", text):
        question = re.fullmatch(r"\*([^*]+)\*", paragraph.strip())
        if question or not paragraph.startswith(("#", "`", "|", "<", "---", "*", "-", "(")):
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join((question[1] if question else paragraph).split()))
            return re.split(r"(?<=[.!?])\s", plain.replace("**", ""), maxsplit=1)[0]
    return ""
