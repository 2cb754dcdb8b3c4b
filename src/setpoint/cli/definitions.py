"""Where the ``setpoint crd`` commands find CustomResourceDefinitions: files, a cluster, classes."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import yaml

from setpoint.client import Client
from setpoint.crd import CustomResource, crd_for
from setpoint.meta import GroupKind, raw_of, resource_of
from setpoint.models.apiextensions_v1 import CustomResourceDefinition

__all__ = ["CLUSTER", "SourceError", "from_classes", "from_cluster", "from_files"]

CLUSTER = "cluster"
_KIND = "CustomResourceDefinition"
_SUFFIXES = (".yaml", ".yml", ".json")
Document = dict[str, Any]
Connect = Callable[[], Awaitable[Client]]


class SourceError(Exception):
    """There are no definitions where somebody said they are; the message names the place and says what to do."""


def from_files(source: str) -> list[Document]:
    """The definitions of a YAML or JSON file (several documents, lists), of a folder's files, or of ``-``, the input.

    Raises:
        SourceError: it can't be read, or there are none.
    """
    if source == "-":
        return _parsed(sys.stdin.read(), "standard input")
    path = Path(source)
    files = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES) if path.is_dir() else [path]
    found: list[Document] = []
    for file in files:
        try:
            text = file.read_text()
        except (OSError, UnicodeDecodeError) as problem:
            raise SourceError(f"{file}: {problem}") from None
        found += _parsed(text, str(file), needed=not path.is_dir())
    if not found:
        raise SourceError(f"{source}: no {_KIND} in any of its {', '.join(_SUFFIXES)} files")
    return found


def _parsed(text: str, where: str, *, needed: bool = True) -> list[Document]:
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        documents = [document for document in yaml.load_all(text, Loader=loader) if isinstance(document, dict)]
    except yaml.YAMLError as problem:
        raise SourceError(f"{where}: not YAML: {problem}") from None
    found: list[Document] = []
    for document in documents:
        items = document.get("items") if str(document.get("kind")).endswith("List") else [document]
        found += [item for item in items or () if isinstance(item, dict) and item.get("kind") == _KIND]
    if needed and not found:
        raise SourceError(f"{where}: no {_KIND} in it")
    return found


def from_classes(source: str) -> list[Document]:
    """The definitions of ``module:Class,Class``, ``app.py:Class`` or all classes of ``app.py``.

    Raises:
        SourceError: the module can't be imported, or it has no such class.
        DefinitionError: a class can't be a definition.
    """
    place, _, names = source.rpartition(":") if ":" in source else (source, "", "")
    module = _imported(place)
    classes = [_named(module, name.strip(), source) for name in names.split(",")] if names else _all(module)
    if not classes:
        raise SourceError(f"{source}: no CustomResource class in it")
    kinds: dict[GroupKind, list[type[CustomResource]]] = defaultdict(list)
    for kind in classes:
        kinds[GroupKind(resource_of(kind).group, resource_of(kind).kind)].append(kind)
    return [crd_for(*_newest_first(found)) for found in kinds.values()]


def _newest_first(kinds: list[type[CustomResource]]) -> list[type[CustomResource]]:
    """Those that other classes convert from come after them."""
    return sorted(kinds, key=lambda kind: -len(kind.definition.conversions))


def _imported(place: str) -> ModuleType:
    try:
        if not place.endswith(".py"):
            sys.path.insert(0, str(Path.cwd()))
            return importlib.import_module(place)
        path = Path(place).resolve()
        sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
    except (ImportError, OSError, SyntaxError) as problem:
        raise SourceError(f"{place}: no file, and no module that can be imported: {problem}") from None
    return module


def _named(module: ModuleType, name: str, source: str) -> type[CustomResource]:
    found = getattr(module, name, None)
    if not (isinstance(found, type) and issubclass(found, CustomResource) and hasattr(found, "definition")):
        raise SourceError(f"{source}: {name} of {module.__name__} is no CustomResource class with group= and version=")
    return found


def _all(module: ModuleType) -> list[type[CustomResource]]:
    return [
        found
        for found in vars(module).values()
        if isinstance(found, type) and issubclass(found, CustomResource) and hasattr(found, "definition")
    ]


async def from_cluster(client: Client, names: Iterable[str]) -> list[Document]:
    """Those of the named definitions that the cluster has, with their status."""
    wanted = set(names)
    found = await client.list(CustomResourceDefinition)
    named = {"apiVersion": "apiextensions.k8s.io/v1", "kind": _KIND}  # the items of a list don't repeat it
    return [
        named | msgspec.json.decode(raw_of(definition) or b"{}") for definition in found if definition.name in wanted
    ]
