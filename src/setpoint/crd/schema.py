"""Structural schemas (``openAPIV3Schema``) from Python types.

For a type that has no structural schema (a union of objects, a type that contains itself), a `DefinitionError` names
the class and the field. Such a type never silently becomes a schema that accepts any value.
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
"""

from __future__ import annotations

import enum
import types
import uuid
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import FieldInfo, replace

from setpoint.crd.builtin_schemas import EMBEDDED_META, INT_OR_STRING, QUANTITY, builtin_schema, is_builtin
from setpoint.crd.cel_rule import document_of, rules_of
from setpoint.crd.declared_paths import path_problems
from setpoint.crd.errors import DefinitionError
from setpoint.crd.schema_checks import default_problem, schema_problems, text_problem
from setpoint.crd.schema_descriptions import class_description, field_descriptions
from setpoint.crd.schema_keywords import JSONSchema, apply, infinite_in, metas_of, options_of
from setpoint.meta import Duration, MicroTime, Object, ObjectMeta, Quantity, to_wire
from setpoint.meta.duration import DURATION_PATTERN
from setpoint.meta.model_fields import alternatives, bare, fields_of, is_hashable, is_record
from setpoint.schema import copy_json

_SCALARS: dict[Any, JSONSchema] = {
    bool: {"type": "boolean"},
    int: {"type": "integer", "format": "int64"},
    float: {"type": "number"},
    str: {"type": "string"},
    bytes: {"type": "string", "format": "byte"},
    datetime: {"type": "string", "format": "date-time"},
    MicroTime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    uuid.UUID: {"type": "string", "format": "uuid"},
    Duration: {"type": "string", "format": "duration", "pattern": DURATION_PATTERN},
    Quantity: QUANTITY,
}
_INSTEAD: dict[Any, str] = {
    timedelta: "Duration, a timedelta that is 1h30m on the wire, or a number of seconds",
    Decimal: "Quantity",
    time: "str with a pattern",
}
_INSIDE = ("[]", "*")
_OPEN: JSONSchema = {"x-kubernetes-preserve-unknown-fields": True}


class _Walk(msgspec.Struct):
    """The position in a type, for error messages and for the detection of types that contain themselves.

    With ``brief``, the walk only looks for errors: built-in types, which are always valid, get a schema that accepts
    anything, and no source is read.
    """

    root: type
    brief: bool = False
    path: list[str] = msgspec.field(default_factory=list)
    inside: list[Any] = msgspec.field(default_factory=list)

    def error(self, problem: object) -> DefinitionError:
        return DefinitionError(f"{self.root.__name__}.{'.'.join(self.path) or '(itself)'}: {problem}")

    @property
    def in_status(self) -> bool:
        return issubclass(self.root, Object) and self.path[:1] == ["status"]


def schema_of(kind: type[Object]) -> JSONSchema:
    """The structural schema of a custom resource's class, with ``apiVersion``, ``kind`` and ``metadata``.

    Raises:
        DefinitionError: a field's type has no structural schema, a default breaks its field's own rules, or an API
            server would refuse the schema.
    """
    return _unshared(_whole(kind, _Walk(kind)))


def check_fields(kind: type[Object]) -> JSONSchema | None:
    """Finds those errors of `schema_of` that can be detected while the class is being defined.

    Returns a schema in which fields of built-in types accept any object, or None if an annotation names a type that
    does not exist yet; `schema_of` looks for that type later and raises if it is still missing.

    Raises:
        DefinitionError: as `schema_of`.
    """
    try:
        return _whole(kind, _Walk(kind, brief=True))
    except _NotYet:
        return None


def schema_of_type(annotation: Any) -> JSONSchema:
    """The structural schema of any type that a field may have. It is for schemas other than those of whole kinds.

    Raises:
        DefinitionError: the type has no structural schema.
    """
    root = annotation if isinstance(annotation, type) else type(annotation)
    schema = _type(annotation, _Walk(root))
    for problem in schema_problems({"type": "object", "properties": {"value": schema}}, has_status=False):
        raise DefinitionError(f"{root.__name__}{problem}")
    return _unshared(schema)


def _unshared(schema: JSONSchema) -> JSONSchema:
    """A copy in which no part occurs twice as the same object: YAML would write anchors and aliases for such parts."""
    copy: JSONSchema = copy_json(schema)
    return copy


class _NotYet(DefinitionError):
    """An annotation names a type that does not exist yet."""


