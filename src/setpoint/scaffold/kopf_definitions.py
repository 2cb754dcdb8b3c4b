"""The CustomResourceDefinitions that lie beside a kopf operator, and the names and scopes that they give its kinds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from setpoint.crd.files import DefinitionFileError, unchecked_definitions
from setpoint.meta.yaml_files import SUFFIXES
from setpoint.scaffold.kopf_handlers import Handler

Document = dict[str, Any]
Scope: TypeAlias = Literal["Namespaced", "Cluster"]


def definitions_beside(path: Path) -> list[Document]:
    """The definitions in the folder of the operator's file and in the folders in it. A file that is not YAML, such as a
    template of a chart, has none.
    """
    folder = path.parent
    files = sorted(file for pattern in ("*", "*/*") for file in folder.glob(pattern) if file.suffix in SUFFIXES)
    definitions: list[Document] = []
    for file in files:
        try:
            definitions += unchecked_definitions(file.read_bytes(), str(file))
        except (DefinitionFileError, OSError):
            continue
    return [
        definition
        for definition in definitions
        if isinstance(definition.get("spec"), dict) and {"kind", "plural"} <= {*(definition["spec"].get("names") or ())}
    ]


def named_by_definitions(handlers: Iterable[Handler], definitions: Sequence[Document]) -> list[Handler]:
    """The handlers, with the group and the kind of the definition of their resource, if there is one."""
    return [_named(handler, definitions) for handler in handlers]


def places_of(definitions: Iterable[Document]) -> dict[str, tuple[str, Scope]]:
    """The plural and the scope of each kind."""
    places: dict[str, tuple[str, Scope]] = {}
    for definition in definitions:
        spec = definition["spec"]
        scope: Scope = "Cluster" if spec.get("scope") == "Cluster" else "Namespaced"
        places[str(spec["names"]["kind"])] = str(spec["names"]["plural"]), scope
    return places


def _named(handler: Handler, definitions: Sequence[Document]) -> Handler:
    group, version, name = handler.resource
    for definition in definitions if name else ():
        spec = definition["spec"]
        names = spec["names"]
        words = {str(names.get(word, "")).lower() for word in ("kind", "plural", "singular")}
        if group in ("", spec.get("group")) and name.lower() in {*words, *names.get("shortNames", ())}:
            return replace(handler, resource=(str(spec.get("group", group)), version, str(names["kind"])))
    return handler
