"""Schemas of built-in kinds and custom resources, and the functions that use them: pruning, defaults, validation.

    schemas = Schemas(definitions)                      # built-in kinds, from OpenAPI
    schema = structural.load(crd_version_schema)        # custom resources
    prune(schema, obj); apply_defaults(schema, obj); errors = validate(schema, obj)

The functions work on plain JSON values and do no I/O. `prune`, `apply_defaults` and `drop_nulls` change the value in
place; the others do not change their arguments.
"""

from __future__ import annotations

from setpoint.meta.json_values import JSON, copy_json, json_equal, nested_over, repeats

from . import structural
from .defaulting import apply_defaults, drop_nulls, fill_defaults
from .errors import ErrorType, FieldError, to_aggregate_message, to_causes
from .json_body import go_syntax_error, parse_json
from .list_types import list_type_errors
from .object_meta import OBJECT_META, with_object_meta
from .openapi import Schemas, load_openapi
from .prune import prune, unknown_fields
from .schema_node import ANYTHING, UNSET, Schema, Unset
from .validate import validate
from .validation_result import Denial, Verdict

__all__ = [
    "ANYTHING",
    "JSON",
    "OBJECT_META",
    "UNSET",
    "Denial",
    "ErrorType",
    "FieldError",
    "Schema",
    "Schemas",
    "Unset",
    "Verdict",
    "apply_defaults",
    "copy_json",
    "drop_nulls",
    "fill_defaults",
    "go_syntax_error",
    "json_equal",
    "list_type_errors",
    "load_openapi",
    "nested_over",
    "parse_json",
    "prune",
    "repeats",
    "structural",
    "to_aggregate_message",
    "to_causes",
    "unknown_fields",
    "validate",
    "with_object_meta",
]
