"""The CustomResourceDefinitions that lie beside a kopf operator, and the names that they give its kinds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from setpoint.crd.files import SUFFIXES, DefinitionFileError, parse_definitions
from setpoint.scaffold.kopf_handlers import Handler

Document = dict[str, Any]


def definitions_beside(path: Path) -> list[Document]:
    """The definitions in the folder of the operator's file and in the folders in it. A file that is not YAML, such as a
    template of a chart, has none.
    """
    folder = path.parent
    files = sorted(file for pattern in ("*", "*/*") for file in folder.glob(pattern) if file.suffix in SUFFIXES)
    definitions: list[Document] = []
    for file in files:
        try:
            definitions += parse_definitions(file.read_text(encoding="utf-8"), str(file), needed=False)
        except (DefinitionFileError, OSError, UnicodeDecodeError):
            continue
    return [
        definition
        for definition in definitions
        if isinstance(definition.get("spec"), dict) and "names" in definition["spec"]
    ]


def named_by_definitions(handlers: Iterable[Handler], definitions: Sequence[Document]) -> list[Handler]:
    """The handlers, with the group and the kind of the definition of their resource, if there is one."""
    return [_named(handler, definitions) for handler in handlers]


def plurals_of(definitions: Iterable[Document]) -> dict[str, str]:
    """The plural of each kind."""
    return {
        str(definition["spec"]["names"]["kind"]): str(definition["spec"]["names"]["plural"])
        for definition in definitions
    }


def _named(handler: Handler, definitions: Sequence[Document]) -> Handler:
    group, version, name = handler.resource
    for definition in definitions if name else ():
        spec = definition["spec"]
        names = spec["names"]
        words = {str(names.get(word, "")).lower() for word in ("kind", "plural", "singular")}
        if group in ("", spec.get("group")) and name.lower() in {*words, *names.get("shortNames", ())}:
            return replace(handler, resource=(str(spec.get("group", group)), version, str(names["kind"])))
    return handler
