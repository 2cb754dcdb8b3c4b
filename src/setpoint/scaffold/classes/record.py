"""Reads schemas as annotations of fields, and as the classes that these annotations need."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from setpoint.crd.builtin_schemas import QUANTITY
from setpoint.scaffold.classes.attributes import class_word
from setpoint.scaffold.classes.kubernetes import fits_object_meta, is_quantity, kubernetes_type
from setpoint.scaffold.classes.text import annotated, call, literal

JSONSchema = Mapping[str, Any]
Place = tuple[str, ...]
"""The words of a class's name: the kind's class, and the fields that lead to the part."""
_JUNCTORS: Final = ("allOf", "anyOf", "oneOf", "not", "uniqueItems")
_UNKNOWN: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
"""The schema of a part of which a definition says nothing, in an object whose unknown fields are stored."""
_LEAST, _MOST = -(2**63), 2**63 - 1
_TIMES: Final = {"date-time": "datetime", "date": "date", "byte": "bytes"}
_LENGTHS: Final = {"minLength": "min_length", "maxLength": "max_length"}
_ITEMS: Final = {"minItems": "min_length", "maxItems": "max_length"}
_PROPERTIES: Final = {"minProperties": "min_properties", "maxProperties": "max_properties"}


class SchemaProblem(ValueError):
    """A definition has no structural schema; the message names the definition and the reason."""


@dataclass
class Field:
    """A field of a class. ``annotation``, ``keywords`` (of `setpoint.Field`), ``absent`` (`` | None``) and ``default``
    are source; a default of ``""`` means that the field is required. In an annotation, ``\\0n\\0`` stands for the name
    of record ``n``.
    """

    wire: str
    annotation: str
    keywords: dict[str, str]
    default: str
    doc: str
    absent: str = ""


@dataclass
class Record:
    """A class for objects in a kind, with every place where it is used."""

    number: int
    fields: list[Field] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    doc: str = ""
    places: list[Place] = field(default_factory=list)

    @property
    def has_required(self) -> bool:
        return any(not part.default for part in self.fields)


@dataclass
class _Shape:
    annotation: str
    keywords: dict[str, str] = field(default_factory=dict)
    record: Record | None = None


class Records:
    """The classes for the objects in the kinds of a module.

    Parts with the same schema in fields of the same name share a class. With ``own``, a scalar default of a schema is
    the default of the field. Otherwise a field with a default is None where it is absent: the API server fills it in,
    and an apply by a program that did not set the field leaves the field to others.
    """

    def __init__(self, *, own: bool) -> None:
        self.own = own
        self.all: list[Record] = []
        self.modules: set[tuple[str, str]] = set()
        """The modules of Kubernetes' own types that the annotations name, with the package of each."""
        self._by_key: dict[str, Record] = {}

    def kind_fields(self, schema: JSONSchema, place: Place) -> list[Field]:
        """The fields of a kind, without ``apiVersion``, ``kind`` and ``metadata``.

        ``spec`` and ``status`` are never None. Of ``status`` no field is required, because an object has no status at
        first; ``spec`` is required if one of its fields is. If a kind's unknown fields are stored, it has both.
        """
        fields = []
        required = schema.get("required", ())
        properties = dict(schema.get("properties") or {})
        if schema.get("x-kubernetes-preserve-unknown-fields"):
            properties = {"spec": _UNKNOWN, "status": _UNKNOWN} | properties
        for wire, part in properties.items():
            if wire in ("apiVersion", "kind", "metadata"):
                continue
            if wire not in ("spec", "status"):
                fields.append(self._field(wire, part, place, is_required=wire in required))
                continue
            shape = self._shape(part, (*place, class_word(wire)), relaxed=wire == "status")
            default = "{}"
            if shape.record is not None:
                default = "" if shape.record.has_required else f"{shape.annotation}()"
            elif shape.annotation.startswith("dict["):
                default = "{}"
            else:
                fields.append(self._field(wire, part, place, is_required=wire in required))
                continue
            if wire == "spec" and wire in required:
                default = ""
            fields.append(Field(wire, shape.annotation, shape.keywords, default, str(part.get("description", ""))))
        return fields

    def _field(self, wire: str, schema: JSONSchema, place: Place, *, is_required: bool) -> Field:
        shape = self._shape(schema, (*place, class_word(wire)))
        annotation, keywords, default, absent = shape.annotation, shape.keywords, "", ""
        value = schema.get("default")
        if value is not None and self.own and _is_plain(value, annotation):
            default = literal(value)
        elif value is not None:
            keywords["default"] = literal(value)
        if schema.get("nullable") and annotation != "Any":
            keywords.pop("nullable", None)
            absent = " | msgspec.UnsetType | None"
            default = default or ("" if is_required and value is None else "msgspec.UNSET")
        elif not default and (value is not None or not is_required):
            absent = "" if annotation == "Any" else " | None"
            default = "None"
        return Field(wire, annotation, keywords, default, str(schema.get("description", "")), absent)

    def _shape(self, schema: JSONSchema, place: Place, *, relaxed: bool = False) -> _Shape:
        """The annotation of a value, and the keywords of its `setpoint.Field`. ``relaxed``: no field is required."""
        shape = self._bare(schema, place, relaxed=relaxed)
        keywords, kind = shape.keywords, shape.annotation
        extra: dict[str, Any] = {}
        if "pattern" in schema and kind != "sp.Quantity":
            keywords["pattern"] = literal(schema["pattern"])
        if schema.get("format") and kind not in _TIMES.values() and (kind, schema["format"]) != ("int", "int64"):
            keywords["format"] = literal(schema["format"])
        _bounds(schema, kind, keywords, extra)
        for names, fits in ((_LENGTHS, kind == "str"), (_ITEMS, kind.startswith("list[")), (_PROPERTIES, True)):
            for keyword, parameter in names.items():
                if keyword in schema and fits:
                    keywords[parameter] = literal(schema[keyword])
                elif keyword in schema and not (kind == "sp.Quantity" and schema[keyword] == QUANTITY["maxLength"]):
                    extra[keyword] = schema[keyword]
        if _has_keys(schema, own="\0" in kind):
            keywords["list_map_keys"] = literal(schema["x-kubernetes-list-map-keys"])
        elif (list_type := schema.get("x-kubernetes-list-type")) and list_type != "map":
            keywords["list_type"] = literal(list_type)
        if map_type := schema.get("x-kubernetes-map-type"):
            keywords["map_type"] = literal(map_type)
        extra |= {keyword: schema[keyword] for keyword in _JUNCTORS if keyword in schema}
        if schema.get("x-kubernetes-int-or-string") and extra.get("anyOf") == QUANTITY["anyOf"]:
            extra.pop("anyOf")
        if "enum" in schema and not kind.startswith("Literal["):
            extra["enum"] = schema["enum"]
        if shape.record is None and (rules := rules_source(schema)):
            keywords["rules"] = f"[{', '.join(rules)}]"
        if extra:
            keywords["extra_schema"] = literal(extra)
        return shape

    def _bare(self, schema: JSONSchema, place: Place, *, relaxed: bool) -> _Shape:
        kind = schema.get("type")
        if schema.get("x-kubernetes-int-or-string"):
            return _Shape("sp.Quantity" if is_quantity(schema) else "int | str")
        if schema.get("x-kubernetes-preserve-unknown-fields") and kind in (None, "object"):
            return _Shape("Any") if kind is None else _raw(schema)
        if kind == "object":
            return self._object(schema, place, relaxed=relaxed)
        if kind == "array" and schema.get("x-kubernetes-preserve-unknown-fields"):
            return _Shape("list[Any]")
        if kind == "array":
            return _Shape(f"list[{self._inner(schema.get('items', {}), place)}]")
        if kind in ("string", "integer") and (choices := _choices(schema, str if kind == "string" else int)):
            return _Shape(f"Literal[{', '.join(map(literal, choices))}]")
        if kind == "string":
            return _Shape(_TIMES.get(schema.get("format", ""), "str"))
        return _Shape({"integer": "int", "number": "float", "boolean": "bool"}.get(str(kind), "Any"))

    def _object(self, schema: JSONSchema, place: Place, *, relaxed: bool) -> _Shape:
        if schema.get("x-kubernetes-embedded-resource"):
            return _raw(schema)
        values = schema.get("additionalProperties")
        if isinstance(values, Mapping):
            return _Shape(f"dict[str, {self._inner(values, place)}]")
        if values is True:
            return _raw(schema)
        if place[-1] == "Metadata" and fits_object_meta(schema):
            return _Shape("sp.ObjectMeta")
        if (imported := kubernetes_type(schema)) is not None:
            return _Shape(self._imported(*imported))
        record = self._record(schema, place, relaxed=relaxed)
        return _Shape(f"\0{record.number}\0", record=record)

    def _inner(self, schema: JSONSchema, place: Place) -> str:
        """The annotation of an item of a list, or a value of a map."""
        shape = self._shape(schema, place)
        if shape.record is not None and not shape.record.doc:
            shape.record.doc = str(schema.get("description", ""))
        if schema.get("default") is not None:
            shape.keywords["default"] = literal(schema["default"])
        nullable = schema.get("nullable") and shape.annotation != "Any"
        return annotated(shape.annotation, shape.keywords) + (" | None" if nullable else "")

    def _record(self, schema: JSONSchema, place: Place, *, relaxed: bool) -> Record:
        content = {name: part for name, part in schema.items() if name not in ("description", "default", "nullable")}
        key = json.dumps([place[-1], relaxed, content], sort_keys=True)
        record = self._by_key.get(key)
        if record is None:
            record = Record(len(self.all))
            self.all.append(record)
            self._by_key[key] = record
            record.rules = rules_source(schema)
            required = () if relaxed else schema.get("required", ())
            for wire, part in (schema.get("properties") or {}).items():
                record.fields.append(self._field(wire, part, place, is_required=wire in required))
        record.places.append(place)
        return record

    def _imported(self, module: str, name: str) -> str:
        if module == "setpoint.meta" and name in ("Condition", "LabelSelector"):
            return f"sp.{name}"
        package, _, last = module.rpartition(".")
        self.modules.add((package, last))
        return f"{last}.{name}"