def _whole(kind: type[Object], walk: _Walk) -> JSONSchema:
    schema = _record(kind, walk)
    schema["properties"].pop("metadata")
    schema["properties"] = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        **schema["properties"],
    }
    if getattr(kind, "__keeps_unknown__", False):
        schema["x-kubernetes-preserve-unknown-fields"] = True
    has_status = "status" in schema["properties"]
    paths = () if _is_foreign(kind) else path_problems(kind, schema)  # theirs may show fields of no schema
    for problem in (*schema_problems(schema, has_status=has_status), *paths):
        raise DefinitionError(f"{kind.__name__}{problem}")
    return schema


def _record(annotation: Any, walk: _Walk) -> JSONSchema:
    kind: type = get_origin(annotation) or annotation
    if annotation in walk.inside:
        raise walk.error(
            f"{kind.__name__} contains itself, and a structural schema can't; give the inner field the type "
            "dict[str, Any] or a class of limited depth"
        )
    if issubclass(kind, Struct) and (kind.__struct_config__.tag or kind.__struct_config__.array_like):
        raise walk.error(f"{kind.__name__} has tag= or array_like=, which has no structural schema; remove it")
    walk.inside.append(annotation)
    properties: dict[str, JSONSchema] = {}
    required = []
    described = {} if walk.brief else field_descriptions(kind)
    for item in _fields(annotation, kind, walk):
        walk.path.append(item.encode_name)
        if kind is walk.root and item.name == "metadata":
            properties["metadata"] = {}
        elif item.encode_name in properties:
            raise walk.error(f"two fields of {kind.__name__} have this name on the wire; rename one of them")
        else:
            field_schema = _field(item, described.get(item.name, ""), walk)
            if problem := text_problem([item.encode_name, field_schema]):
                raise walk.error(problem)
            properties[item.encode_name] = field_schema
            if item.required:
                required.append(item.encode_name)
        walk.path.pop()
    walk.inside.pop()
    schema: JSONSchema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = sorted(required)
    if rules := _rules(kind, walk):
        schema["x-kubernetes-validations"] = rules
    doc = class_description(kind)
    return {"description": doc, **schema} if doc else schema


def _fields(annotation: Any, kind: type, walk: _Walk) -> tuple[FieldInfo, ...]:
    try:
        return fields_of(annotation)
    except NameError as problem:
        missing = str(problem).partition("\n")[0]  # pydantic adds a link
        problem_text = (
            f"a type of {kind.__name__} can't be found at run time ({missing}); import it outside TYPE_CHECKING"
        )
        raise _NotYet(str(walk.error(problem_text))) from None
    except TypeError as problem:
        raise walk.error(problem) from None


def _field(item: FieldInfo, described: str, walk: _Walk) -> JSONSchema:
    choices = alternatives(item.type)
    schema = _type(item.type, walk, described)
    if item.required and types.NoneType in choices and UnsetType not in choices and not schema.get("nullable"):
        raise walk.error(
            "it is required and may be None, but None is left out on the wire; default to None, or declare that "
            "null is a value: X | UnsetType | None, or Field(nullable=True)"
        )
    default = _acceptable(schema, _default(item, walk))
    if default is not UNSET:
        schema["default"] = default
    if "default" in schema and (problem := default_problem(schema)):
        raise walk.error(f"its default breaks its own schema: {problem}; change the default or the bounds")
    return schema


def _rules(kind: type, walk: _Walk) -> list[JSONSchema]:
    """The CEL rules of the class and its bases, and those in a custom resource's declaration."""
    rules = [rule for base in reversed(kind.__mro__) for rule in rules_of(base.__dict__.get("__rules__", ()))]
    definition = getattr(kind, "definition", None)
    if definition is not None and kind is walk.root:
        rules += definition.rules
    return [document_of(rule) for rule in rules]


