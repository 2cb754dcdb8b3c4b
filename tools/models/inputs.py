"""Reads the pinned packages: schemas of kubernetes-validate, the table of resources of lightkube-models.

Neither is imported: one is data, and the other's modules need a library that is not wanted here, so they are parsed.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

MINOR = "1.37"
Definition = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Served:
    """One line of the table: a resource or (with ``action``) a subresource, and the kind that it exchanges."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: tuple[str, ...]
    action: str = ""
    parent: tuple[str, str, str] | None = None


def definitions(minor: str = MINOR) -> dict[str, Definition]:
    """All definitions of a version by name, as published by Kubernetes: what the package widened is narrowed again.

    The package lets every optional value be null, spells quantities and int-or-strings out, and pins ``apiVersion``
    and ``kind`` with an enum.
    """
    candidates = sorted(
        _folder("kubernetes-validate", "kubernetes_validate/kubernetes-json-schema").glob(f"v{minor}.*-local")
    )
    if len(candidates) != 1:
        raise SystemExit(f"kubernetes-validate has {len(candidates)} versions of {minor}, want one: {candidates}")
    document = json.loads((candidates[0] / "_definitions.json").read_text("utf-8"))
    return {name: _narrowed(definition, top=True) for name, definition in sorted(document["$defs"].items())}


def _narrowed(schema: Definition, *, top: bool = False) -> Definition:
    narrow: Definition = {}
    pinned = top and "x-kubernetes-group-version-kind" in schema
    for keyword, value in schema.items():
        match keyword:
            case "type" if isinstance(value, list):
                types = [name for name in value if name != "null"]
                narrow["type"] = types[0] if len(types) == 1 else types
            case "$ref":
                narrow["$ref"] = value.rsplit("/", 1)[-1]
            case "properties":
                narrow["properties"] = {
                    name: _narrowed(
                        {k: v for k, v in field.items() if not (pinned and k == "enum" and name in _PINNED)}
                    )
                    for name, field in value.items()
                }
            case "items" | "additionalProperties" if isinstance(value, dict):
                narrow[keyword] = _narrowed(value)
            case "oneOf" | "anyOf" | "allOf":
                narrow[keyword] = [_narrowed(item) for item in value]
            case _:
                narrow[keyword] = value
    return narrow


_PINNED = ("apiVersion", "kind")


def served() -> list[Served]:
    """Every resource and subresource, sorted."""
    folder = _folder("lightkube-models", "lightkube/resources")
    modules = [path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]
    if not modules:
        raise SystemExit(f"lightkube-models has no resources in {folder}")
    lines = [line for path in modules for line in _table(path)]
    return sorted(lines, key=lambda line: (line.group, line.version, line.plural, line.action))


_VERBS = {"post": "create", "put": "update", "global_list": "list", "global_watch": "watch"}


def _table(path: Path) -> Iterator[Served]:
    for node in ast.parse(path.read_text("utf-8")).body:
        if not isinstance(node, ast.ClassDef):
            continue
        base = ast.unparse(node.bases[0])
        for statement in node.body:
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "_api_info":
                assert isinstance(statement.value, ast.Call)
                info = {str(item.arg): item.value for item in statement.value.keywords}
                verbs = {_VERBS.get(str(verb), str(verb)) for verb in ast.literal_eval(info["verbs"])}
                group, version, kind = _names(info["resource"])
                if kind == "ComponentStatus":
                    verbs -= {"watch"}  # its parameters have a watch, which servers refuse
                parent = _names(info["parent"]) if "parent" in info else None
                yield Served(
                    group=group,
                    version=version,
                    kind=kind,
                    plural=ast.literal_eval(info["plural"]),
                    namespaced=base.startswith("res.Namespaced"),
                    verbs=tuple(sorted(verbs)),
                    action=ast.literal_eval(info["action"]) if "action" in info else "",
                    parent=parent,
                )


def _names(node: ast.expr) -> tuple[str, str, str]:
    assert isinstance(node, ast.Call)
    group, version, kind = (ast.literal_eval(argument) for argument in node.args)
    return group, version, kind


def _folder(package: str, inside: str) -> Path:
    return Path(str(distribution(package).locate_file(inside)))
