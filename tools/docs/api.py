"""API pages: the public names of each package with their docstrings, as plain Markdown.

The names and calls are those of ``tools/public_api.py``; griffe reads the sources without importing them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

import griffe

from tools import public_api

Named: TypeAlias = griffe.Object | griffe.Alias

FOLDER = "reference/api"
INDEX_PLACE = f"{FOLDER}/index.md"
WIDTH = 100
"""Characters of a signature in one line."""


def pages() -> dict[str, str]:
    """The page of each package, by its place in the site, and the list of the packages."""
    root = public_api.loaded()
    tiers = public_api.Tiers.read()
    texts, listed = dict[str, str](), list[str]()
    packages = list(public_api.subpackages(root))
    homes = {
        f"{package.name}.{name}"
        for package in packages
        for name in map(str, package.exports or ())
        if tiers.of(f"{package.path}.{name}") != "internal"
    }
    for package in packages:
        exported = {
            name: package.members[name]
            for name in sorted(map(str, package.exports or ()))
            if name in package.members and tiers.of(f"{package.path}.{name}") != "internal"
        }
        if not exported:
            continue
        name = "setpoint" if package.path == "setpoint" else package.name
        text = package.docstring.value if package.docstring else ""
        texts[f"{FOLDER}/{name}.md"] = "\n".join(_package(package.path, text, exported, homes, tiers))
        listed.append(f"* [`{package.path}`]({name}.md): {_first(text)}")
    texts[INDEX_PLACE] = INDEX.format(packages="\n".join(listed))
    return texts


INDEX = """\
# All public names

Each package has a page, with the docstrings of the names that it promises. `sp` is `import setpoint as sp`; most
programs need no other import but their [models](../../models.md). Names are stable unless their entry says
*Provisional*; [releases](../../releases.md) says what either promises, and [changes](../../api/changes.md) lists the
difference from the last release.

