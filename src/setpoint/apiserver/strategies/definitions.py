"""CustomResourceDefinitions themselves: their defaults and validation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from setpoint.apiserver.objects.codec import metadata_of
from setpoint.apiserver.resources.strategy import METADATA, JsonObject, Strategy
from setpoint.apiserver.storage import Record
from setpoint.apiserver.strategies.webhooks import (
    client_config_errors,
    default_client_config,
    review_version_errors,
)
from setpoint.apiserver.webhooks.responses import REVIEW_VERSIONS
from setpoint.cel.rules import default_errors, rule_errors
from setpoint.cel.rules.field_path import resolve_path
from setpoint.meta.names import dns1035_label, dns1123_subdomain
from setpoint.schema import FieldError, json_equal, structural
from setpoint.schema.errors import Shown, duplicate, forbidden, invalid, not_supported, required, too_many

if TYPE_CHECKING:
    from setpoint.apiserver.resources.write_context import WriteContext

CLEANUP_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
_APPROVED: Final = "api-approved.kubernetes.io"
_NAMES: Final = ("plural", "singular", "kind", "listKind")
_SHARED: Final = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MOST_SELECTABLE: Final = 8
_LONGEST_WARNING: Final = 256
"""The length of the longest warning of a deprecated version, in bytes."""


class Definitions(Strategy):
    """CRDs. After each write, `setpoint.apiserver.custom_resources.definitions.CustomResources` serves the resources
    that the CRD
    defines, or deletes them along with the CRD.
    """

    status_keeps = METADATA
    generation = True
    begins_deletion = True
    says_required = True
    zero: JsonObject = {"spec": {"names": {}}, "status": {}}

    def default(self, obj: JsonObject) -> None:
        spec = obj.get("spec")
        if not isinstance(spec, dict):
            return
        conversion = spec.setdefault("conversion", {"strategy": "None"})
        webhook = conversion.get("webhook") if isinstance(conversion, dict) else None
        if isinstance(webhook, dict):
            default_client_config(webhook.get("clientConfig"))
        names = spec.get("names")
        if isinstance(names, dict) and names.get("kind"):
            names.setdefault("singular", names["kind"].lower())
            names.setdefault("listKind", f"{names['kind']}List")

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        versions = (obj.get("spec") or {}).get("versions") or ()
        stored = [version.get("name", "") for version in versions if version.get("storage")]
        obj["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored}

    def check_delete(self, call: WriteContext, obj: JsonObject) -> None:
        """Adds the finalizer that keeps a CRD until its custom resources have been deleted, and the condition that says
        so.
        """
        metadata, status = obj["metadata"], obj["status"]
        if metadata.get("deletionTimestamp"):
            return
        finalizers = metadata.get("finalizers") or ()
        if CLEANUP_FINALIZER not in finalizers:
            metadata["finalizers"] = [*finalizers, CLEANUP_FINALIZER]
        others = [item for item in status.get("conditions") or () if item.get("type") != "Terminating"]
        text = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
        pending = {"type": "Terminating", "status": "True", "reason": "InstanceDeletionPending", "message": text}
        status["conditions"] = [*others, {**pending, "lastTransitionTime": call.timestamp()}]

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        spec = obj.get("spec")
        if not isinstance(spec, dict) or not isinstance(spec.get("names"), dict):
            return []  # the schema has said so
        before: JsonObject = (old or {}).get("spec") or {}
        errors = _group_errors(obj["metadata"].get("name", ""), spec)
        errors += _version_errors(spec, before)
        errors += _name_errors(spec["names"])
        errors += _shared_errors(spec, before)
        errors += _conversion_errors(spec, before)
        errors += _stored_errors(spec.get("versions") or ()) if old is None else _update_errors(spec, old)
        errors += _approval_errors(obj, old)
        if spec.get("preserveUnknownFields") and not before.get("preserveUnknownFields"):
            text = "set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
            errors.append(invalid("spec.preserveUnknownFields", True, f"cannot set to true, {text}"))
        return errors

    def foresee(self, call: WriteContext, obj: JsonObject) -> None:
        call.definitions.foresee(obj)

    def after_create(self, call: WriteContext, record: Record) -> Record:
        call.definitions.created(record)
        return record

    def after_update(self, call: WriteContext, record: Record, old: JsonObject) -> Record:
        latest = call.definitions.updated(record, old)
        begins = metadata_of(record.value).deletionTimestamp and "deletionTimestamp" not in old["metadata"]
        return record if begins else latest  # as upstream, whose controllers finish a deletion after the answer

    def after_delete(self, call: WriteContext, record: Record) -> None:
        call.definitions.deleted(record)


def _group_errors(name: str, spec: JsonObject) -> list[FieldError]:
    errors: list[FieldError] = []
    group, scope = spec.get("group") or "", spec.get("scope") or ""
    if name != f"{spec['names'].get('plural') or ''}.{group}":
        errors.append(invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    if not group:
        errors.append(required("spec.group"))
    elif wrong := dns1123_subdomain(group):
        errors.append(invalid("spec.group", group, ",".join(wrong)))
    elif "." not in group:
        errors.append(invalid("spec.group", group, "should be a domain with at least one dot"))
    if scope not in ("Cluster", "Namespaced"):
        supported = not_supported("spec.scope", scope, ("Cluster", "Namespaced"))
        errors.append(supported if scope else required("spec.scope"))
    return errors


def _name_errors(names: JsonObject) -> list[FieldError]:
    errors = [required(f"spec.names.{key}") for key in _NAMES if not names.get(key)]
    for key in _NAMES:
        value = names.get(key) or ""
        mixed = "may have mixed case, but should otherwise match: " if key.lower().endswith("kind") else ""
        wrong = dns1035_label(value.lower() if mixed else value) if value else []
        if wrong:
            errors.append(invalid(f"spec.names.{key}", value, mixed + ",".join(wrong)))
    listed = [("shortNames", item) for item in enumerate(names.get("shortNames") or ())]
    listed += [("categories", item) for item in enumerate(names.get("categories") or ())]
    errors += [
        invalid(f"spec.names.{key}[{index}]", value, ",".join(wrong))
        for key, (index, value) in listed
        if (wrong := dns1035_label(value))
    ]
    if names.get("kind") and names["kind"] == names.get("listKind"):
        errors.append(invalid("spec.names.listKind", names["listKind"], "kind and listKind may not be the same"))
    return errors


def _version_errors(spec: JsonObject, before: JsonObject) -> list[FieldError]:
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


def _shared_errors(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    """The errors in those parts that all versions have in common."""
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


def _conversion_errors(spec: JsonObject, before: JsonObject | None) -> list[FieldError]:
    """The errors in the conversion. As in upstream, the paths have the names of the older form of CRDs."""
    conversion, path = spec.get("conversion") or {}, "spec.conversion"
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook") or {}
    config, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    errors: list[FieldError] = []
    if strategy != "None" and spec.get("preserveUnknownFields"):
        errors.append(invalid(f"{path}.strategy", strategy, "must be None if spec.preserveUnknownFields is true"))
    if strategy not in ("None", "Webhook"):
        supported = not_supported(f"{path}.strategy", strategy, ("None", "Webhook"))
        errors.append(supported if strategy else required(f"{path}.strategy"))
    if strategy != "Webhook":
        text = "should not be set when strategy is not set to Webhook"
        if config is not None:
            errors.append(forbidden(f"{path}.webhookClientConfig", text))
        if versions:
            errors.append(forbidden(f"{path}.conversionReviewVersions", text))
        return errors
    if config is None:
        errors.append(required(f"{path}.webhookClientConfig", "required when strategy is set to Webhook"))
    else:
        errors += client_config_errors(config, f"{path}.webhookClientConfig")
    field_path = f"{path}.conversionReviewVersions"
    if not versions:
        return [*errors, required(field_path)]
    old = (((before or {}).get("conversion") or {}).get("webhook") or {}).get("conversionReviewVersions") or []
    unknown = bool(old) and not {*old} & {*REVIEW_VERSIONS}
    wrong = review_version_errors(versions, field_path)
    return errors + [error for error in wrong if error.field != field_path or not unknown]


def _approval_errors(obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """The errors in the annotation with which definitions in the community's groups are approved."""
    group = obj["spec"].get("group") or ""
    if not f".{group}".endswith((".k8s.io", ".kubernetes.io")):
        return []
    state, reason = _approval(obj)
    if state in ("approved", "bypassed") or (old is not None and _approval(old)[0] == state):
        return []
    path = f"metadata.annotations[{_APPROVED}]"
    annotation = (obj["metadata"].get("annotations") or {}).get(_APPROVED, "")
    return [required(path, reason) if state == "missing" else invalid(path, annotation, reason)]


