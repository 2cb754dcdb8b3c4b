"""The validation of the versions of a CustomResourceDefinition: schemas, subresources, columns, selectable fields and
deprecation warnings.
"""

from __future__ import annotations

import json
from typing import Any, Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.cel.rules import default_errors, rule_errors
from setpoint.cel.rules.field_path import resolve_path
from setpoint.meta.names import dns1035_label
from setpoint.schema import FieldError, json_equal, structural
from setpoint.schema.errors import Shown, duplicate, invalid, required, too_many

_SHARED: Final = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MOST_SELECTABLE: Final = 8
_LONGEST_WARNING: Final = 256
"""The length of the longest warning of a deprecated version, in bytes."""


def version_errors(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    """The errors in the versions, one after the other. ``before`` is the stored spec, empty at a creation."""
    versions = spec.get("versions") or []
    old_schemas = [version.get("schema") for version in before.get("versions") or ()]
    errors: list[FieldError] = []
    # API servers keep what all versions share in one place, and name that place in messages.
    shared = {part for part in _SHARED if all(json_equal(item.get(part), versions[0].get(part)) for item in versions)}
    status = {
        index for index, item in enumerate(versions) if (item.get("subresources") or {}).get("status") is not None
    }
    errors += [
        required(f"spec.versions[{index}].schema.openAPIV3Schema")
        for index, version in enumerate(versions)
        if (version.get("schema") or {}).get("openAPIV3Schema") is None
    ]
    if spec.get("preserveUnknownFields") and _has_defaults(versions):
        text = "must be false in order to use defaults in the schema"
        errors.append(invalid("spec.preserveUnknownFields", True, text))
    names: list[str] = []
    for index, version in enumerate(versions):
        path, name = f"spec.versions[{index}]", version.get("name", "")
        names.append(name)
        if wrong := dns1035_label(name):
            errors.append(invalid(f"{path}.name", name, ",".join(wrong)))
            if name and not index:  # upstream keeps the first version's name in an older field, too
                errors.append(invalid("spec.version", name, ",".join(wrong)))
        errors += _deprecation_errors(version, f"{path}.deprecationWarning")
        own = {key: value for key, value in version.items() if key not in shared}
        errors += _part_errors(own, version, path, f"{path}.schema", index in status, before, old_schemas)
    if len({*names}) < len(names):
        errors.append(
            invalid("spec.versions", _versions_in_message(versions, shared), "must contain unique version names")
        )
    if sum(bool(version.get("storage")) for version in versions) != 1:
        text = "must have exactly one version marked as storage version"
        errors.append(invalid("spec.versions", _versions_in_message(versions, shared), text))
    return errors


def _versions_in_message(versions: list[JsonObject], shared: set[str]) -> Any:
    """The versions as upstream's messages show them; only their names if they do not share all parts."""
    if shared < {*_SHARED}:
        return [version.get("name", "") for version in versions]
    parts: JsonObject = dict.fromkeys(("Schema", "Subresources", "AdditionalPrinterColumns", "SelectableFields"))
    flags = ("Served", "Storage", "Deprecated")
    items = [
        {
            "Name": version.get("name", ""),
            **{flag: bool(version.get(flag.lower())) for flag in flags},
            "DeprecationWarning": version.get("deprecationWarning"),
            **parts,
        }
        for version in versions
    ]
    return Shown(json.dumps(items, ensure_ascii=False, separators=(",", ":")))


def shared_errors(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    versions = spec.get("versions") or []
    if not versions:
        return []
    first, old_schemas = versions[0], [version.get("schema") for version in before.get("versions") or ()]
    common = {
        part: first[part]
        for part in _SHARED
        if first.get(part) is not None and all(json_equal(item.get(part), first[part]) for item in versions)
    }
    has_status = any((item.get("subresources") or {}).get("status") is not None for item in versions)
    return _part_errors(common, first, "spec", "spec.validation", has_status, before, old_schemas)


def _part_errors(
    parts: JsonObject,
    version: JsonObject,
    path: str,
    schema_path: str,
    has_status: bool,
    before: JsonObject,
    old_schemas: list[Any],
) -> list[FieldError]:
    """The errors in the schema, subresources, columns and selectable fields among ``parts`` of a version."""
    errors: list[FieldError] = []
    document = (version.get("schema") or {}).get("openAPIV3Schema")
    if parts.get("schema") is not None and document is not None:
        errors += _schema_errors(document, f"{schema_path}.openAPIV3Schema", has_status, old_schemas)
    errors += _scale_errors((parts.get("subresources") or {}).get("scale"), f"{path}.subresources.scale")
    errors += _column_errors(parts.get("additionalPrinterColumns") or (), f"{path}.additionalPrinterColumns")
    fields = parts.get("selectableFields") or ()
    if fields and path != "spec" and parts.get("schema") is None:  # a schema that all versions share is not theirs
        text = "may only be set when `version.schema.openAPIV3Schema` is not included"
        errors.append(invalid(f"{path}.selectableFields", "", text))
    elif fields and isinstance(document, dict):
        is_stored = any(json_equal(item.get("selectableFields"), fields) for item in before.get("versions") or ())
        errors += _selectable_errors(fields, document, f"{path}.selectableFields", is_stored=is_stored)
    return errors


def _has_defaults(value: Any) -> bool:
    if isinstance(value, dict):
        return value.get("default") is not None or any(_has_defaults(item) for item in value.values())
    return isinstance(value, list) and any(_has_defaults(item) for item in value)


def _deprecation_errors(version: JsonObject, path: str) -> list[FieldError]:
    text = version.get("deprecationWarning")
    if text is None:
        return []
    if not version.get("deprecated"):
        return [invalid(path, text, "can only be set for deprecated versions")]
    errors: list[FieldError] = []
    if len(text.encode()) > _LONGEST_WARNING:
        errors.append(invalid(path, text, f"must be <= {_LONGEST_WARNING} characters long"))
    if not text:
        errors.append(invalid(path, text, "must not be an empty string"))
    odd = next((index for index, character in enumerate(text) if not character.isprintable()), None)
    if odd is not None:
        position = len(text[:odd].encode())
        reason = f"must only contain printable UTF-8 characters; non-printable character found at index {position}"
        errors.append(invalid(path, text, reason))
    return errors


def _schema_errors(document: JsonObject, path: str, has_status: bool, old_schemas: list[Any]) -> list[FieldError]:
    """The errors in a schema. ``old_schemas``: earlier schemas; if the schema is one of them, defaults and rules are
    not checked again.
    """
    errors = structural.check(document, path, status_subresource=has_status)
    if errors or any(json_equal((schema or {}).get("openAPIV3Schema"), document) for schema in old_schemas):
        return errors
    return list(default_errors(document, path, root=True)) or rule_errors(document, path)


def _scale_errors(scale: Any, path: str) -> list[FieldError]:
    if scale is None:
        return []
    errors: list[FieldError] = []
    for key, roots, text in (
        ("specReplicasPath", (".spec.",), "should be a json path under .spec"),
        ("statusReplicasPath", (".status.",), "should be a json path under .status"),
        ("labelSelectorPath", (".spec.", ".status."), "should be a json path under either .spec or .status"),
    ):
        value = scale.get(key) or ""
        if not value:
            if key != "labelSelectorPath":
                errors.append(required(f"{path}.{key}"))
            continue
        wrong = _path_errors(value, f"{path}.{key}")
        errors += wrong
        if not wrong and not value.startswith(roots):
            errors.append(invalid(f"{path}.{key}", value, text))
    return errors


def _path_errors(value: str, path: str) -> list[FieldError]:
    return [] if value.startswith(".") else [invalid(path, value, "must be a simple json path starting with .")]


def _column_errors(columns: Any, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    types, formats = (f"must be one of {','.join(names)}" for names in (_COLUMN_TYPES, _COLUMN_FORMATS))
    for index, column in enumerate(columns):
        field_path = f"{path}[{index}]"
        if not column.get("name"):
            errors.append(required(f"{field_path}.name"))
        if not column.get("type"):
            errors.append(required(f"{field_path}.type", types))
        elif column["type"] not in _COLUMN_TYPES:
            errors.append(invalid(f"{field_path}.type", column["type"], types))
        if column.get("format") and column["format"] not in _COLUMN_FORMATS:
            errors.append(invalid(f"{field_path}.format", column["format"], formats))
        if not column.get("jsonPath"):
            errors.append(required(f"{field_path}.JSONPath"))
        else:
            errors += _path_errors(column["jsonPath"], f"{field_path}.JSONPath")
    return errors


def _selectable_errors(fields: Any, schema: JsonObject, path: str, *, is_stored: bool) -> list[FieldError]:
    """The errors in selectable fields; ``is_stored``: the CRD had them before, and may have too many of them."""
    errors: list[FieldError] = []
    paths: set[str] = set()
    for index, field in enumerate(fields):
        field_path, value = f"{path}[{index}].jsonPath", field.get("jsonPath") or ""
        if not value:
            errors.append(required(field_path))
            continue
        try:
            if "[" in value:
                raise ValueError("array notation is not allowed")
            path_text, node = resolve_path(value, schema)
        except ValueError as problem:
            errors.append(invalid(field_path, value, f"is an invalid path: {problem}"))
            continue
        if path_text.partition(".")[0] == "metadata":
            errors.append(invalid(field_path, value, "must not point to fields in metadata"))
        if node.get("type") not in ("string", "boolean", "integer"):
            text = "must point to a field of type string, boolean or integer."
            errors.append(
                invalid(field_path, value, f"{text} Enum string fields and strings with formats are allowed.")
            )
        if path_text in paths:
            errors.append(duplicate(field_path, value))
        paths.add(path_text)
    if len(paths) > _MOST_SELECTABLE and not is_stored:
        errors.append(too_many(path, len(paths), _MOST_SELECTABLE))
    return errors
