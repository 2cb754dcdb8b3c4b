"""Renders ``_table.py``: every built-in resource as data, so that knowing them costs no model."""

from __future__ import annotations

from collections.abc import Iterable

from tools.models.inputs import MINOR, Served
from tools.models.names import EXTRAS, Extra
from tools.models.naming import constant_name
from tools.models.types import Role, Types, kinds

_ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_ONLY_SUBRESOURCE: tuple[str, ...] = ()


def render_table(types: Types, served: list[Served], definitions: Iterable[str], header: str) -> str:
    """The module's text. ``definitions`` are the packages that have a file of definitions."""
    resources = [line for line in served if not line.action]
    unknown = EXTRAS.keys() - {(line.group, line.plural) for line in resources}
    if unknown:
        raise SystemExit(f"tools/models/names.py lists unknown resources: {sorted(unknown)}")
    lists = {class_.gvk for class_ in kinds(types, Role.LIST)}
    lines = [
        header,
        '"""Every built-in resource: data, no models. The group\'s package is where its definitions are."""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import Final",
        "",
        "from setpoint.meta import GroupVersionKind, Resource",
        "",
        f"KUBERNETES: Final = {_text(MINOR)}",
        "",
    ]
    names = []
    for line in resources:
        name = constant_name(line.group, line.version, line.kind)
        names.append(name)
        lines += [f"{name}: Final = Resource(", *_arguments(line, _subresources(line, served), lists), ")"]
    lines += ["", "BUILTIN: Final[tuple[Resource, ...]] = (", *(f"    {name}," for name in names), ")", ""]
    lines.append("# Kinds that only a subresource exchanges: they have no address and no verbs of their own.")
    for group, version, kind in subresource_only(types, served):
        line = Served(group, version, kind, plural=kind.lower() + "s", namespaced=True, verbs=_ONLY_SUBRESOURCE)
        lines += [f"{constant_name(group, version, kind)}: Final = Resource(", *_arguments(line, {}, lists), ")"]
    packages = {
        class_.gvk[0]: class_.definition.rsplit(".", 2)[0] for class_ in kinds(types, Role.OBJECT) if class_.gvk
    }
    lines += ["", "PACKAGES: Final[dict[str, str]] = {"]
    lines += [f"    {_text(group)}: {_text(package)}," for group, package in sorted(packages.items())]
    lines += ["}", "", "DEFINITIONS: Final[tuple[str, ...]] = ("]
    lines += [f"    {_text(package)}," for package in definitions]
    lines += [")", '"""The packages of all definitions, of which each has a file in ``schemas``."""', ""]
    return "\n".join(lines)


def subresource_only(types: Types, served: list[Served]) -> list[tuple[str, str, str]]:
    """Kinds of objects that are in no line of their own: Scale, Eviction, TokenRequest."""
    resources = {(line.group, line.version, line.kind) for line in served if not line.action}
    return sorted(class_.gvk for class_ in kinds(types, Role.OBJECT) if class_.gvk and class_.gvk not in resources)


def _subresources(line: Served, served: list[Served]) -> dict[str, tuple[str, str, str]]:
    parent = (line.group, line.version, line.kind)
    connections = EXTRAS.get((line.group, line.plural), Extra()).connections
    return {
        item.action: (item.group, item.version, item.kind) for item in served if item.action and item.parent == parent
    } | {name: (line.group, line.version, kind) for name, kind in connections}


def _arguments(
    line: Served, subresources: dict[str, tuple[str, str, str]], lists: set[tuple[str, str, str] | None]
) -> Iterable[str]:
    extra = EXTRAS.get((line.group, line.plural), Extra())
    yield f"    group={_text(line.group)},"
    yield f"    version={_text(line.version)},"
    yield f"    kind={_text(line.kind)},"
    yield f"    plural={_text(line.plural)},"
    if not line.namespaced:
        yield "    namespaced=False,"
    yield f"    singular={_text(line.kind.lower())},"
    if (line.group, line.version, line.kind + "List") in lists:
        yield f"    list_kind={_text(line.kind + 'List')},"
    if extra.short_names:
        yield f"    short_names={_tuple(extra.short_names)},"
    if extra.categories:
        yield f"    categories={_tuple(extra.categories)},"
    if line.verbs != _ALL_VERBS:
        yield f"    verbs={_tuple(line.verbs)},"
    if subresources:
        yield "    subresources={"
        for name, kind in sorted(subresources.items()):
            yield f"        {_text(name)}: GroupVersionKind({', '.join(map(_text, kind))}),"
        yield "    },"


def _text(value: str) -> str:
    return f'"{value}"'


def _tuple(values: tuple[str, ...]) -> str:
    return f"({', '.join(map(_text, values))}{',' if len(values) == 1 else ''})"