def rules_source(schema: JSONSchema) -> list[str]:
    """The CEL rules of a schema, as source."""
    words = {
        "message": "message",
        "messageExpression": "message_expression",
        "reason": "reason",
        "fieldPath": "field_path",
        "optionalOldSelf": "optional_old_self",
    }
    rules = []
    for rule in schema.get("x-kubernetes-validations", ()):
        keywords = {"rule": literal(rule["rule"].strip())}
        keywords |= {parameter: literal(rule[keyword]) for keyword, parameter in words.items() if keyword in rule}
        rules.append(call("sp.ValidationRule", keywords))
    return rules


def _raw(schema: JSONSchema) -> _Shape:
    """Any object. Its fields are kept as they are, also those that the schema describes."""
    keywords = {"embedded_resource": "True"} if schema.get("x-kubernetes-embedded-resource") else {}
    return _Shape("dict[str, Any]", keywords)


def _has_keys(schema: JSONSchema, *, own: bool) -> bool:
    """Whether the items of the list have keys that are always there. Old definitions may have others. Only a class of
    the module's own has the defaults of its schema; Kubernetes' classes have none.
    """
    items = schema.get("items") or {}
    properties, required = items.get("properties") or {}, items.get("required") or ()
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    return bool(keys) and all(key in required or (own and "default" in properties.get(key, {})) for key in keys)


