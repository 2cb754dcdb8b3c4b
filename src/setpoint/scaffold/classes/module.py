"""Writes a module of Python classes for the kinds of CustomResourceDefinitions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, Final

from setpoint.crd.custom_resource import plural_of
from setpoint.crd.declared_paths import column_type
from setpoint.crd.files import checked_definition, name_of
from setpoint.meta import wire_name
from setpoint.scaffold.classes.attributes import attributes_of
from setpoint.scaffold.classes.record import Field, Record, Records, SchemaProblem, rules_source
from setpoint.scaffold.classes.text import call, class_head, docstring, field_lines, literal

Document = Mapping[str, Any]
_RESERVED: Final = frozenset({"Annotated", "Any", "Literal", "None", "True", "False"})
_MARK: Final = re.compile("\0(\\d+)\0")
_PROJECT_LABELS: Final = ("app.kubernetes.io/part-of", "app.kubernetes.io/name")
_STABILITY: Final = {"alpha": 0, "beta": 1, "": 2}
_VERSION: Final = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")


@dataclass
class _Kind:
    """One version of a kind, and the name of its class."""

    definition: Document
    version: Document
    name: str
    fields: Sequence[Field] = ()


def definitions_to_source(definitions: Iterable[Document], *, own: bool = False, installed_by: str = "") -> str:
    """The source of a module with a class for every version of every kind, and for the objects in them.

    The kinds belong to another project, unless they are the program's ``own``: ``installed_by`` is the project's name,
    by default the one in the labels of a definition, or its group. The stored version has the kind's name, other
    versions have theirs behind it. The same definitions always give the same source.

    Raises:
        SchemaProblem: a document is not a definition of ``apiextensions.k8s.io/v1``, or has no schema.
    """
    kinds = _kinds(definitions)
    records = Records(own=own)
    for kind in kinds:
        schema = kind.version.get("schema", {}).get("openAPIV3Schema")
        if not isinstance(schema, Mapping):
            raise SchemaProblem(f"{name_of(kind.definition)}: version {kind.version['name']} has no openAPIV3Schema")
        kind.fields = records.kind_fields(schema, (kind.name,))
    names = _class_names(records.all, {kind.name for kind in kinds})
    modules = {module for _, module in records.modules}
    blocks: list[str] = []
    done: set[int] = set()
    for kind in kinds:
        for record in _needed(kind.fields, records.all, done):
            head = class_head(names[record.number], "sp.Model", {"rules": record.rules} if record.rules else {})
            blocks.append(_class(head, record.doc, record.fields, names, modules, on_object=False))
        head = class_head(kind.name, "sp.CustomResource", _keywords(kind, own=own, installed_by=installed_by))
        doc = str(kind.version["schema"]["openAPIV3Schema"].get("description", ""))
        blocks.append(_class(head, doc, kind.fields, names, modules, on_object=True))
    body = "\n\n\n".join(blocks) + "\n"
    groups = ", ".join(dict.fromkeys(str(kind.definition["spec"]["group"]) for kind in kinds))
    return "\n".join([f'"""The kinds of {groups}."""', "", *_imports(body, records.modules)]) + "\n\n\n" + body


def _kinds(definitions: Iterable[Document]) -> list[_Kind]:
    kinds: list[_Kind] = []
    used: set[str] = set(_RESERVED)
    checked = [_checked(definition) for definition in definitions]
    for definition in sorted(checked, key=lambda document: (document["spec"]["names"]["kind"], name_of(document))):
        spec = definition["spec"]
        kind = spec["names"]["kind"].replace("-", "")
        name = _free(kind.capitalize() if iskeyword(kind) else kind, spec["group"], used)
        for version in _ordered(spec["versions"]):
            label = (
                name
                if version["storage"]
                else f"{name}{re.sub('[^a-z0-9]', '_', str(version['name']).capitalize(), flags=re.IGNORECASE)}"
            )
            used.add(label)
            kinds.append(_Kind(definition, version, label))
    return kinds


def _checked(definition: Document) -> Document:
    try:
        return checked_definition(definition)
    except ValueError as problem:
        raise SchemaProblem(str(problem)) from None


def _free(kind: str, group: str, used: set[str]) -> str:
    """The kind's name, or with the beginning of its group if another group has a kind of that name."""
    if kind not in used:
        return kind
    return f"{kind}Of{''.join(part.capitalize() for part in re.split(r'[.-]', group.partition('.')[0]))}"


def _ordered(versions: Iterable[Document]) -> list[Document]:
    """The stored version first, then the others from the most stable and newest on."""

    def rank(version: Document) -> tuple[bool, int, int, int]:
        match = _VERSION.fullmatch(str(version["name"]))
        if match is None:
            return bool(version["storage"]), -1, 0, 0
        return bool(version["storage"]), _STABILITY[match[2] or ""], int(match[1]), int(match[3] or 0)

    return sorted(versions, key=rank, reverse=True)


def _class_names(records: Sequence[Record], kinds: set[str]) -> list[str]:
    """A name for each record: the shortest of those that its places give, if it is free."""
    names: dict[int, str] = {}
    used = set(kinds) | _RESERVED
    candidates = {record.number: sorted({"".join(place) for place in record.places}, key=_length) for record in records}
    for record in sorted(records, key=lambda record: _length(candidates[record.number][0])):
        free = next((name for name in candidates[record.number] if name not in used), "")
        number = 2
        while not free:
            name = f"{candidates[record.number][0]}{number}"
            free, number = "" if name in used else name, number + 1
        used.add(free)
        names[record.number] = free
    return [names[record.number] for record in records]


def _length(name: str) -> tuple[int, str]:
    return len(name), name


