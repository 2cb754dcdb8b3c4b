"""From definitions to Python: which classes there are, their fields, annotations and zero values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tools.models.inputs import Definition
from tools.models.naming import attribute_name, class_name, module_name
from tools.models.prose import class_doc, field_doc

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
OBJECT_META = _META + "ObjectMeta"
LIST_META = _META + "ListMeta"

# Definitions that become plain types, not classes.
_PLAIN = {
    _META + "Time": "datetime",
    _META + "MicroTime": "MicroTime",
    _META + "FieldsV1": "dict[str, Any]",
    _META + "Patch": "Any",
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "str",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "Any",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int | str",
    _EXTENSIONS + "JSON": "Any",
    _EXTENSIONS + "JSONSchemaPropsOrArray": "JSONSchemaProps | list[JSONSchemaProps]",
    _EXTENSIONS + "JSONSchemaPropsOrBool": "JSONSchemaProps | bool",
    _EXTENSIONS + "JSONSchemaPropsOrStringArray": "JSONSchemaProps | list[str]",
}
# Classes that setpoint.meta has written by hand.
HAND_WRITTEN = frozenset(
    _META + name
    for name in (
        "Condition",
        "LabelSelector",
        "LabelSelectorRequirement",
        "ListMeta",
        "ManagedFieldsEntry",
        "ObjectMeta",
        "OwnerReference",
        "Status",
        "StatusCause",
        "StatusDetails",
    )
)
_SCALARS = {"string": "str", "boolean": "bool", "integer": "int", "number": "int | float", "object": "dict[str, Any]"}
_ZEROS = {
    "str": '""',
    "bytes": 'b""',
    "bool": "False",
    "int": "0",
    "int | str": "0",
    "int | float": "0",
    "Any": "None",
    "datetime": "datetime.min",
}


class Role(Enum):
    """The purpose of a class."""

    OBJECT = "has metadata and an address of its own or as a subresource"
    LIST = "a page of objects"
    KIND = "has apiVersion and kind but no metadata, such as DeleteOptions"
    PART = "inside something else"


_ORDER = (Role.PART, Role.KIND, Role.OBJECT, Role.LIST)


@dataclass(frozen=True, slots=True)
class Field:
    """One field. It is required if it has neither ``default`` (a literal) nor ``factory`` (a callable's expression)."""

    wire: str
    attribute: str
    annotation: str
    default: str | None
    factory: str | None
    doc: str


@dataclass(slots=True)
class Class:
    definition: str
    name: str
    module: str
    role: Role
    doc: str
    gvk: tuple[str, str, str] | None
    fields: list[Field] = field(default_factory=list)
    item: str = ""
    """The class of a list's items."""
    uses: set[str] = field(default_factory=set)
    """Definitions of the classes that annotations and zero values name, the class's own aside."""


class Types:
    """All classes of a set of definitions."""

    def __init__(self, definitions: dict[str, Definition]) -> None:
        self.definitions = definitions
        self.homes = _homes(definitions)
        """The definition whose class serves for another one: of a part that is the same in a more stable version."""
        self.classes = {
            name: self._class(name)
            for name in definitions
            if name not in _PLAIN and name not in HAND_WRITTEN and name not in self.homes
        }

    def modules(self) -> dict[str, list[Class]]:
        """Classes by module: parts, then objects, then lists, so that a zero value's class is there when named."""
        modules: dict[str, list[Class]] = {}
        for class_ in sorted(self.classes.values(), key=lambda item: (item.module, _ORDER.index(item.role), item.name)):
            modules.setdefault(class_.module, []).append(class_)
        return modules

    def passed_on(self) -> dict[str, dict[str, list[str]]]:
        """The classes that a module has from another one: module -> other module -> names."""
        modules: dict[str, dict[str, list[str]]] = {}
        for name, home in self.homes.items():
            modules.setdefault(module_name(name), {}).setdefault(module_name(home), []).append(class_name(home))
        return modules

    def role(self, name: str) -> Role:
        definition = self.definitions[name]
        if "x-kubernetes-group-version-kind" not in definition:
            return Role.PART
        properties = definition.get("properties", {})
        match properties.get("metadata", {}).get("$ref"):
            case str(reference) if reference == OBJECT_META:
                return Role.OBJECT
            case str(reference) if reference == LIST_META and "items" in properties:
                return Role.LIST
        return Role.KIND

    def _class(self, name: str) -> Class:
        definition, role = self.definitions[name], self.role(name)
        class_ = Class(
            name, class_name(name), module_name(name), role, definition.get("description", ""), self.gvk(name)
        )
        if role is Role.LIST:  # all of them have the fields of KindList
            if definition["properties"].keys() != {"apiVersion", "kind", "items", "metadata"}:
                raise SystemExit(f"{name} has other fields than lists have: {sorted(definition['properties'])}")
            class_.item = self.annotation(definition["properties"]["items"]["items"], class_)
            return class_
        for wire, schema in definition.get("properties", {}).items():
            if role is not Role.PART and wire in ("apiVersion", "kind"):
                continue
            if role is Role.OBJECT and wire == "metadata":
                continue  # inherited
            class_.fields.append(self._field(class_, wire, schema))
        attributes = [item.attribute for item in class_.fields]
        if len(set(attributes)) != len(attributes):
            raise SystemExit(f"{name}: two fields get the same attribute name in {sorted(attributes)}")
        return class_

    def gvk(self, name: str) -> tuple[str, str, str] | None:
        """Group, version and kind; of a kind that every group has (DeleteOptions) the core group's."""
        kinds = self.definitions[name].get("x-kubernetes-group-version-kind", [])
        names = sorted((kind["group"], kind["version"], kind["kind"]) for kind in kinds)
        return next((kind for kind in names if kind[:2] == ("", "v1")), names[0] if names else None)

    def _field(self, owner: Class, wire: str, schema: Definition) -> Field:
        annotation = self.annotation(schema, owner)
        default, factory = self._default(owner, wire, schema, annotation)
        if default == "None" and annotation != "Any":
            annotation += " | None"
        return Field(
            wire=wire,
            attribute=attribute_name(wire, on_object=owner.role is Role.OBJECT),
            annotation=annotation,
            default=default,
            factory=factory,
            doc=schema.get("description", ""),
        )

    def _default(self, owner: Class, wire: str, schema: Definition, annotation: str) -> tuple[str | None, str | None]:
        reference = schema.get("$ref", "")
        if wire == "metadata" and reference in (OBJECT_META, LIST_META):
            return None, class_name(reference)
        if owner.role is Role.OBJECT and wire in ("spec", "status") and self._is_class(reference):
            # Also where it is required: an apply that is about the status alone must be able to leave the spec out.
            zero = self._zero(schema, owner)
            if zero == f"{class_name(reference)}()":
                return None, class_name(reference)
            return None, f"lambda: {zero}"
        if wire in self.definitions[owner.definition].get("required", ()):
            return None, None
        if owner.name.endswith("TemplateSpec") and wire == "spec":
            return None, None
        if annotation.startswith("list["):
            return "[]", None
        if annotation.startswith("dict["):
            return "{}", None
        return "None", None

    def _is_class(self, name: str) -> bool:
        return name in self.definitions and name not in _PLAIN

    def _zero(self, schema: Definition, owner: Class) -> str:
        """An expression for the zero value that Go's decoder gives a field that was not sent."""
        reference = schema.get("$ref", "")
        if not self._is_class(reference):
            annotation = self.annotation(schema, owner)
            if annotation.startswith("list["):
                return "[]"
            return "{}" if annotation.startswith("dict[") else _ZEROS[annotation]
        definition = self.definitions[reference]
        properties = definition.get("properties", {})
        required = [wire for wire in properties if self._must_be_given(reference, wire)]
        owner.uses.add(self.homes.get(reference, reference))
        arguments = (
            f"{attribute_name(wire, on_object=False)}={self._zero(properties[wire], owner)}" for wire in required
        )
        return f"{class_name(reference)}({', '.join(arguments)})"

    def _must_be_given(self, name: str, wire: str) -> bool:
        if wire == "metadata" and self.definitions[name]["properties"][wire].get("$ref") == OBJECT_META:
            return False
        return wire in self.definitions[name].get("required", ()) or (name.endswith("TemplateSpec") and wire == "spec")

    def annotation(self, schema: Definition, owner: Class) -> str:
        """The annotation of a schema, None not included."""
        reference = schema.get("$ref")
        if reference is not None:
            if reference in _PLAIN:
                plain = _PLAIN[reference]
                if "JSONSchemaProps" in plain:
                    owner.uses.add(_EXTENSIONS + "JSONSchemaProps")
                return plain
            owner.uses.add(self.homes.get(reference, reference))
            return class_name(reference)
        kind = schema.get("type")
        if kind == "array":
            return f"list[{self.annotation(schema['items'], owner)}]"
        if kind == "object" and "additionalProperties" in schema:
            return f"dict[str, {self.annotation(schema['additionalProperties'], owner)}]"
        if kind == "string" and schema.get("format") == "byte":
            return "bytes"
        if kind == "string" and schema.get("format") == "date-time":
            return "datetime"
        if kind not in _SCALARS:
            raise SystemExit(f"{owner.definition}: don't know what to make of {schema}")
        return _SCALARS[kind]


def kinds(types: Types, role: Role) -> Iterator[Class]:
    """All classes with that role."""
    return (class_ for class_ in types.classes.values() if class_.role is role)


def _homes(definitions: dict[str, Definition]) -> dict[str, str]:
    """The parts that another version of the same group has, too, each with its most stable definition.

    Two parts are the same only if all parts are that they refer to.
    """
    homes: dict[str, str] = {}  # found one by one: what refers to a part can be the same as soon as the part is
    candidates = sorted(
        (name for name, definition in definitions.items() if "x-kubernetes-group-version-kind" not in definition),
        key=_stability,
    )
    groups: dict[str, list[str]] = {}
    for name in candidates:
        if name.startswith("io.k8s.api."):
            package, _, word = name.rpartition(".")
            groups.setdefault(f"{package.rpartition('.')[0]}.{word}", []).append(name)
    while True:
        before = len(homes)
        for names in groups.values():
            for position, name in enumerate(names):
                comparable = _comparable(definitions[name], homes)
                same = (home for home in names[:position] if _comparable(definitions[home], homes) == comparable)
                if home := next(same, None):
                    homes[name] = home
        if len(homes) == before:
            return homes


def _stability(name: str) -> tuple[bool, bool, int, int]:
    """A key that sorts versions: stable before beta before alpha, the newest of each first."""
    version = re.fullmatch(r"v(\d+)(?:(alpha|beta)(\d+))?", name.split(".")[-2])
    if version is None:
        return (True, True, 0, 0)
    major, stage, minor = version.groups()
    return (stage == "alpha", stage is not None, -int(major), -int(minor or 0))


def _comparable(schema: Any, homes: dict[str, str]) -> Any:
    """The schema with references to the homes of what it refers to, and with as much of descriptions as models show."""
    if isinstance(schema, list):
        return [_comparable(item, homes) for item in schema]
    if not isinstance(schema, dict):
        return schema
    comparable = {key: _comparable(value, homes) for key, value in schema.items()}
    if reference := schema.get("$ref"):
        comparable["$ref"] = homes.get(reference, reference)
    if isinstance(description := schema.get("description"), str):
        comparable["description"] = [class_doc(description), field_doc(description)]
    return comparable
