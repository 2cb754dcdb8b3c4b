"""From a Python type to a structural schema (``openAPIV3Schema``).

What a structural schema can't say (a union of objects, a type that contains itself) is a `DefinitionError` that names
the class and the field, not something that is silently left open.
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
"""

from __future__ import annotations

import enum
import inspect
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, Struct, UnsetType

from setpoint.crd.builtin import builtin_schema
from setpoint.crd.custom_resource import CustomResource, DefinitionError
from setpoint.crd.field import KUBERNETES, FieldOptions, Rule
from setpoint.meta import MicroTime, Object, ObjectMeta, Quantity, to_wire

JSONSchema = dict[str, Any]
QUANTITY_PATTERN = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"  # fmt: skip  # noqa: E501
_SCALARS: dict[Any, JSONSchema] = {
    bool: {"type": "boolean"},
    int: {"type": "integer", "format": "int64"},
    float: {"type": "number"},
    str: {"type": "string"},
    bytes: {"type": "string", "format": "byte"},
    datetime: {"type": "string", "format": "date-time"},
    MicroTime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    Quantity: {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": QUANTITY_PATTERN,
        "x-kubernetes-int-or-string": True,
    },
}
_BOUNDS = (
    ("ge", "minimum", ""),
    ("gt", "minimum", "exclusiveMinimum"),
    ("le", "maximum", ""),
    ("lt", "maximum", "exclusiveMaximum"),
    ("multiple_of", "multipleOf", ""),
    ("pattern", "pattern", ""),
)
_LENGTHS = {"string": ("minLength", "maxLength"), "array": ("minItems", "maxItems"), "object": ("minProperties", "maxProperties")}  # fmt: skip  # noqa: E501


@dataclass
class _Walk:
    """Where the walk is: for error messages, and to see a type that contains itself."""

    root: type
    path: list[str] = field(default_factory=list)
    inside: list[type] = field(default_factory=list)

    def error(self, problem: str) -> DefinitionError:
        return DefinitionError(f"{self.root.__name__}.{'.'.join(self.path) or '(itself)'}: {problem}")


def schema_of(kind: type[CustomResource]) -> JSONSchema:
    """The structural schema of a custom resource's class, with ``apiVersion``, ``kind`` and ``metadata``.

    Raises:
        DefinitionError: a field's type has no structural schema, or a default breaks its field's own rules.
    """
    schema = _struct(kind, _Walk(kind))
    schema["properties"].pop("metadata")
    schema["properties"] = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        **schema["properties"],
    }
    if kind.definition.rules:
        schema["x-kubernetes-validations"] = [_rule(rule) for rule in kind.definition.rules]
    return schema


def schema_of_type(annotation: Any) -> JSONSchema:
    """The structural schema of any type that may be a field's: for schemas beside a whole kind's.

    Raises:
        DefinitionError: the type has no structural schema.
    """
    return _type(annotation, _Walk(annotation if isinstance(annotation, type) else type(annotation)))


def _struct(kind: type[Struct], walk: _Walk) -> JSONSchema:
    if kind in walk.inside:
        raise walk.error(
            f"{kind.__name__} contains itself, and a structural schema can't; give the inner field the type "
            "dict[str, Any] or a class of limited depth"
        )
    walk.inside.append(kind)
    properties: dict[str, JSONSchema] = {}
    required = []
    try:
        fields = msgspec.structs.fields(kind)
    except NameError as problem:
        raise walk.error(
            f"a type of {kind.__name__} can't be found at run time ({problem}); import it outside TYPE_CHECKING"
        ) from None
    for item in fields:
        walk.path.append(item.encode_name)
        if kind is walk.root and item.name == "metadata":
            properties["metadata"] = {}
        else:
            schema = _type(item.type, walk)
            default = _default(item, walk)
            if default is not UNSET:
                schema["default"] = default
            properties[item.encode_name] = schema
            if item.required:
                required.append(item.encode_name)
        walk.path.pop()
    walk.inside.pop()
    schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = sorted(required)
    doc = _doc(kind)
    return {"description": doc, **schema} if doc else schema