def _approval(obj: JsonObject) -> tuple[str, str]:
    annotation = (obj["metadata"].get("annotations") or {}).get(_APPROVED) or ""
    need = f'protected groups must have approval annotation "{_APPROVED}"'
    see = "see https://github.com/kubernetes/enhancements/pull/1111"
    if not annotation:
        return "missing", f"{need}, {see}"
    url = urlsplit(annotation) if annotation.isprintable() else None
    if annotation.startswith("unapproved"):
        return "bypassed", ""
    if url is not None and url.scheme and url.netloc:
        return "approved", ""
    return "invalid", f'{need} with either a URL or a reason starting with "unapproved", {see}'


def _stored_errors(versions: Sequence[JsonObject]) -> list[FieldError]:
    """The errors in the stored versions of a new definition: the first version that is marked as one."""
    marked = [version.get("name", "") for version in versions if version.get("storage")]
    if not marked:
        return [invalid("status.storedVersions", None, "must have at least one stored version")]
    return [
        invalid("status.storedVersions", marked[:1], f"must have the storage version {name}") for name in marked[1:]
    ]


def _update_errors(spec: JsonObject, old: JsonObject) -> list[FieldError]:
    before, status = old["spec"], old.get("status") or {}
    errors: list[FieldError] = []
    established = any(
        item.get("type") == "Established" and item.get("status") == "True" for item in status.get("conditions") or ()
    )
    if established:
        errors += _immutable("spec.scope", spec.get("scope"), before.get("scope"))
        errors += _immutable("spec.names.kind", spec["names"].get("kind"), before["names"].get("kind"))
    errors += _immutable("spec.group", spec.get("group"), before.get("group"))
    errors += _immutable("spec.names.plural", spec["names"].get("plural"), before["names"].get("plural"))
    names = {version.get("name") for version in spec.get("versions") or ()}
    for index, version in enumerate(status.get("storedVersions") or ()):
        if version not in names:
            text = f"missing from spec.versions; {version} was previously a storage version, and must remain in "
            text += f"spec.versions until a storage migration ensures no data remains persisted in {version} and "
            text += f"removes {version} from status.storedVersions"
            errors.append(invalid(f"status.storedVersions[{index}]", version, text))
    return errors


def _immutable(path: str, value: str | None, before: str | None) -> list[FieldError]:
    return [] if (value or "") == (before or "") else [invalid(path, value or "", "field is immutable")]