def _default(item: FieldInfo, walk: _Walk) -> Any:
    """The field's default in the schema, or UNSET: statuses, absent values and empty collections need no default.

    The exception is the status of an object that no controller has seen: an ``observed_generation`` of -1, which tools
    that wait for the present generation understand (Flux's own kinds have it, too).
    """
    is_status = walk.path == ["status"] and issubclass(walk.root, Object)
    if walk.in_status and not is_status:
        return UNSET
    if not walk.path[1:] and item.name in ("spec", "status") and _is_foreign(walk.root):
        return UNSET
    value = other = item.default
    if item.default_factory is not msgspec.NODEFAULT:
        try:
            value, other = item.default_factory(), item.default_factory()
        except TypeError as problem:
            raise walk.error(f"its default can't be created: {problem}") from None
    if is_status:
        return {"observedGeneration": -1} if getattr(value, "observed_generation", None) == -1 else UNSET
    if value is None or isinstance(value, Object | ObjectMeta | UnsetType | type(msgspec.NODEFAULT)):
        return UNSET
    if value in ([], {}, set()):
        return UNSET
    default = to_wire(value)
    if odd := infinite_in(default):
        raise walk.error(f"its default contains {odd}, which JSON can't represent; leave it out with X | None = None")
    if default != to_wire(other):
        raise walk.error(
            "its default differs from object to object, and a definition has one default; use X | None = None"
        )
    return default


def _is_foreign(kind: type) -> bool:
    """Whether the kind is another project's, whose ``spec`` has a default in Python only."""
    definition = getattr(kind, "definition", None)
    return definition is not None and bool(definition.installed_by)


def _acceptable(schema: JSONSchema, default: Any) -> Any:
    """``default`` without empty bytes, which the format ``byte`` does not allow; an absent value is decoded as empty
    bytes.
    """
    if schema.get("format") == "byte" and default == "":
        return UNSET
    if isinstance(default, dict):
        parts = schema.get("properties", {})
        defaults = {name: _acceptable(parts.get(name, {}), value) for name, value in default.items()}
        return {name: value for name, value in defaults.items() if value is not UNSET}
    return default


def _type(annotation: Any, walk: _Walk, described: str = "") -> JSONSchema:
    extras: list[Any] = []
    while annotation is not (inner := _unalias(annotation)) or get_origin(annotation) is Annotated:
        annotation = inner
        if get_origin(annotation) is Annotated:
            annotation, *annotated_extras = get_args(annotation)
            extras = [*annotated_extras, *extras]
    try:
        metas = list(metas_of(extras))
    except (TypeError, ValueError) as problem:
        raise walk.error(problem) from None
    options = list(options_of(metas))
    for option in options:
        if option.problem:
            raise walk.error(option.problem)
    if walk.brief and any(option.list_map_keys for option in options):
        walk = replace(walk, brief=False)  # the keys are fields of the items, which may be of a built-in type
    schema = _bare(annotation, walk, open_ended=any(option.preserve_unknown_fields for option in options))
    if described:
        schema["description"] = described
    try:
        apply(schema, metas)
    except ValueError as problem:
        raise walk.error(problem) from None
    if schema.get("nullable") and "enum" in schema and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]  # API servers check null against the enum, too
    return schema


def _unalias(annotation: Any) -> Any:
    return annotation if get_origin(annotation) is Annotated else bare(annotation)


def _bare(annotation: Any, walk: _Walk, *, open_ended: bool) -> JSONSchema:
    origin = get_origin(annotation)
    if origin is Union or origin is types.UnionType:
        return _union(get_args(annotation), walk)
    if isinstance(annotation, type) and annotation in _SCALARS:
        return {**_SCALARS[annotation]}
    if annotation is Any or annotation is msgspec.Raw:
        return {**_OPEN}
    if origin is Literal:
        return _enum(get_args(annotation), walk)
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return _enum(tuple(member.value for member in annotation), walk)
    target = origin or annotation
    if target in (list, tuple, set, frozenset):
        return _array(target, get_args(annotation), walk)
    if is_record(target):
        return _object(annotation, target, walk, open_ended=open_ended)
    if isinstance(target, type) and issubclass(target, Mapping) and not hasattr(target, "__required_keys__"):
        return _map(get_args(annotation), walk)
    hint = _INSTEAD.get(target) if isinstance(target, type) else None
    if hint:
        raise walk.error(f"{target.__name__} has no JSON form that API servers accept; use {hint}")
    raise walk.error(
        f"{annotation!r} has no structural schema; use str, int, float, bool, bytes, datetime, Quantity, an Enum, "
        "list[...], dict[str, ...] or a Model"
    )


def _object(annotation: Any, kind: type, walk: _Walk, *, open_ended: bool) -> JSONSchema:
    if kind is ObjectMeta:
        return {**EMBEDDED_META}
    if issubclass(kind, Object):
        return _embedded(kind, walk)
    if walk.brief and is_builtin(kind):
        return {"type": "object", **_OPEN}
    schema = builtin_schema(kind) or _record(annotation, walk)
    if open_ended:
        schema["x-kubernetes-preserve-unknown-fields"] = True
    return schema


