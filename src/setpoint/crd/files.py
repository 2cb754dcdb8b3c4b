"""CustomResourceDefinitions in YAML and JSON files, such as those of other projects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from setpoint.crd.builtin_schemas import builtin_schema
from setpoint.crd.custom_resource import CustomResource
from setpoint.meta import from_wire, resource_of, to_wire
from setpoint.meta.names import dns1035_label, dns1123_subdomain
from setpoint.meta.yaml_files import SUFFIXES, YamlFileError, documents_in, items_of, yaml_files
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.schema import Schema, copy_json, drop_nulls, structural, validate

Document = dict[str, Any]
_KIND = "CustomResourceDefinition"
_API_VERSION = "apiextensions.k8s.io/v1"


class DefinitionFileError(ValueError):
    """A file can't be read, contains no CustomResourceDefinition, or contains one that no server takes; the message
    names the file.
    """


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
        DefinitionFileError: the text is not YAML, one of its definitions has a field of a wrong type or lacks one, or
            definitions are ``needed`` and it contains none.
    """
    definitions = unchecked_definitions(text, source)
    if needed and not definitions:
        raise DefinitionFileError(f"{source}: no {_KIND} in it")
    try:
        return [checked_definition(definition) for definition in definitions]
    except ValueError as problem:
        raise DefinitionFileError(f"{source}: {problem}") from None


def unchecked_definitions(text: bytes, source: str) -> list[Document]:
    """As `parse_definitions`, but the definitions may be old or incomplete."""
    try:
        items = [item for document in documents_in(text, source) for item in items_of(document)]
    except YamlFileError as problem:
        raise DefinitionFileError(str(problem)) from None
    return [item for item in items if isinstance(item, dict) and item.get("kind") == _KIND]


def name_of(definition: Mapping[str, Any]) -> str:
    """The name of a definition; empty if it has none."""
    metadata = definition.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, Mapping) else ""


def checked_definition(definition: Mapping[str, Any]) -> Document:
    """The definition, with a spec as a server stores it: without nulls, and without fields that servers don't know.

    Raises:
        ValueError: the document is not a definition, or a field of it has a wrong type or is missing.
    """
    name = name_of(definition)
    if not name:
        raise ValueError(f"a {_KIND} has no metadata.name")
    api_version, kind = definition.get("apiVersion"), definition.get("kind")
    if (api_version, kind) != (_API_VERSION, _KIND):
        raise ValueError(f"{name}: it is a {kind} of {api_version}, not a {_KIND} of {_API_VERSION}")
    spec: dict[str, Any] = {"spec": copy_json(definition.get("spec"))}
    drop_nulls(_schema(), spec)
    if problems := validate(_schema(), spec):
        raise ValueError(f"{name}: {problems[0]}")
    named = spec["spec"]["names"]
    for field, value, wrong in (
        ("group", spec["spec"]["group"], dns1123_subdomain(spec["spec"]["group"])),
        ("names.kind", named["kind"], dns1035_label(named["kind"].lower())),
        ("names.plural", named["plural"], dns1035_label(named["plural"])),
        *(("versions", version["name"], dns1035_label(version["name"])) for version in spec["spec"]["versions"]),
    ):
        if wrong:
            raise ValueError(f"{name}: spec.{field}: {value!r}: {wrong[0]}")
    if not any(version["storage"] for version in spec["spec"]["versions"]):
        raise ValueError(f"{name}: spec.versions: none of them has storage: true")
    spec["spec"] = to_wire(from_wire(CustomResourceDefinition, {"metadata": definition["metadata"], **spec}))["spec"]
    return {**definition, **spec}


@cache
def _schema() -> Schema:
    schema = builtin_schema(CustomResourceDefinition)
    assert schema is not None
    return structural.load(schema)


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
