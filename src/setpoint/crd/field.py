"""Declarations about a class's fields beyond their types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from math import isfinite
from typing import Any, Final, Literal, TypedDict, Unpack

import msgspec
from msgspec import UNSET, Struct

from setpoint.crd.cel_rule import ValidationRule, rules_of

ListType = Literal["atomic", "set", "map"]
KUBERNETES = "kubernetes"
"""The key in ``Meta.extra`` under which `Field` keeps options without a counterpart in JSON Schema."""


class FieldOptions(Struct, frozen=True, kw_only=True):
    """The options of a `Field` that are not passed to msgspec."""

    format: str = ""
    pattern: str | None = None
    nullable: bool = False
    list_type: ListType | Literal[""] = ""
    list_map_keys: tuple[str, ...] = ()
    map_type: Literal["", "granular", "atomic"] = ""
    preserve_unknown_fields: bool = False
    embedded_resource: bool = False
    min_properties: int | None = None
    max_properties: int | None = None
    rules: tuple[ValidationRule, ...] = ()
    default: Any = UNSET
    problem: str = ""
    """The reason why the field is refused. It is raised where the names of the class and the field are known."""


class Constraints(TypedDict, total=False):
    """The keywords of `Field`, which documents them."""

    description: str | None
    title: str | None
    examples: Sequence[Any] | None
    ge: float | None
    gt: float | None
    le: float | None
    lt: float | None
    multiple_of: float | None
    pattern: str | None
    min_length: int | None
    max_length: int | None
    min_properties: int | None
    max_properties: int | None
    format: str
    nullable: bool
    list_type: ListType | Literal[""]
    list_map_keys: Sequence[str]
    map_type: Literal["", "granular", "atomic"]
    preserve_unknown_fields: bool
    embedded_resource: bool
    rules: Sequence[ValidationRule | str]
    default: Any
    extra_schema: Mapping[str, Any] | None


_BOUNDS: Final = {"minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt"}
"""Bounds of JSON Schema, and the keywords of `Field` for them."""


def Field(**constraints: Unpack[Constraints]) -> msgspec.Meta:
    """Bounds, patterns, descriptions and merge hints of a field, for use inside ``typing.Annotated``.

    The bounds go into the CRD's schema, where the API server enforces them, and are checked again when an object is
    decoded; only the API server checks patterns. Defaults are usually Python's own:
    ``replicas: Annotated[int, Field(ge=0)] = 1``.

    Args:
        min_length: minimum length of a string (characters), list (items) or map (entries); ``max_length`` likewise.
        min_properties: minimum number of fields of a free-form object or a class; ``max_properties`` likewise.
        pattern: a regular expression in RE2's syntax, for a match anywhere in the string. It is not passed to msgspec,
            because msgspec uses Python's engine, which untrusted input can block forever.
        format: a format that API servers check (``ipv4``, ``cidr``, ``uri``, ``email``, ``duration`` ...), or
            ``int32``.
        nullable: the server accepts and keeps ``null``, read as None. A class that must distinguish null from absent
            uses ``X | UnsetType | None`` instead.
        list_type: how a list merges in server-side apply: ``atomic`` (whole), ``set`` (a Python ``set`` is one), or
            ``map`` (by keys).
        list_map_keys: wire names of the keys; they imply ``list_type="map"``.
        map_type: ``atomic`` makes a map or an object merge as a whole.
        preserve_unknown_fields: fields that the type does not have are kept.
        embedded_resource: the value is an object of its own, with apiVersion, kind and metadata.
        rules: CEL rules on the field's value; a plain string is a rule without a message.
        default: the default that the API server gives an absent field, as a JSON value, where the field itself is
            ``X | None = None``. A program that leaves out such a field does not own it after a server-side apply.
        extra_schema: keywords to add to the schema unchanged, if no argument above covers them.

    >>> from typing import Annotated
    >>> Replicas = Annotated[int, Field(ge=0, description="how many")]
    """
    if unknown := sorted(constraints.keys() - Constraints.__annotations__.keys()):
        name = _BOUNDS.get(unknown[0], unknown[0])
        matches = get_close_matches(name, Constraints.__annotations__, n=1)
        raise TypeError(f"Field has no keyword {unknown[0]}=" + (f"; did you mean {matches[0]}=?" if matches else ""))
    options: dict[str, Any] = dict(constraints)
    field_options = {name: options.pop(name) for name in FieldOptions.__struct_fields__ if name in options}
    for name in ("ge", "gt", "le", "lt", "multiple_of"):
        if isinstance(bound := options.get(name), float) and not isfinite(bound):
            del options[name]
            field_options["problem"] = f"its {name} is {bound}, which JSON can't represent; leave it out"
    field_options["rules"] = rules_of(field_options.get("rules", ()))
    field_options["list_map_keys"] = tuple(field_options.get("list_map_keys", ()))
    if field_options["list_map_keys"] and not field_options.get("list_type"):
        field_options["list_type"] = "map"
    if options.get("examples") is not None:
        options["examples"] = list(options["examples"])
    if extra_schema := options.pop("extra_schema", None):
        options["extra_json_schema"] = dict(extra_schema)
    return msgspec.Meta(**options, extra={KUBERNETES: FieldOptions(**field_options)})
