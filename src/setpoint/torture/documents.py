"""Documents: objects from YAML files, of kinds that need not have classes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from setpoint.client import Client, DynamicObject, NoMatchError
from setpoint.client.dynamic import dynamic
from setpoint.meta import GroupVersionKind
from setpoint.meta.yaml_files import items_of, read_yaml, yaml_files

Document = Mapping[str, Any]


class ScenarioError(Exception):
    """A scenario, or a file that it names, can't be used; the message names the file and the remedy."""


def read_documents(path: Path) -> list[dict[str, Any]]:
    """The objects in a file, or in all YAML and JSON files of a directory and of the directories in it, ordered by
    path. Each item of a List counts as an object.

    Raises:
        YamlFileError: a file can't be read, or is not YAML.
        ScenarioError: a file contains something other than objects.
    """
    if path.is_dir():
        files = yaml_files(path)
        if not files:
            raise ScenarioError(f"{path}: no .yaml, .yml or .json file is in this folder")
        return [document for file in files for document in read_documents(file)]
    objects = [item for document in read_yaml(path) if document is not None for item in items_of(document)]
    for document in objects:
        check_object(document, str(path))
    return objects


def check_object(document: Any, location: str) -> None:
    """Checks that ``document`` is an object with an apiVersion, a kind and a name. ``location`` is the location of the
    document that an error names.

    Raises:
        ScenarioError: ``document`` is not such an object.
    """
    if not isinstance(document, dict):
        raise ScenarioError(
            f"{location}: an object is a mapping with apiVersion, kind and metadata, not {document!r:.60}"
        )
    for field in ("apiVersion", "kind"):
        if not isinstance(document.get(field), str):
            raise ScenarioError(f"{location}: an object needs {field}")
    meta = document.get("metadata")
    if not isinstance(meta, dict) or not isinstance(meta.get("name"), str):
        raise ScenarioError(f"{location}: {document['kind']} needs metadata.name")


async def as_object(client: Client, document: Document) -> DynamicObject:
    """The document as an object that every verb of a client accepts.

    Raises:
        ScenarioError: the server does not serve the object's kind.
    """
    group, _, version = document["apiVersion"].rpartition("/")
    kind = GroupVersionKind(group, version, document["kind"])
    try:
        resource = await client.rest_mapper.for_kind(kind)
    except NoMatchError:
        raise ScenarioError(
            f"the server does not serve {document['kind']} of {document['apiVersion']}: give the file of its "
            "CustomResourceDefinition with --before"
        ) from None
    return dynamic(resource).of(dict(document))
