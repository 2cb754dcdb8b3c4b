"""Checks the objects in files, for ``python program.py check FILE...``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, TextIO

from setpoint.apps.error_reports import UsageError
from setpoint.cli.finding_formats import Format, Location, Problem
from setpoint.cli.finding_formats import document as document_of
from setpoint.cli.manifest_files import read_manifests
from setpoint.cli.program_arguments import Parts
from setpoint.cli.yaml_lines import YamlLines
from setpoint.controller import watched_kinds
from setpoint.crd import CustomResource, Versions
from setpoint.crd.newest_version import newest_of
from setpoint.meta import resource_of
from setpoint.meta.text_escaping import visible
from setpoint.testing.checks import check_document, unknown_fields_of

Document = dict[str, Any]
_UNKNOWN: Final = "UnknownField"
_UNKNOWN_RULE: Final = "a field is not in the schema: the API server drops it, or refuses it in strict requests"


def check_files(parts: Parts, files: Sequence[Path], old: Sequence[Path], output: Format, stream: TextIO) -> int:
    """Writes the errors in the objects of the program's kinds to the stream, and returns the exit status.

    Raises:
        UsageError: there is no file, or no object in the files is of the program's kinds.
        YamlFileError: a file can't be read, or is not YAML.
    """
    if not files:
        raise UsageError('name the files to check, or "-" for standard input')
    kinds = _kinds(parts)
    stored = {_identity(item.document): item.document for item in read_manifests(old)}
    checked = refused = 0
    problems: list[Problem] = []
    for item in read_manifests(files):
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
                stream.write(visible(f"{item.file}: {message}\n"))
            else:
                line = YamlLines(item.text).line(item.number, path, item.position)
                problems.append(Problem(rule, message, Location(Path(item.file), line), {"field": path}))
    if not checked:
        names = ", ".join(sorted({kind for _, kind in kinds})) or "no custom resource"
        raise UsageError(f"no object in the files is of the program's kinds, which are {names}")
    if output != "text":
        stream.write(document_of(output, "setpoint check", {_UNKNOWN: _UNKNOWN_RULE}, problems))
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
