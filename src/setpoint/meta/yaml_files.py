"""Files of YAML or JSON that a user names: manifests, definitions, roles, configurations."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from setpoint.meta.user_error import UserError
from setpoint.meta.yaml_parser import parse_yaml_documents

SUFFIXES: Final = (".yaml", ".yml", ".json")


class YamlFileError(UserError, ValueError):
    """A file can't be read, or is not YAML. The message names the file and, if it is known, the line."""


def yaml_files(place: Path) -> list[Path]:
    """The YAML and JSON files in a folder and in the folders in it, ordered by path; ``place`` itself if it is not a
    folder.
    """
    return sorted(file for file in place.rglob("*") if file.suffix in SUFFIXES) if place.is_dir() else [place]


def read_yaml(file: Path) -> list[Any]:
    """The values of all documents in a file, with JSON types only, as API servers and kubectl read them.

    Raises:
        YamlFileError: the file can't be read, or is not YAML.
    """
    try:
        return documents_in(file.read_bytes(), str(file))
    except OSError as problem:
        raise YamlFileError(f"{file}: {problem.strerror}") from None


def read_first(file: Path) -> Any:
    """The value of the first document in a file, as by `read_yaml`; None if there is none. Raises YamlFileError."""
    return next(iter(read_yaml(file)), None)


def documents_in(text: bytes, name: str) -> list[Any]:
    """The values of all documents in a text; ``name`` is the name of the text in errors. Raises YamlFileError."""
    try:
        return parse_yaml_documents(text)
    except ValueError as problem:
        raise YamlFileError(f"{name}: not YAML: {str(problem).removeprefix('yaml: ')}") from None


def items_of(document: Any) -> list[Any]:
    """The items of a List; any other document alone."""
    items = document.get("items") if isinstance(document, dict) and str(document.get("kind")).endswith("List") else None
    return items if isinstance(items, list) else [document]
