"""Renders ``_table.py``: every built-in resource as data, so that knowing them costs no model."""

from __future__ import annotations

from collections.abc import Iterable

from tools.models.inputs import MINOR, Served
from tools.models.names import EXTRAS, Extra
from tools.models.naming import constant_name
from tools.models.types import Role, Types, kinds

_ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_ONLY_SUBRESOURCE: tuple[str, ...] = ()
_WIDTH = 120
_HELPER = '''
def _resource(
    group: str,
    version: str,
    kind: str,
    plural: str,
    *,
    own: tuple[str, ...] = (),
    other: dict[str, GroupVersionKind] | None = None,
    **options: Any,
) -> Resource:
    """A resource with the names that follow from its kind. ``own`` are the subresources that exchange the kind itself,
    ``other`` those that exchange another one.
    """
    return Resource(
        group=group,
        version=version,
        kind=kind,
        plural=plural,
        singular=kind.lower(),
        list_kind=f"{kind}List" if "list" in options.get("verbs", ("list",)) else "",
        subresources=dict(sorted((dict.fromkeys(own, GroupVersionKind(group, version, kind)) | (other or {})).items())),
        **options,
    )

'''


def render_table(types: Types, served: list[Served], definitions: Iterable[str], header: str) -> str:
    """The module's text. ``definitions`` are the packages that have a file of definitions."""
    resources = [line for line in served if not line.action]
    unknown = EXTRAS.keys() - {(line.group, line.plural) for line in resources}
    if unknown:
        raise SystemExit(f"tools/models/names.py lists unknown resources: {sorted(unknown)}")
    lists = {class_.gvk for class_ in kinds(types, Role.LIST)}
    for line in resources:
        if ("list" in line.verbs) != ((line.group, line.version, f"{line.kind}List") in lists):
            raise SystemExit(
                f"{line.group}/{line.version} {line.kind}: there is a list without the verb, or the verb alone"
            )
    lines = [
        header,
        '"""Every built-in resource: data, no models. The group\'s package is where its definitions are."""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import Any, Final",
        "",
        "from setpoint.meta import GroupVersionKind, Resource",
        "",
        f"KUBERNETES: Final = {_text(MINOR)}",
        "",
        *_HELPER.splitlines(),
        "",
    ]
    for line in resources:
        lines += _definition(line, _subresources(line, served))
    lines += [
        "",
        "BUILTIN: Final = tuple(value for value in list(globals().values()) if isinstance(value, Resource))",
        "",
    ]
    lines.append("# Kinds that only a subresource exchanges: they have no address and no verbs of their own.")
    for group, version, kind in subresource_only(types, served):
        line = Served(group, version, kind, plural=kind.lower() + "s", namespaced=True, verbs=_ONLY_SUBRESOURCE)
        lines += _definition(line, {})
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


def _definition(line: Served, subresources: dict[str, tuple[str, str, str]]) -> Iterable[str]:
    name = constant_name(line.group, line.version, line.kind)
    arguments = list(_arguments(line, subresources))
    inner = ", ".join(arguments)
    if len(whole := f"{name}: Final = _resource({inner})") <= _WIDTH:
        return [whole]
    if len(inner) + 4 <= _WIDTH:
        return [f"{name}: Final = _resource(", f"    {inner}", ")"]
    return [f"{name}: Final = _resource(", *(f"    {argument}," for argument in arguments), ")"]


def _arguments(line: Served, subresources: dict[str, tuple[str, str, str]]) -> Iterable[str]:
    extra = EXTRAS.get((line.group, line.plural), Extra())
    yield from map(_text, (line.group, line.version, line.kind, line.plural))
    if not line.namespaced:
        yield "namespaced=False"
    if extra.short_names:
        yield f"short_names={_tuple(extra.short_names)}"
    if extra.categories:
        yield f"categories={_tuple(extra.categories)}"
    if line.verbs != _ALL_VERBS:
        yield f"verbs={_tuple(line.verbs)}"
    gvk = (line.group, line.version, line.kind)
    if own := tuple(sorted(name for name, kind in subresources.items() if kind == gvk)):
        yield f"own={_tuple(own)}"
    others = {name: kind for name, kind in sorted(subresources.items()) if kind != gvk}
    if others:
        entries = [f"{_text(name)}: GroupVersionKind({', '.join(map(_text, kind))})" for name, kind in others.items()]
        if len(entries) == 1:
            yield f"other={{{entries[0]}}}"
        else:
            yield "\n".join(("other={", *(f"        {entry}," for entry in entries), "    }"))


def _text(value: str) -> str:
    return f'"{value}"'


def _tuple(values: tuple[str, ...]) -> str:
    return f"({', '.join(map(_text, values))}{',' if len(values) == 1 else ''})"