def _doc(kind: type) -> str:
    """The class's own docstring, not one that it inherits."""
    text = kind.__dict__.get("__doc__")
    return inspect.cleandoc(text) if isinstance(text, str) else ""


def _default(item: msgspec.structs.FieldInfo, walk: _Walk) -> Any:
    """What the schema should fill in, or UNSET: statuses, absent values and empty collections need no default."""
    if walk.path[:1] == ["status"]:
        return UNSET
    if item.default is not msgspec.NODEFAULT:
        return UNSET if item.default is None or item.default is UNSET else to_wire(item.default)
    if item.default_factory is not msgspec.NODEFAULT:
        try:
            made = item.default_factory()
        except TypeError as problem:
            raise walk.error(f"its default can't be made: {problem}") from None
        if isinstance(made, Object | ObjectMeta) or made in ([], {}, set()):
            return UNSET
        return to_wire(made)
    return UNSET


def _type(annotation: Any, walk: _Walk) -> JSONSchema:
    metas: list[msgspec.Meta] = []
    while get_origin(annotation) is Annotated:
        annotation, *extras = get_args(annotation)
        metas = [extra for extra in extras if isinstance(extra, msgspec.Meta)] + metas
    options = [meta.extra[KUBERNETES] for meta in metas if meta.extra and KUBERNETES in meta.extra]
    schema = _bare(annotation, walk, open_ended=any(option.preserve_unknown_fields for option in options))
    for meta in metas:
        _apply_meta(schema, meta)
    for option in options:
        _apply_options(schema, option, walk)
    return schema


def _bare(annotation: Any, walk: _Walk, *, open_ended: bool) -> JSONSchema:
    origin = get_origin(annotation)
    if origin is Union or origin is types.UnionType:
        return _union(get_args(annotation), walk)
    if annotation in _SCALARS:
        return {**_SCALARS[annotation]}
    if annotation is Any or annotation is msgspec.Raw:
        return {"x-kubernetes-preserve-unknown-fields": True}
    if origin is Literal:
        return _enum(get_args(annotation), walk)
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return _enum(tuple(member.value for member in annotation), walk)
    target = origin or annotation
    if target in (list, tuple, set, frozenset):
        return _array(target, get_args(annotation), walk)
    if isinstance(target, type) and issubclass(target, dict | Mapping):
        return _map(get_args(annotation), walk)
    if isinstance(target, type) and issubclass(target, Struct):
        return _object(target, walk, open_ended=open_ended)
    raise walk.error(
        f"{annotation!r} has no structural schema; use str, int, float, bool, bytes, datetime, Quantity, an Enum, "
        "list[...], dict[str, ...] or a Model"
    )


