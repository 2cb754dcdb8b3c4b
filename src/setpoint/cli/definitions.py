"""Reads CustomResourceDefinitions for ``setpoint crd`` from files, a cluster or classes."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from setpoint.cli.declared import declared_by
from setpoint.cli.loading import SourceError, loaded
from setpoint.client import Client
from setpoint.deploy.definitions import ANYWHERE, definitions_of, own_kinds
from setpoint.meta import raw_of
from setpoint.meta.yaml_parser import parse_yaml_documents
from setpoint.models.apiextensions_v1 import CustomResourceDefinition

__all__ = ["CLUSTER", "SUFFIXES", "from_classes", "from_cluster", "from_files"]

CLUSTER = "cluster"
_KIND = "CustomResourceDefinition"
SUFFIXES = (".yaml", ".yml", ".json")
Document = dict[str, Any]
Connect = Callable[[], Awaitable[Client]]


def from_files(source: str) -> list[Document]:
    """The definitions in a YAML or JSON file (which may hold several documents, or lists), in the files of a folder, or
    on standard input (``-``).

    Raises:
        SourceError: the source can't be read, or does not contain a definition.
    """
    if source == "-":
        return _parsed(sys.stdin.read(), "standard input")
    path = Path(source)
    files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES) if path.is_dir() else [path]
    found: list[Document] = []
    for file in files:
        try:
            text = file.read_text()
        except (OSError, UnicodeDecodeError) as problem:
            raise SourceError(f"{file}: {problem}") from None
        found += _parsed(text, str(file), needed=not path.is_dir())
    if not found:
        classes = "; for its classes it would need an __init__.py" if [*path.glob("*.py")] else ""
        raise SourceError(f"{source}: no {_KIND} in any of its {', '.join(SUFFIXES)} files{classes}")
    return found


def _parsed(text: str, where: str, *, needed: bool = True) -> list[Document]:
    try:
        documents = parse_yaml_documents(text.encode())
    except ValueError as problem:
        raise SourceError(f"{where}: not YAML: {str(problem).removeprefix('yaml: ')}") from None
    found: list[Document] = []
    for document in documents:
        if not isinstance(document, dict):
            continue
        items = document.get("items") if str(document.get("kind")).endswith("List") else [document]
        found += [item for item in items or () if isinstance(item, dict) and item.get("kind") == _KIND]
    if needed and not found:
        raise SourceError(f"{where}: no {_KIND} in it")
    return found


def from_classes(source: str) -> list[Document]:
    """The definitions of the classes that ``source`` names or, if it names none, of all classes in its module; see
    `loading.loaded`. Kinds that the controllers of the module only own, watch or read are left out.

    A definition whose versions need conversion has a conversion webhook, as if it were installed with its webhooks.

    Raises:
        SourceError: the module can't be imported, has no CustomResource class, or does not have the named class.
        DefinitionError: a class has no valid definition.
    """
    with loaded(source) as program:
        for name, value in (program.named or {}).items():
            if not declared_by([value]).all_kinds and not isinstance(value, ModuleType | list | tuple):
                raise SourceError(
                    f"{source}: {name} of {program.module.__name__} is not a CustomResource with group= and version="
                )
        declared = declared_by(program.values)
        kinds = own_kinds(declared.all_kinds, declared.controllers, declared.admissions)
        found = definitions_of(kinds, ANYWHERE)
    if not found:
        raise SourceError(
            f"{source}: no CustomResource class in it; where classes are in modules of a package, name one: "
            "package.module, or package/module.py"
        )
    return found


async def from_cluster(client: Client, names: Iterable[str]) -> list[Document]:
    """The named definitions that exist in the cluster, with their status."""
    wanted = set(names)
    found = await client.list(CustomResourceDefinition)
    named = {"apiVersion": "apiextensions.k8s.io/v1", "kind": _KIND}  # the items of a list don't repeat it
    return [
        named | msgspec.json.decode(raw_of(definition) or b"{}") for definition in found if definition.name in wanted
    ]
