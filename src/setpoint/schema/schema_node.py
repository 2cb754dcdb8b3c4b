"""One node of a schema: the values that a field may hold, and how two such values merge.

The same immutable type describes built-in kinds (read from OpenAPI definitions, see ``openapi.py``) and custom
resources (read from a CustomResourceDefinition, see ``structural.py``), so validation, pruning, defaulting, strategic
merge patch and server-side apply all follow one description.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from setpoint.meta.json_values import JSON

Type: TypeAlias = Literal["object", "array", "string", "integer", "number", "boolean", ""]
ListType: TypeAlias = Literal["", "atomic", "set", "map"]
MapType: TypeAlias = Literal["", "granular", "atomic"]


class Unset:
    """The type of `UNSET`, which means *absent* where None means JSON's ``null``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> bool:
        return False


UNSET: Final = Unset()

GO_INT_OR_STRING: Final = "int32-or-string"
"""The format of Go's ``IntOrString``, whose numbers are whole and have 32 bits, unlike those of custom resources."""

_NOTHING: Final[Mapping[str, Any]] = {}


class Schema(msgspec.Struct, frozen=True, eq=False):
    """The values that a field may hold, and how they merge. Immutable; compared by identity, because schemas may refer
    to themselves.

    ``type == ""`` means that any JSON value is allowed unless another keyword restricts it. For merging, an object
    schema without ``properties`` and without ``additional`` is a free-form object; ``preserve_unknown`` decides whether
    its fields survive pruning.
    """

    type: Type = ""
    format: str = ""
    description: str = ""
    properties: Mapping[str, Schema] = msgspec.field(default_factory=lambda: _NOTHING)
    required: tuple[str, ...] = ()
    additional: Schema | None = None
    """The schema of every field that is not in ``properties`` (OpenAPI's ``additionalProperties``), for example of the
    values of a map; None if there is none.
    """
    items: Schema | None = None
    nullable: bool = False
    default: JSON = UNSET
    zero: JSON = UNSET
    """The Go zero value of a required field of a built-in type. If the field is a key of list items, items that lack
    the field are identified by this value.
    """
    enum: tuple[JSON, ...] | None = None
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str = ""
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False
    min_properties: int | None = None
    max_properties: int | None = None
    all_of: tuple[Schema, ...] = ()
    any_of: tuple[Schema, ...] = ()
    one_of: tuple[Schema, ...] = ()
    not_: Schema | None = None
    list_type: ListType = ""
    list_map_keys: tuple[str, ...] = ()
    map_type: MapType = ""
    patch_strategy: tuple[str, ...] = ()
    """The field's strategies in strategic merge patches: any of ``merge``, ``replace``, ``retainKeys``."""
    patch_merge_key: str = ""
    int_or_string: bool = False
    preserve_unknown: bool = False
    embedded_resource: bool = False
    validations: tuple[Mapping[str, JSON], ...] = ()
    """x-kubernetes-validations (CEL rules), as declared."""

    def field(self, name: str) -> Schema | None:
        """The schema of the field ``name``; None if the field has none."""
        child = self.properties.get(name)
        return self.additional if child is None else child

    def at(self, *path: str | int) -> Schema | None:
        """The schema at ``path`` (field names; any int stands for a list's items); None if there is none."""
        node: Schema | None = self
        for step in path:
            if node is None:
                return None
            node = node.items if isinstance(step, int) else node.field(step)
        return node

    def replace(self, **changes: Any) -> Schema:
        """A copy with some attributes changed; children are shared."""
        return msgspec.structs.replace(self, **changes)

    def __repr__(self) -> str:
        parts: list[str] = [self.type or "any"]
        if self.properties:
            parts.append(f"{len(self.properties)} properties")
        if self.list_type or self.map_type:
            parts.append(self.list_type or self.map_type)
        return f"<Schema {', '.join(parts)}>"


ANYTHING: Final = Schema(preserve_unknown=True)
"""A value without a schema: everything is allowed, nothing is pruned, lists merge atomically and objects by
field."""
