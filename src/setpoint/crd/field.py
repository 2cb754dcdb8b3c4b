"""What a class says about its fields beyond their types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

ListType = Literal["atomic", "set", "map"]
KUBERNETES = "kubernetes"
"""Where `Field` keeps, in ``Meta.extra``, what has no counterpart in JSON Schema."""


class Rule(Struct, frozen=True, kw_only=True):
    """A CEL rule (``x-kubernetes-validations``): ``rule`` must be true of ``self`` (and ``oldSelf``, if it is named).

    ``reason`` is FieldValueInvalid, FieldValueForbidden, FieldValueRequired or FieldValueDuplicate; ``field_path``
    points below the field that carries the rule, such as ``.replicas``.
    """

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str = ""
    field_path: str = ""
    optional_old_self: bool | None = None


class FieldOptions(Struct, frozen=True, kw_only=True):
    """The Kubernetes part of a `Field`."""

    format: str = ""
    list_type: ListType | Literal[""] = ""
    list_map_keys: tuple[str, ...] = ()
    map_type: Literal["", "granular", "atomic"] = ""
    preserve_unknown_fields: bool = False
    embedded_resource: bool = False
    unique_items: bool = False
    min_properties: int | None = None
    max_properties: int | None = None
    rules: tuple[Rule, ...] = ()


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
    list_type: ListType | Literal[""] = "",
    list_map_keys: Sequence[str] = (),
    map_type: Literal["", "granular", "atomic"] = "",
    preserve_unknown_fields: bool = False,
    embedded_resource: bool = False,
    rules: Sequence[Rule | str] = (),
    extra_schema: Mapping[str, Any] | None = None,
) -> msgspec.Meta:
    """Bounds, patterns, descriptions and merge hints of a field, for use inside ``typing.Annotated``.

    The bounds go into the CRD's schema, where the API server enforces them, and are checked again when an object is
    decoded. ``min_length`` and ``max_length`` hold for strings (characters) and lists (items). ``list_map_keys``
    are wire names and imply ``list_type="map"``. A plain string in ``rules`` is a CEL rule without a message.

    >>> from typing import Annotated
    >>> Replicas = Annotated[int, Field(ge=0, description="how many")]
    """
    options = FieldOptions(
        format=format,
        list_type="map" if list_map_keys and not list_type else list_type,
        list_map_keys=tuple(list_map_keys),
        map_type=map_type,
        preserve_unknown_fields=preserve_unknown_fields,
        embedded_resource=embedded_resource,
        min_properties=min_properties,
        max_properties=max_properties,
        rules=tuple(rule if isinstance(rule, Rule) else Rule(rule=rule) for rule in rules),
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
        pattern=pattern,
        min_length=min_length,
        max_length=max_length,
        extra_json_schema=dict(extra_schema) if extra_schema else None,
        extra={KUBERNETES: options},
    )
