"""The ways to change an object: JSON patch, merge patch, strategic merge patch and server-side apply.

Each is a module of pure functions over plain JSON values::

    json_patch.apply(document, operations)
    merge_patch.apply(document, patch)            merge_patch.diff(original, modified)
    strategic.apply(schema, document, patch)      strategic.diff(schema, original, modified)
    apply.apply(endpoint, live, applied, ...)     apply.update(endpoint, old, new, ...)
    initial_managed_fields.create(schema, new, ...)
"""

from __future__ import annotations

from . import (
    apply,
    compare,
    fieldset,
    initial_managed_fields,
    json_patch,
    managed_fields,
    merge_patch,
    strategic,
    typed,
)
from .apply import ApplyConflict, ApplyResult, Conflict, Endpoint, InvalidApply
from .fieldset import FieldSet
from .json_patch import PatchError, TestFailed, TooManyOperations
from .managed_fields import managers_of_request
from .managed_fields_migration import migrated, migration_patch
from .strategic import StrategicPatchError
from .typed import TypedError

__all__ = [
    "ApplyConflict",
    "ApplyResult",
    "Conflict",
    "Endpoint",
    "FieldSet",
    "InvalidApply",
    "PatchError",
    "StrategicPatchError",
    "TestFailed",
    "TooManyOperations",
    "TypedError",
    "apply",
    "compare",
    "fieldset",
    "initial_managed_fields",
    "json_patch",
    "managed_fields",
    "managers_of_request",
    "merge_patch",
    "migrated",
    "migration_patch",
    "strategic",
    "typed",
]
