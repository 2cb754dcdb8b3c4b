"""Structural schemas: a CustomResourceDefinition's ``openAPIV3Schema`` as a `Schema` (KEP-2335).

``check`` returns the errors with which an API server refuses a schema; ``load`` turns an accepted one into nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from setpoint.meta.json_values import JSON, copy_json, json_equal

from .errors import FieldError, forbidden, invalid
from .object_meta import with_object_meta
from .openapi import Schemas
from .prune import prune
from .schema_node import UNSET, Schema
from .structural_form import form_errors
from .structural_keywords import keyword_errors
from .validate import validate

# As the API server's message lists them.
_ALLOWED_ROOT_FIELDS: Final = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern"
    " MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields"
    " XValidations"
)
_ROOT_KEYWORDS: Final = frozenset(
    {name[0].lower() + name[1:] for name in _ALLOWED_ROOT_FIELDS.split() if not name.startswith("X")}
    | {"x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations", "nullable"}
)
_NOT_CONVERTIBLE: Final = (
    " is not supported",
    "items must be a schema object and not an array",
    "must be true or undefined",
)
"""The ends of the messages about keywords that a structural schema can't have."""


def load(definition: Mapping[str, JSON]) -> Schema:
    """The schema of a custom resource: ``definition`` plus apiVersion, kind and metadata, which every object has.

    Embedded resources get these fields too. Expects a definition that `check` accepts; raises KeyError for a definition
    with references.
    """
    return with_object_meta(Schemas({}).parse(definition))


def check(
    definition: Mapping[str, JSON],
    path: str = "spec.versions[0].schema.openAPIV3Schema",
    *,
    status_subresource: bool = False,
) -> list[FieldError]:
    """The errors with which an API server refuses the schema of a CRD version; empty if the server accepts the schema.

    ``path`` is the prefix of the errors' field paths. ``status_subresource``: the version has ``subresources.status``,
    which restricts the root of the schema. CEL rules are checked for form, not compiled.
    """
    errors = _root_errors(definition, path) if status_subresource else []
    if definition.get("nullable"):
        errors.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    keywords = keyword_errors(definition, path)
    # upstream can't make such a schema structural, so it checks no more of it
    if any(error.detail.endswith(_NOT_CONVERTIBLE) for error in keywords):
        return errors + keywords
    if _has_dialect(definition):
        return errors + keywords or [invalid(path, "", "OpenAPIV3Schema 'schema' is not supported")]
    form = form_errors(definition, path)
    errors += form
    if not form and not keywords and _has_default(definition):
        errors += _default_errors(Schemas({}).parse(definition), path)
    return errors + keywords


def _root_errors(definition: Mapping[str, JSON], path: str) -> list[FieldError]:
    if definition.get("type") not in ("object", "", None):
        reason = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        return [invalid(f"{path}.type", definition["type"], reason)]
    if all(key in _ROOT_KEYWORDS or not value for key, value in definition.items()):
        return []
    only = f"only [{_ALLOWED_ROOT_FIELDS}] fields are allowed"
    reason = f"{only} at the root of the schema if the status subresource is enabled"
    return [invalid(path, dict(definition), reason)]


def _has_dialect(definition: JSON) -> bool:
    """Whether ``$schema`` is set in the schema or in one of its parts."""
    if not isinstance(definition, Mapping):
        return False
    if definition.get("$schema"):
        return True
    parts = [definition.get(keyword) for keyword in ("items", "additionalProperties", "not")]
    parts += (definition.get("properties") or {}).values()
    for keyword in ("allOf", "anyOf", "oneOf"):
        parts += definition.get(keyword) or ()
    return any(_has_dialect(part) for part in parts)


def _has_default(definition: Mapping[str, JSON]) -> bool:
    if definition.get("default") is not None:
        return True
    if "items" in definition and _has_default(definition["items"]):
        return True
    return any(_has_default(child) for child in (definition.get("properties") or {}).values())


def _default_errors(schema: Schema, path: str) -> list[FieldError]:
    """The errors in defaults, which must be valid values without unknown fields. Defaults below
    ``additionalProperties`` are not checked.
    """
    errors: list[FieldError] = []
    if schema.default is not UNSET and schema.default is not None:
        pruned = copy_json(schema.default)
        prune(schema, pruned)
        if not json_equal(pruned, schema.default):
            errors.append(invalid(f"{path}.default", schema.default, "must not have unknown fields"))
        errors += validate(schema, schema.default, f"{path}.default")
    if schema.items is not None:
        errors += _default_errors(schema.items, f"{path}.items")
    for name, child in schema.properties.items():
        errors += _default_errors(child, f"{path}.properties[{name}]")
    return errors
