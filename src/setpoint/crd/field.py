"""Declarations about a class's fields beyond their types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

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


def Field(
    *,
    description: str | None = None,
    title: str | None = None,
    examples: Sequence[Any] | None = None,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    multiple_of: float | None = None,
    pattern: str | None = None,
    min_length: int | None = None,
    max_length: int | None = None,
    min_properties: int | None = None,
    max_properties: int | None = None,
    format: str = "",
    nullable: bool = False,
    list_type: ListType | Literal[""] = "",
    list_map_keys: Sequence[str] = (),
    map_type: Literal["", "granular", "atomic"] = "",
    preserve_unknown_fields: bool = False,
    embedded_resource: bool = False,
    rules: Sequence[ValidationRule | str] = (),
    default: Any = UNSET,
    extra_schema: Mapping[str, Any] | None = None,
) -> msgspec.Meta:
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
    options = FieldOptions(
        format=format,
        pattern=pattern,
        nullable=nullable,
        list_type="map" if list_map_keys and not list_type else list_type,
        list_map_keys=tuple(list_map_keys),
        map_type=map_type,
        preserve_unknown_fields=preserve_unknown_fields,
        embedded_resource=embedded_resource,
        min_properties=min_properties,
        max_properties=max_properties,
        rules=rules_of(rules),
        default=default,
    )
    # Meta's overloads say which bounds exclude each other; it checks them itself when it is called.
    make = cast("Callable[..., msgspec.Meta]", msgspec.Meta)
    return make(
        description=description,
        title=title,
        examples=list(examples) if examples is not None else None,
        ge=ge,
        gt=gt,
        le=le,
        lt=lt,
        multiple_of=multiple_of,
        min_length=min_length,
        max_length=max_length,
        extra_json_schema=dict(extra_schema) if extra_schema else None,
        extra={KUBERNETES: options},
    )