def _needed(fields: Iterable[Field], records: Sequence[Record], done: set[int]) -> list[Record]:
    """The records in these fields that are not written yet, each behind those that it needs."""
    needed: list[Record] = []
    for part in fields:
        for mark in _MARK.findall(part.annotation):
            number = int(mark)
            if number not in done:
                done.add(number)
                needed += [*_needed(records[number].fields, records, done), records[number]]
    return needed


def _class(
    head: Sequence[str], doc: str, fields: Sequence[Field], names: Sequence[str], modules: set[str], *, on_object: bool
) -> str:
    lines = [*head, *docstring(doc)]
    if len(lines) > len(head) and fields:
        lines.append("")
    attributes = attributes_of((part.wire for part in fields), on_object=on_object, reserved_names=modules)
    for part in fields:
        attribute, default = attributes[part.wire], _named(part.default, names)
        if wire_name(attribute) != part.wire:
            keywords = {"name": literal(part.wire)}
            if default.endswith("()"):
                keywords["default_factory"] = default.removesuffix("()")
            elif default == "{}":
                keywords["default_factory"] = "dict"
            elif default:
                keywords["default"] = default
            default = call("msgspec.field", keywords)
        annotation = _named(part.annotation, names)
        lines += [f"    {line}" for line in field_lines(attribute, annotation, part.keywords, part.absent, default)]
        lines += docstring(part.doc)
    if len(lines) == len(head):
        lines.append("    pass")
    return "\n".join(lines)


def _named(source: str, names: Sequence[str]) -> str:
    return _MARK.sub(lambda match: names[int(match[1])], source)


def _keywords(kind: _Kind, *, own: bool, installed_by: str) -> dict[str, str | Sequence[str]]:
    spec, version = kind.definition["spec"], kind.version
    names, subresources = spec["names"], version.get("subresources") or {}
    word, plural = str(names["kind"]), str(names["plural"])
    keywords: dict[str, str | Sequence[str]] = {
        "group": literal(spec["group"]),
        "version": literal(version["name"]),
    }
    if not own:
        keywords["installed_by"] = literal(installed_by or _project_of(kind.definition))
    if kind.name != word:
        keywords["kind"] = literal(word)
    for name, value, usual in (
        ("plural", plural, plural_of(word)),
        ("singular", names.get("singular") or word.lower(), word.lower()),
        ("list_kind", names.get("listKind") or f"{word}List", f"{word}List"),
        ("scope", spec["scope"], "Namespaced"),
    ):
        if value != usual:
            keywords[name] = literal(value)
    for name, wire in (("short_names", "shortNames"), ("categories", "categories")):
        if names.get(wire):
            keywords[name] = literal(names[wire])
    is_open = version["schema"]["openAPIV3Schema"].get("x-kubernetes-preserve-unknown-fields")
    if is_open or spec.get("preserveUnknownFields"):  # the latter only in definitions from before structural schemas
        keywords["preserve_unknown_fields"] = "True"
    for name in ("served", "storage"):
        if not version[name]:
            keywords[name] = "False"
    if version.get("deprecated"):
        keywords["deprecated"] = literal(version.get("deprecationWarning") or True)
    if "status" not in subresources and any(part.wire == "status" for part in kind.fields):
        keywords["status_subresource"] = "False"
    if scale := subresources.get("scale"):
        paths = {
            "spec_replicas": scale["specReplicasPath"],
            "status_replicas": scale["statusReplicasPath"],
            "label_selector": scale.get("labelSelectorPath"),
        }
        keywords["scale"] = call("sp.ScaleSubresource", {name: literal(path) for name, path in paths.items() if path})
    if version.get("selectableFields"):
        keywords["selectable_fields"] = literal([field["jsonPath"] for field in version["selectableFields"]])
    if version.get("additionalPrinterColumns"):
        schema = version["schema"]["openAPIV3Schema"]
        keywords["columns"] = [_column(column, schema) for column in version["additionalPrinterColumns"]]
    if rules := rules_source(version["schema"]["openAPIV3Schema"]):
        keywords["rules"] = rules
    return keywords


def _project_of(definition: Document) -> str:
    labels = definition["metadata"].get("labels") or {}
    project = next((labels[label] for label in _PROJECT_LABELS if isinstance(labels.get(label), str)), "")
    return project if re.fullmatch(r"\w[\w. -]*", project) else str(definition["spec"]["group"])


def _column(column: Document, schema: Document) -> str:
    keywords = {"name": literal(column["name"]), "json_path": literal(column["jsonPath"])}
    if column["type"] != column_type(schema, column["jsonPath"]):
        keywords["type"] = literal(column["type"])
    for name in ("description", "priority", "format"):
        if column.get(name):
            keywords[name] = literal(column[name])
    return call("sp.Column", keywords)


def _imports(body: str, modules: Iterable[tuple[str, str]]) -> list[str]:
    code = re.sub(r'"""(?:[^"\\]|\\.|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"', '""', body)
    times = [name for name in ("date", "datetime") if re.search(rf"[\[ (]{name}\b", code)]
    typing = [name for name in ("Annotated", "Any", "Literal") if re.search(rf"\b{name}\b", code)]
    lines = ["from __future__ import annotations", ""]
    lines += [f"from datetime import {', '.join(times)}"] if times else []
    lines += [f"from typing import {', '.join(typing)}"] if typing else []
    lines += [""] if times or typing else []
    lines += ["import msgspec", ""] if "msgspec." in code else []
    lines.append("import setpoint as sp")
    packages: dict[str, list[str]] = {}
    for package, module in sorted(modules):
        packages.setdefault(package, []).append(module)
    lines += [f"from {package} import {', '.join(names)}" for package, names in packages.items()]
    return lines