def _choices(schema: JSONSchema, kind: type) -> list[Any]:
    """The values of an enum, each once; none if one of them has another type."""
    choices = [value for value in dict.fromkeys(map(_hashable, schema.get("enum", ()))) if value is not None]
    return choices if all(type(value) is kind for value in choices) else []


def _hashable(value: Any) -> Any:
    return value if not isinstance(value, dict | list) else literal(value)


def _bounds(schema: JSONSchema, kind: str, keywords: dict[str, str], extra: dict[str, Any]) -> None:
    for keyword, flag, closed, exclusive in (
        ("minimum", "exclusiveMinimum", "ge", "gt"),
        ("maximum", "exclusiveMaximum", "le", "lt"),
    ):
        if keyword not in schema:
            continue
        bound = schema[keyword]
        if kind == "int" and float(bound).is_integer() and _LEAST <= int(bound) <= _MOST:
            keywords[exclusive if schema.get(flag) else closed] = literal(int(bound))
        elif kind == "float":
            keywords[exclusive if schema.get(flag) else closed] = literal(bound)
        else:
            extra[keyword] = bound
            if schema.get(flag):
                extra[flag] = True
    if "multipleOf" in schema:
        if kind in ("int", "float"):
            keywords["multiple_of"] = literal(schema["multipleOf"])
        else:
            extra["multipleOf"] = schema["multipleOf"]


def _is_plain(value: Any, annotation: str) -> bool:
    """Whether the value is a scalar that a field of this type can have as its default."""
    kinds: Iterable[type] = {"str": (str,), "int": (int,), "float": (int, float), "bool": (bool,)}.get(annotation, ())
    if annotation.startswith("Literal["):
        kinds = (str, int)
    return type(value) in kinds