def _embedded(kind: type[Object], walk: _Walk) -> JSONSchema:
    """The schema of an object inside an object. Servers add its apiVersion, kind and metadata; its status is left
    out.
    """
    schema: JSONSchema = {"type": "object", "x-kubernetes-embedded-resource": True}
    if not hasattr(kind, "resource") or (walk.brief and is_builtin(kind)):
        return schema | _OPEN
    inner = builtin_schema(kind) or _record(kind, walk)
    properties = {
        name: part
        for name, part in inner["properties"].items()
        if name not in ("apiVersion", "kind", "metadata", "status")
    }
    if not properties:
        return schema | _OPEN
    schema["properties"] = properties
    if required := [name for name in inner.get("required", ()) if name in properties]:
        schema["required"] = required
    for keyword in ("description", "x-kubernetes-validations"):
        if keyword in inner:
            schema[keyword] = inner[keyword]
    return schema


def _union(choices: tuple[Any, ...], walk: _Walk) -> JSONSchema:
    real = [choice for choice in choices if choice not in (types.NoneType, UnsetType)]
    inside = walk.path[-1:] and walk.path[-1] in _INSIDE
    nullable = types.NoneType in choices and (UnsetType in choices or inside)
    kinds = {bare(choice) for choice in real}
    schema: JSONSchema
    if len(real) == 1:
        schema = _type(real[0], walk)
    elif set(real) == {int, str}:
        schema = {**INT_OR_STRING}
    elif set(real) == {int, float}:
        schema = {"type": "number"}
    elif kinds == {int, str}:
        raise walk.error("an int-or-string has no bounds of its own; put them into a rule: Field(rules=...)")
    elif all(_is_text(choice) for choice in kinds):
        schema = {"type": "string"}
    else:
        names = " | ".join(getattr(choice, "__name__", str(choice)) for choice in real)
        raise walk.error(
            f"a union of {names} has no structural schema; use one class with optional fields and the rule "
            "exactly_one_of(...)"
        )
    if nullable:
        schema["nullable"] = True
    return schema


def _is_text(choice: Any) -> bool:
    if get_origin(choice) is Literal:
        return all(isinstance(value, str) for value in get_args(choice))
    if isinstance(choice, type) and issubclass(choice, enum.Enum):
        return all(isinstance(member.value, str) for member in choice)
    return choice is str


def _enum(values: tuple[Any, ...], walk: _Walk) -> JSONSchema:
    real = [value for value in values if value is not None]
    schema: JSONSchema
    kinds = {type(value) for value in real}
    if kinds == {str}:
        schema = {"type": "string", "enum": list(real)}
    elif kinds == {int}:
        schema = {"type": "integer", "enum": list(real)}
    else:
        raise walk.error(f"an enum must hold only strings or only integers, not {values!r}")
    if len(real) < len(values):
        schema["nullable"] = True
    return schema


def _array(target: type, arguments: tuple[Any, ...], walk: _Walk) -> JSONSchema:
    items = [argument for argument in arguments if argument is not Ellipsis]
    if len(items) != 1 or (target is tuple and len(arguments) != 2):
        raise walk.error("a list must have one item type, such as list[str]")
    walk.path.append("[]")
    schema: JSONSchema = {"type": "array", "items": _type(items[0], walk)}
    walk.path.pop()
    if target in (set, frozenset):
        if not is_hashable(items[0]):
            item = bare(items[0])
            name = getattr(item, "__name__", str(item))
            raise walk.error(
                f'a set of Python can\'t hold {name}, which is not hashable; use list[...] with Field(list_type="set")'
            )
        schema["x-kubernetes-list-type"] = "set"
    return schema


def _map(arguments: tuple[Any, ...], walk: _Walk) -> JSONSchema:
    if not arguments or bare(arguments[1]) is Any:
        return {"type": "object", **_OPEN}
    if arguments[0] is not str:
        raise walk.error(
            f"the keys of a map are plain strings, not {arguments[0]!r}; restrict them in a rule: "
            "Field(rules=[\"self.all(key, key.matches('^[a-z]+$'))\"])"
        )
    walk.path.append("*")
    schema = {"type": "object", "additionalProperties": _type(arguments[1], walk)}
    walk.path.pop()
    return schema
