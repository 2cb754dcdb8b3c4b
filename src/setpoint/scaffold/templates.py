"""Templates: the files of a working project, in which names are replaced.

The files in ``templates/`` are those of a project ``acme-dist`` with the package ``acme_pkg`` and the kind ``Gizmo``.
There is no template language: a template reads like the file that it becomes, and braces that belong to other tools
(GitHub, Make) need no escaping. Lines that end in ``# for each kind`` (or webhook, or version) are repeated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from setpoint.deploy.file_tree import File
from setpoint.scaffold.names import KindName, ProjectName, version_class
from setpoint.scaffold.project import Project

_SUFFIX: Final = ".txt"
_EACH: Final = re.compile(r"^(.*\S)  # for each (kind|webhook|version)$")
_IMPORTS: Final = re.compile(r"(?:^from \S+ import [^(\n]+\n){2,}", re.MULTILINE)
_LONG_IMPORT: Final = re.compile(r"^(from \S+) import (.+)$", re.MULTILINE)
_LONG_HEAD: Final = re.compile(r"^(class \w+|(?:async )?def \w+)\((.+)\)( ->.+)?:$", re.MULTILINE)
_WIDTH: Final = 120
_GENERATED: Final = "src/acme_pkg/parts.py"


def words(project: ProjectName, kind: KindName | None = None, version: str = "") -> dict[str, str]:
    replacements = {"acme_pkg": project.package, "acme-dist": project.name, "acme-program": project.program}
    replacements["acme.example.com"] = project.group
    if kind is not None:
        replacements |= {
            "Gizmo": kind.kind,
            "gizmos": kind.plural,
            "gizmokind": kind.kind.lower(),
            "gizmo": kind.module,
            "v1alpha1": kind.version,
        }
    if version:
        replacements |= {"v9next1": version, "V9next1": version_class(version)}
    return replacements


def template(name: str, replaced: Mapping[str, str]) -> dict[str, File]:
    """The files of ``templates/NAME``, with their words replaced. From then on they belong to the user."""
    tree: dict[str, File] = {}
    for path, content in _walk(files("setpoint.scaffold") / "templates" / name, ""):
        if path != _GENERATED:
            tree[_fill(path, replaced)] = File(_fill(content, replaced), once=True)
    return tree


def parts_file(project: Project) -> dict[str, File]:
    """The module that lists the parts of a program. It is generated anew for every new part."""
    source = files("setpoint.scaffold") / "templates" / "project" / f"{_GENERATED}{_SUFFIX}"
    lines: list[str] = []
    for line in source.read_text("utf-8").splitlines():
        match = _EACH.match(line)
        lines += [line] if match is None else sorted(_repeated(project, match[1], match[2]))
    text = "\n".join(_sorted_imports(lines)) + "\n"
    text = re.sub(r"= \[\n\]", "= []", text)
    replaced = words(project.names)
    return {_fill(_GENERATED, replaced): File(_fill(text, replaced))}


def _repeated(project: Project, line: str, noun: str) -> Iterable[str]:
    for api in project.apis:
        kind = project.kind_names(api)
        if noun == "version":
            for version in api.versions:
                yield _fill(line, words(project.names, kind, version))
        elif noun == "kind" or api.has_webhook:
            yield _fill(line, words(project.names, kind))


def _sorted_imports(lines: list[str]) -> list[str]:
    own = sorted(
        (line for line in lines if line.startswith("from ") and not line.startswith("from typing")), key=_module
    )
    if not own:
        return lines
    first = min(lines.index(line) for line in own)
    rest = [line for line in lines if line not in own]
    return [*rest[:first], *own, *rest[first:]]


def _module(line: str) -> list[str]:
    return line.split()[1].split(".")


def _fill(text: str, replaced: Mapping[str, str]) -> str:
    """The text with its words replaced in one pass, the longest first, so replacements are not replaced again. Imports
    that are next to each other are sorted anew.
    """
    pattern = "|".join(re.escape(word) for word in sorted(replaced, key=lambda word: (-len(word), word)))
    filled = re.sub(pattern, lambda match: replaced[match[0]], text)
    filled = _IMPORTS.sub(lambda match: "".join(sorted(match[0].splitlines(keepends=True), key=_module)), filled)
    return _LONG_HEAD.sub(_broken_head, _LONG_IMPORT.sub(_broken, filled))


def _broken(line: re.Match[str]) -> str:
    """An import, broken into lines as formatters do if it has more than 120 characters."""
    if len(line[0]) <= _WIDTH:
        return line[0]
    names = "".join(f"    {name},\n" for name in line[2].split(", "))
    return f"{line[1]} import (\n{names})"


def _broken_head(line: re.Match[str]) -> str:
    """The first line of a class or function, broken into lines as formatters do if it has more than 120 characters."""
    if len(line[0]) <= _WIDTH:
        return line[0]
    inside = f"    {line[2]}"
    if len(inside) > _WIDTH:
        inside = "\n".join(f"    {argument}," for argument in line[2].split(", "))
    return f"{line[1]}(\n{inside}\n){line[3] or ''}:"


def _walk(place: Traversable, path: str) -> Iterable[tuple[str, str]]:
    for entry in sorted(place.iterdir(), key=lambda entry: entry.name):
        name = f"{path}/{entry.name}".lstrip("/")
        if entry.is_dir():
            yield from _walk(entry, name)
        elif entry.name.endswith(_SUFFIX):
            target = re.sub(r"(^|/)dot\.", r"\1.", name.removesuffix(_SUFFIX))
            yield target, entry.read_text("utf-8")