{packages}
"""


def _first(text: str) -> str:
    return re.split(r"(?<=[.!?])\s", " ".join(text.split()), maxsplit=1)[0]


def _package(
    path: str, text: str, exported: dict[str, Named], homes: set[str], tiers: public_api.Tiers
) -> Iterator[str]:
    yield f"# {path}\n"
    yield f"{text}\n"
    elsewhere = list[str]()
    for name, member in exported.items():
        try:
            target = member.final_target if isinstance(member, griffe.Alias) else member
        except griffe.AliasResolutionError as outside:
            elsewhere.append(f"* `{name}` is `{outside.alias.target_path}`.")
            continue
        if isinstance(target, griffe.Module):
            continue
        if path == "setpoint" and f"{target.path.split('.')[1]}.{name}" in homes:
            elsewhere.append(_home(name, target))
        else:
            yield from _described(name, target, tiers.of(f"{path}.{name}"))
    if elsewhere:
        yield "\n".join(elsewhere) + "\n"


def _home(name: str, target: griffe.Object) -> str:
    """The line of a name that a package has: there it is told."""
    package = target.path.split(".")[1]
    return f"* [`sp.{name}`]({package}.md#{name.lower()}): {_first(target.docstring.value) if target.docstring else ''}"


def _described(name: str, target: griffe.Object, tier: str) -> Iterator[str]:
    yield f"## {name}\n"
    if tier != "stable":
        yield f"*{tier.capitalize()}*: a minor release may change it.\n"
    if isinstance(target, griffe.Class):
        bases = ", ".join(map(str, target.bases))
        yield _code(f"class {name}({bases})" if bases else f"class {name}")
        yield _documented(target)
        constructor = target.all_members.get("__init__")
        if isinstance(constructor, griffe.Function) and constructor.path.startswith(public_api.INHERITED_FROM):
            yield _code(name + public_api.call(constructor))
            yield _documented(constructor)
        yield from _members(name, target)
    elif isinstance(target, griffe.Function):
        yield _code(name + public_api.call(target))
        yield _documented(target)
    else:
        annotation = getattr(target, "annotation", None)
        yield _code(f"{name}: {annotation}" if annotation else name)
        yield _documented(target)


def _members(name: str, owner: griffe.Class) -> Iterator[str]:
    attributes, functions = list[str](), list[str]()
    for member_name, member in sorted(owner.all_members.items()):
        if member_name.startswith("_") or isinstance(member, griffe.Class):
            continue
        try:
            target = member.final_target if isinstance(member, griffe.Alias) else member
        except griffe.AliasResolutionError:
            continue
        if not target.path.startswith(public_api.INHERITED_FROM):
            continue
        if isinstance(target, griffe.Function):
            functions += [
                f"### {name}.{member_name}\n",
                _code(member_name + public_api.call(target)),
                _documented(target),
            ]
        elif isinstance(target, griffe.Attribute):
            summary = " ".join(target.docstring.value.split()) if target.docstring else ""
            annotation = f": {target.annotation}" if target.annotation else ""
            attributes.append(f"* `{member_name}{annotation}`" + (f": {summary}" if summary else ""))
    if attributes:
        yield "\n".join(attributes) + "\n"
    yield from functions


def _code(signature: str) -> str:
    """A block with the signature; a long one has a line for each parameter."""
    if signature.endswith(" async"):
        signature = f"async {signature.removesuffix(' async')}"
    if len(signature) > WIDTH and "(" in signature:
        head, rest = signature.split("(", 1)
        inside, tail = rest[: _closing(rest)], rest[_closing(rest) :]
        signature = f"{head}(\n" + "".join(f"    {argument},\n" for argument in _split(inside)) + tail
    return f"```python\n{signature}\n```\n"


def _closing(text: str) -> int:
    depth = 1
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            return place
    return len(text)


def _split(parameters: str) -> list[str]:
    parts, depth = [""], 0
    for character in parameters:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [argument.strip() for argument in parts if argument.strip()]


def _documented(target: griffe.Object) -> str:
    """The docstring as Markdown: its sections become lists."""
    if not target.docstring:
        return ""
    parts = list[str]()
    for section in target.docstring.parse("google", warnings=False):
        if isinstance(section, griffe.DocstringSectionText):
            parts.append(section.value)
        elif isinstance(section, griffe.DocstringSectionRaises):
            parts.append(
                "Raises:\n\n"
                + "\n".join(f"* `{entry.annotation}`: {_flat(entry.description)}" for entry in section.value)
            )
        elif isinstance(section, griffe.DocstringSectionParameters | griffe.DocstringSectionAttributes):
            parts.append("\n".join(f"* `{entry.name}`: {_flat(entry.description)}" for entry in section.value))
        elif isinstance(section, griffe.DocstringSectionReturns | griffe.DocstringSectionYields):
            parts.append("Returns: " + " ".join(_flat(entry.description) for entry in section.value))
        elif isinstance(section, griffe.DocstringSectionAdmonition):
            parts.append(f"{section.title}: {_flat(section.value.description)}")
        elif isinstance(section, griffe.DocstringSectionExamples):
            parts += [text if kind.value == "text" else f"```python\n{text}\n```" for kind, text in section.value]
        else:
            raise SystemExit(f"{target.path}: a section {section.kind} of its docstring has no form here")
    return "\n\n".join(_blocks(part) for part in parts) + "\n"


def _flat(text: str) -> str:
    return " ".join(text.split())


def _blocks(text: str) -> str:
    """The literal blocks of reStructuredText (``::`` and an indented block) as blocks of code."""
    return re.sub(
        r"::[ ]*\n\n((?:[ ]{4}.*(?:\n|$)|\n)+)",
        lambda match: ":\n\n```\n" + re.sub(r"^ {4}", "", match[1].rstrip(), flags=re.MULTILINE) + "\n```\n\n",
        text,
    )
