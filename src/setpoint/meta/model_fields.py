"""The fields of a class that is a model, a dataclass or a pydantic model.

Users may use dataclasses and pydantic models as parts of their objects (a spec, a status, or a part of either). The
fields have the wire names that a `Model` would give them (``num_pods`` becomes ``numPods``), unless the class names
them itself: with an ``alias`` in pydantic, or with ``field(metadata={"name": ...})`` in a dataclass. pydantic is never
imported here: the module of a pydantic class has already imported it.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Hashable, Iterator
from functools import cache
from typing import Annotated, Any, ClassVar, Final, Literal, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo

from setpoint.meta.object_meta import ObjectMeta

_ENCODERS: Final = frozenset(("PlainSerializer", "WrapSerializer", "EncodedBytes", "EncodedStr", "Json"))
"""The classes of metadata with which pydantic gives values another JSON form."""


def wire_name(attribute: str) -> str:
    """The wire name of a snake_case attribute: ``numPods`` for ``num_pods``, ``from`` for ``from_``."""
    head, *rest = attribute.rstrip("_").split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def is_pydantic(kind: Any) -> bool:
    return isinstance(kind, type) and hasattr(kind, "__pydantic_fields__") and hasattr(kind, "model_validate")


def is_foreign(kind: Any) -> bool:
    """Whether ``kind`` is a dataclass or the class of a pydantic model."""
    return isinstance(kind, type) and (hasattr(kind, "__dataclass_fields__") or is_pydantic(kind))


def is_record(kind: Any) -> bool:
    """Whether ``kind`` is a class with fields and a JSON form: a struct, a dataclass or a pydantic model."""
    return isinstance(kind, type) and (issubclass(kind, Struct) or is_foreign(kind))


def fields_of(kind: Any) -> tuple[FieldInfo, ...]:
    """The fields of a struct (or a generic struct's alias), a dataclass or a pydantic model, with their wire names.

    Raises:
        NameError: an annotation contains a name that can't be found at run time.
        TypeError: a pydantic model or field is not read and written as its annotations say: it has different aliases,
            a serializer, extra fields and the like.
    """
    return _fields_of(cast("Hashable", kind))


@cache  # type hints are evaluated, which takes a hundred times as long as decoding
def _fields_of(kind: Any) -> tuple[FieldInfo, ...]:
    if not is_foreign(kind):
        return msgspec.structs.fields(kind)
    return _pydantic_fields(kind) if is_pydantic(kind) else _dataclass_fields(kind)


def key_of(kind: type, name: str) -> str:
    """The keyword for the field ``name`` in the constructor of a dataclass or pydantic model."""
    if not is_pydantic(kind):
        return name
    model = cast("Any", kind)
    if not model.model_config.get("validate_by_alias", True):
        return name
    item = model.model_fields[name]
    return cast("str", item.validation_alias or item.alias or name)


def _dataclass_fields(kind: type) -> tuple[FieldInfo, ...]:
    if hasattr(kind, "__pydantic_fields__"):
        raise TypeError(f"{kind.__name__} is a dataclass of pydantic, whose checks do not run; make it a BaseModel")
    hints = get_type_hints(kind, include_extras=True)
    fields = []
    for item in dataclasses.fields(cast("Any", kind)):
        if not item.init or get_origin(hints[item.name]) is ClassVar:
            continue
        name = item.metadata.get("name") or wire_name(item.name)
        missing = dataclasses.MISSING
        fields.append(
            FieldInfo(
                name=item.name,
                encode_name=name,
                type=hints[item.name],
                default=NODEFAULT if item.default is missing else item.default,
                default_factory=NODEFAULT if item.default_factory is missing else item.default_factory,
            )
        )
    return tuple(fields)


def _pydantic_fields(kind: Any) -> tuple[FieldInfo, ...]:
    if not kind.__pydantic_complete__:
        kind.model_rebuild()
    if problem := _unlike_its_json(kind):
        raise TypeError(f"{kind.__name__} {problem}")
    fields = []
    for name, item in kind.model_fields.items():
        if problem := _field_unlike_its_json(kind, item):
            raise TypeError(f"{kind.__name__}.{name} {problem}")
        annotation = item.annotation
        for extra in (*item.metadata, item):
            annotation = Annotated[annotation, extra]
        alias = _alias(kind, name, item)
        fields.append(
            FieldInfo(
                name=name,
                encode_name=alias or wire_name(name),
                type=annotation,
                default=NODEFAULT if item.is_required() or item.default_factory else item.default,
                default_factory=item.default_factory or NODEFAULT,
            )
        )
    return tuple(fields)


def _unlike_its_json(kind: Any) -> str:
    """The reason why the JSON of a pydantic model is not an object of its fields; empty if it is one."""
    decorators = kind.__pydantic_decorators__
    if getattr(kind, "__pydantic_root_model__", False):
        return "is a RootModel, which is not an object on the wire; use the root's type instead"
    if kind.model_config.get("extra") == "allow":
        return 'has extra="allow", and API servers drop unknown fields; declare a field of type dict[str, Any] for them'
    if decorators.computed_fields:
        return f"has the computed field {next(iter(decorators.computed_fields))}, which is never sent; use a property"
    if decorators.field_serializers or decorators.model_serializers:
        return "has a serializer, which would be ignored; declare the fields as they are on the wire"
    return ""


def _field_unlike_its_json(kind: Any, item: Any) -> str:
    """The reason why a field of a pydantic model is not read or written as its type is; empty if it is."""
    if item.exclude:
        return "has exclude=True, and fields of objects are always written; use a PrivateAttr or a property"
    for extra in (*item.metadata, *_metadata_in(item.annotation)):
        if (name := type(extra).__name__) in _ENCODERS:
            return f"has the encoder {name}, which would be ignored; declare the field as it is on the wire"
    strict = next(
        (extra.strict for extra in item.metadata if hasattr(extra, "strict")), kind.model_config.get("strict")
    )
    if strict and not _is_plain(item.annotation):
        return "is strict, so pydantic refuses the JSON form of its type; leave out strict=True"
    return ""


def _metadata_in(annotation: Any) -> Iterator[Any]:
    """The metadata of a type and of the types inside it."""
    annotation = getattr(annotation, "__value__", annotation)
    yield from getattr(annotation, "__metadata__", ())
    for argument in get_args(annotation):
        yield from _metadata_in(argument)


def _is_plain(annotation: Any) -> bool:
    """Whether values of the type are their own JSON form, at any depth."""
    for choice in alternatives(annotation):
        origin = get_origin(choice)
        if origin in (list, dict):
            if not all(_is_plain(argument) for argument in get_args(choice)):
                return False
        elif origin is not Literal and choice not in (str, int, float, bool, types.NoneType, Any):
            return False
    return True


def _alias(kind: type, name: str, item: Any) -> str | None:
    aliases = [alias for alias in (item.validation_alias, item.alias, item.serialization_alias) if alias is not None]
    if not all(isinstance(alias, str) for alias in aliases) or len({*aliases}) > 1:
        raise TypeError(f"{kind.__name__}.{name}: an object's field has one name on the wire; use alias= only")
    return next(iter(aliases), None)


def alternatives(annotation: Any) -> tuple[Any, ...]:
    """The types that a value may have: the members of a union, or the annotation itself, without ``Annotated``."""
    annotation = bare(annotation)
    if get_origin(annotation) in (Union, types.UnionType):
        return tuple(bare(choice) for choice in get_args(annotation))
    return (annotation,)


def bare(annotation: Any) -> Any:
    """The annotation without ``Annotated``, ``NewType`` and ``type`` aliases."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        else:
            return annotation


def is_hashable(annotation: Any) -> bool:
    """Whether every value of this type can be an item of a set."""
    for choice in alternatives(annotation):
        target = get_origin(choice) or choice
        if target in (tuple, frozenset):
            hashable = all(is_hashable(argument) for argument in get_args(choice) if argument is not Ellipsis)
        elif is_record(target):
            frozen = target.__struct_config__.frozen if issubclass(target, Struct) else target.__hash__ is not None
            hashable = frozen and all(is_hashable(item.type) for item in fields_of(choice))
        else:
            hashable = target not in (Any, msgspec.Raw) and getattr(target, "__hash__", None) is not None
        if not hashable:
            return False
    return True


def has_foreign(annotation: Any) -> bool:
    """Whether this type contains a dataclass or a pydantic model at any depth."""
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return _struct_has_foreign(cast("Hashable", annotation))
    return _contains(annotation, _is_foreign, set())


@cache
def _struct_has_foreign(kind: Hashable) -> bool:
    return _contains(kind, _is_foreign, set())


def _is_foreign(choice: Any) -> bool:
    return is_foreign(get_origin(choice) or choice)


@cache
def has_free_json(kind: Hashable) -> bool:
    """Whether a value of this class may have, outside of its metadata, a part of any JSON: ``true`` can become 1."""
    return _contains(kind, _is_free, {ObjectMeta}, in_models=True)


def _is_free(choice: Any) -> bool:
    return choice in (Any, object, msgspec.Raw, dict, list) or _is_foreign(choice) or hasattr(choice, "__wire__")


def _contains(annotation: Any, wanted: Callable[[Any], bool], visited: set[Any], *, in_models: bool = False) -> bool:
    """Whether one of the types in ``annotation`` is wanted. ``in_models``: also look into the built-in kinds' classes,
    which takes some milliseconds.
    """
    for choice in alternatives(annotation):
        if wanted(choice):
            return True
        target = get_origin(choice) or choice
        if isinstance(target, type) and issubclass(target, Struct):
            if target in visited or (not in_models and target.__module__.startswith("setpoint.models.")):
                continue
            visited.add(target)
            if any(_contains(item.type, wanted, visited, in_models=in_models) for item in fields_of(choice)):
                return True
        elif any(_contains(argument, wanted, visited, in_models=in_models) for argument in get_args(choice)):
            return True
    return False
