"""Reads CustomResourceDefinitions for ``setpoint crd`` from files, a cluster or classes."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from setpoint.cli.program_declarations import declared_by
from setpoint.cli.program_loader import SourceError, loaded
from setpoint.client import Client
from setpoint.crd.files import DefinitionFileError, parse_definitions, read_definitions
from setpoint.deploy.crds import ANYWHERE, definitions_of, own_kinds
from setpoint.meta import raw_of
from setpoint.models.apiextensions_v1 import CustomResourceDefinition

CLUSTER = "cluster"
_KIND = "CustomResourceDefinition"
Document = dict[str, Any]


def from_files(source: str) -> list[Document]:
    """The definitions in a file, in the files of a folder, or on standard input (``-``).

    Raises:
        SourceError: the source can't be read, or does not contain a definition.
    """
    try:
        return (
            parse_definitions(sys.stdin.buffer.read(), "standard input") if source == "-" else read_definitions(source)
        )
    except DefinitionFileError as problem:
        path = Path(source)
        classes = "; for its classes it would need an __init__.py" if path.is_dir() and [*path.glob("*.py")] else ""
        raise SourceError(f"{problem}{classes}") from None


def from_classes(source: str) -> list[Document]:
    """The definitions of the classes that ``source`` names or, if it names none, of all classes in its module; see
    `loading.loaded`. Kinds that other projects install, or that the controllers of the module only own, watch or read,
    are left out unless ``source`` names them.

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
        kinds = declared.all_kinds
        if not program.named:
            kinds = own_kinds(kinds, declared.controllers, declared.admissions)
        definitions = definitions_of(kinds, ANYWHERE)
    if not definitions:
        raise SourceError(
            f"{source}: it contains no CustomResource class; if the classes are in a module of a package, name the "
            "module: package.module, or package/module.py"
        )
    return definitions


def only(definitions: Sequence[Document], names: Sequence[str], source: str) -> Sequence[Document]:
    """The definitions with these names; all if there are no names.

    Raises:
        SourceError: there is no definition, or none with one of the names.
    """
    present = [str(definition["metadata"]["name"]) for definition in definitions]
    if not definitions:
        raise SourceError(f"{source}: there is no {_KIND}{' named ' + names[0] if names else ''}")
    for name in names:
        if name not in present:
            matches = get_close_matches(name, present, 1, 0.3)
            raise SourceError(
                f"{source}: there is no {_KIND} {name}" + (f"; did you mean {matches[0]}?" if matches else "")
            )
    return [definition for definition in definitions if not names or definition["metadata"]["name"] in names]


async def from_cluster(client: Client, names: Collection[str] | None = None) -> list[Document]:
    installed = await client.list(CustomResourceDefinition)
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": _KIND}  # the items of a list don't repeat it
    return [
        head | msgspec.json.decode(raw_of(definition) or b"{}")
        for definition in installed
        if names is None or definition.name in names
    ]
