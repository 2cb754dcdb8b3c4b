"""Checks the objects in files, for ``python program.py check FILE...``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from setpoint.apps.error_reports import UsageError
from setpoint.cli.finding_formats import Format, Location, Problem
from setpoint.cli.finding_formats import document as document_of
from setpoint.cli.program_arguments import Parts
from setpoint.cli.yaml_lines import YamlLines
from setpoint.controller import watched_kinds
from setpoint.crd import CustomResource, Versions
from setpoint.crd.newest_version import newest_of
from setpoint.meta import resource_of
from setpoint.meta.text_escaping import visible
from setpoint.meta.yaml_parser import parse_yaml_documents
from setpoint.testing.checks import check_document, unknown_fields_of

__all__ = ["check_files"]

Document = dict[str, Any]
_UNKNOWN: Final = "UnknownField"
_UNKNOWN_RULE: Final = "a field is not in the schema: the API server drops it, or refuses it in strict requests"
_SUFFIXES = (".yaml", ".yml", ".json")


def check_files(parts: Parts, files: Sequence[Path], old: Sequence[Path], output: Format = "text") -> int:
    """Prints the errors in the objects of the program's kinds, and returns the exit status.

    Raises:
        UsageError: there is no file, a file can't be read, or no object in the files is of the program's kinds.
    """
    if not files:
        raise UsageError('name the files to check, or "-" for standard input')
    kinds = _kinds(parts)
    stored = {_identity(item.document): item.document for item in _documents(old)}
    checked = refused = 0
    problems: list[Problem] = []
    for item in _documents(files):
        document = item.document
        kind = kinds.get((str(document.get("apiVersion")), str(document.get("kind"))))
        if kind is None:
            continue
        checked += 1
        errors = [(_UNKNOWN, path, f'unknown field "{path}"') for path in unknown_fields_of(kind, document)]
        for error in check_document(kind, document, stored.get(_identity(document)), parts.admissions):
            errors.append((error.type.value, error.field, str(error)))
        refused += bool(errors)
        metadata = document.get("metadata") or {}
        name = metadata.get("name") or metadata.get("generateName") or "(without a name)"
        for rule, path, text in errors:
            message = f"{document['kind']} {name}: {text}"
            if output == "text":
                print(visible(f"{item.file}: {message}"))  # noqa: T201 - this is the user's terminal
            else:
                line = YamlLines(item.text).line(item.number, path, item.position)
                problems.append(Problem(rule, message, Location(Path(item.file), line), {"field": path}))
    if not checked:
        names = ", ".join(sorted({kind for _, kind in kinds})) or "no custom resource"
        raise UsageError(f"no object in the files is of the program's kinds, which are {names}")
    if output != "text":
        sys.stdout.write(document_of(output, "setpoint check", {_UNKNOWN: _UNKNOWN_RULE}, problems))
    word = "object" if checked == 1 else "objects"
    print(f"{checked} {word} checked, {refused} refused", file=sys.stderr)  # noqa: T201
    return 1 if refused else 0


def _kinds(parts: Parts) -> dict[tuple[str, str], type[CustomResource]]:
    """The custom resource classes of the program, in all versions, by ``apiVersion`` and ``kind``."""
    declared = (*watched_kinds(parts.controllers), *(admission.kind for admission in parts.admissions))
    kinds: dict[tuple[str, str], type[CustomResource]] = {}
    for kind in declared:
        for version in Versions.of(newest_of(kind)).classes if issubclass(kind, CustomResource) else ():
            resource = resource_of(version)
            kinds[resource.api_version, resource.kind] = version
    return kinds


def _identity(document: Document) -> tuple[str, str, str, str]:
    metadata = document.get("metadata") or {}
    group = str(document.get("apiVersion")).rpartition("/")[0]
    return group, str(document.get("kind")), metadata.get("namespace") or "default", str(metadata.get("name"))


class _Item(NamedTuple):
    """An object in a file: the file's name and text, the number of the document, and the position in a list."""

    file: str
    text: bytes
    number: int
    position: int | None
    document: Document


def _documents(places: Iterable[Path]) -> Iterator[_Item]:
    """The objects in the files. Lists give their items."""
    for place in places:
        files = sorted(file for file in place.rglob("*") if file.suffix in _SUFFIXES) if place.is_dir() else [place]
        for file in files:
            name = "standard input" if str(file) == "-" else str(file)
            try:
                text = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
                documents = parse_yaml_documents(text)
            except OSError as problem:
                raise UsageError(f"{name}: {problem.strerror}") from None
            except ValueError as problem:
                raise UsageError(f"{name}: not YAML: {str(problem).removeprefix('yaml: ')}") from None
            for number, document in enumerate(document for document in documents if isinstance(document, dict)):
                items = document.get("items") if str(document.get("kind")).endswith("List") else None
                if not isinstance(items, list):
                    yield _Item(name, text, number, None, document)
                    continue
                for index, item in enumerate(items):
                    if isinstance(item, dict):
                        yield _Item(name, text, number, index, item)