def _object(kind: type[Struct], walk: _Walk, *, open_ended: bool) -> JSONSchema:
    if issubclass(kind, Object):
        return {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    schema = builtin_schema(kind)
    if schema is None:
        schema = _struct(kind, walk)
    if open_ended:
        schema["x-kubernetes-preserve-unknown-fields"] = True
    return schema


def _union(choices: tuple[Any, ...], walk: _Walk) -> JSONSchema:
    real = [choice for choice in choices if choice not in (types.NoneType, UnsetType)]
    nullable = types.NoneType in choices and UnsetType in choices
    if set(real) == {int, str}:
        schema: JSONSchema = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
    elif len(real) == 1:
        schema = _type(real[0], walk)
    elif all(choice is str or get_origin(choice) is Literal for choice in real):
        schema = {"type": "string"}
    else:
        names = " | ".join(getattr(choice, "__name__", str(choice)) for choice in real)
        raise walk.error(
            f"a union of {names} has no structural schema; use one class with optional fields and a CEL rule that "
            "exactly one of them is set"
        )
    if nullable:
        schema["nullable"] = True
    return schema


def _enum(values: tuple[Any, ...], walk: _Walk) -> JSONSchema:
    kinds = {type(value) for value in values}
    if kinds == {str}:
        return {"type": "string", "enum": list(values)}
    if kinds == {int}:
        return {"type": "integer", "enum": list(values)}
    raise walk.error(f"an enum must hold only strings or only integers, not {values!r}")


def _array(target: type, arguments: tuple[Any, ...], walk: _Walk) -> JSONSchema:
    items = [argument for argument in arguments if argument is not Ellipsis]
    if len(items) != 1:
        raise walk.error("a list must say what it holds, with one type: list[str]")
    walk.path.append("[]")
    schema = {"type": "array", "items": _type(items[0], walk)}
    walk.path.pop()
    if target in (set, frozenset):
        schema["x-kubernetes-list-type"] = "set"
    return schema


def _map(arguments: tuple[Any, ...], walk: _Walk) -> JSONSchema:
    if not arguments or arguments[1] is Any:
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    key = arguments[0]
    if key is not str and get_origin(key) is not Annotated:
        raise walk.error(f"the keys of a map are strings, not {key!r}")
    walk.path.append("*")
    schema = {"type": "object", "additionalProperties": _type(arguments[1], walk)}
    walk.path.pop()
    return schema


def _apply_meta(schema: JSONSchema, meta: msgspec.Meta) -> None:
    for source, keyword, flag in _BOUNDS:
        value = getattr(meta, source)
        if value is not None:
            schema[keyword] = value
            if flag:
                schema[flag] = True
    low, high = _LENGTHS.get(schema.get("type", ""), ("minLength", "maxLength"))
    if meta.min_length is not None:
        schema[low] = meta.min_length
    if meta.max_length is not None:
        schema[high] = meta.max_length
    if meta.description:
        schema["description"] = meta.description
    if meta.title:
        schema["title"] = meta.title
    if meta.examples:
        schema["example"] = to_wire(meta.examples[0])
    if meta.extra_json_schema:
        schema.update(meta.extra_json_schema)


def _apply_options(schema: JSONSchema, option: FieldOptions, walk: _Walk) -> None:
    if option.format:
        schema["format"] = option.format
    if option.list_type:
        if schema.get("type") != "array":
            raise walk.error(f"list_type={option.list_type!r} on something that is not a list")
        schema["x-kubernetes-list-type"] = option.list_type
    if option.list_map_keys:
        _check_map_keys(schema, option.list_map_keys, walk)
        schema["x-kubernetes-list-map-keys"] = list(option.list_map_keys)
    if option.map_type:
        schema["x-kubernetes-map-type"] = option.map_type
    if option.preserve_unknown_fields:
        schema["x-kubernetes-preserve-unknown-fields"] = True
    if option.embedded_resource:
        schema["x-kubernetes-embedded-resource"] = True
    if option.min_properties is not None:
        schema["minProperties"] = option.min_properties
    if option.max_properties is not None:
        schema["maxProperties"] = option.max_properties
    if option.rules:
        schema["x-kubernetes-validations"] = [_rule(rule) for rule in option.rules]


def _check_map_keys(schema: JSONSchema, keys: tuple[str, ...], walk: _Walk) -> None:
    items = schema.get("items", {})
    for key in keys:
        if key not in items.get("properties", {}):
            raise walk.error(f"list_map_keys names {key!r}, which the list's items don't have (use the wire name)")
        if key not in items.get("required", ()) and "default" not in items["properties"][key]:
            raise walk.error(f"list_map_keys names {key!r}, which must be required or have a default")


def _rule(rule: Rule) -> JSONSchema:
    document: JSONSchema = {"rule": rule.rule}
    for value, name in (
        (rule.message, "message"),
        (rule.message_expression, "messageExpression"),
        (rule.reason, "reason"),
        (rule.field_path, "fieldPath"),
        (rule.optional_old_self, "optionalOldSelf"),
    ):
        if value or value is False:
            document[name] = value
    return document
