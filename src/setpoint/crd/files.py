"""CustomResourceDefinitions in YAML and JSON files, such as those of other projects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from setpoint.crd.custom_resource import CustomResource
from setpoint.meta import resource_of
from setpoint.meta.yaml_files import SUFFIXES, YamlFileError, documents_in, items_of, yaml_files

Document = dict[str, Any]
_KIND = "CustomResourceDefinition"


class DefinitionFileError(ValueError):
    """A file can't be read or contains no CustomResourceDefinition; the message names the file."""


def read_definitions(source: str | Path) -> list[Document]:
    """The definitions in a file (which may hold several documents, or lists), or in the files of a folder and of the
    folders in it, ordered by path. Other documents are left out.

    Raises:
        DefinitionFileError: a file can't be read, or there is no definition.
    """
    path = Path(source)
    definitions: list[Document] = []
    for file in yaml_files(path):
        try:
            text = file.read_bytes()
        except FileNotFoundError:
            raise DefinitionFileError(f"{file}: there is no such file or folder") from None
        except OSError as problem:
            raise DefinitionFileError(f"{file}: {problem.strerror}") from None
        definitions += parse_definitions(text, str(file), needed=not path.is_dir())
    if not definitions:
        raise DefinitionFileError(f"{source}: no {_KIND} in any of its {', '.join(SUFFIXES)} files")
    return definitions


def parse_definitions(text: bytes, source: str, *, needed: bool = True) -> list[Document]:
    """The definitions in a text of YAML or JSON documents; ``source`` names the text in errors.

    Raises:
        DefinitionFileError: the text is not YAML or, if definitions are ``needed``, contains none.
    """
    try:
        items = [item for document in documents_in(text, source) for item in items_of(document)]
    except YamlFileError as problem:
        raise DefinitionFileError(str(problem)) from None
    definitions = [item for item in items if isinstance(item, dict) and item.get("kind") == _KIND]
    if needed and not definitions:
        raise DefinitionFileError(f"{source}: no {_KIND} in it")
    return definitions


def without_webhook(definition: Mapping[str, Any]) -> Document:
    """The definition for a server that can't reach the webhook of the project: its objects change only in
    ``apiVersion`` between versions.
    """
    spec = {name: value for name, value in definition["spec"].items() if name != "conversion"}
    return {**definition, "spec": spec}


def is_defined_in(definitions: Iterable[Mapping[str, Any]], kind: type[CustomResource]) -> bool:
    """Whether one of the definitions is that of the kind, in whatever version."""
    resource = resource_of(kind)
    wanted = (resource.group, resource.kind)
    return any(
        (definition["spec"]["group"], definition["spec"]["names"]["kind"]) == wanted for definition in definitions
    )


def warning_of_class(kind: type[CustomResource], remedy: str) -> str:
    """The warning for a test server that gets the definition of another project's kind from its class."""
    resource = resource_of(kind)
    return (
        f"{resource.plural}.{resource.group}: its definition is made of the class {kind.__name__}, so the server knows "
        f"only the fields and rules of the class; give the definition of {kind.definition.installed_by}: {remedy}"
    )
