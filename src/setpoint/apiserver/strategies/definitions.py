"""CustomResourceDefinitions themselves: their defaults and validation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from setpoint.apiserver.storage import Record
from setpoint.apiserver.strategies.strategy import METADATA, JsonObject, Strategy
from setpoint.apiserver.strategies.webhooks import (
    client_config_errors,
    default_client_config,
    review_version_errors,
)
from setpoint.cel.rules import default_errors, rule_errors
from setpoint.meta.names import dns1035_label, dns1123_subdomain
from setpoint.schema import FieldError, json_equal, structural
from setpoint.schema.errors import duplicate, forbidden, invalid, not_supported, required

if TYPE_CHECKING:
    from setpoint.apiserver.resources.behaviour import WriteContext

__all__ = ["Definitions"]

_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
_JSON_PATH: Final = re.compile(r"(\.[A-Za-z_][-A-Za-z0-9_]*|\['[^']+'\])+")
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")


class Definitions(Strategy):
    """CRDs. After each write, `setpoint.apiserver.custom.definitions.CustomResources` serves the resources that the CRD
    defines, or deletes them along with the CRD.
    """

    status_keeps = METADATA
    generation = True
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
        """Adds the finalizer that keeps a CRD until its custom resources have been deleted."""
        metadata = obj["metadata"]
        if not metadata.get("deletionTimestamp") and _FINALIZER not in (metadata.get("finalizers") or ()):
            metadata["finalizers"] = [*(metadata.get("finalizers") or ()), _FINALIZER]

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        spec = obj.get("spec")
        if not isinstance(spec, dict) or not isinstance(spec.get("names"), dict):
            return []  # the schema has said so
        errors = _name_errors(obj["metadata"].get("name", ""), spec)
        errors += _version_errors(spec, (old or {}).get("spec") or {})
        errors += _conversion_errors(spec)
        if old is not None:
            errors += _update_errors(spec, old)
        return errors

    def foresee(self, call: WriteContext, obj: JsonObject) -> None:
        call.definitions.foresee(obj)

    def after_create(self, call: WriteContext, record: Record) -> Record:
        call.definitions.created(record)
        return record

    def after_update(self, call: WriteContext, record: Record, old: JsonObject) -> Record:
        return call.definitions.updated(record, old)

    def after_delete(self, call: WriteContext, record: Record) -> None:
        call.definitions.deleted(record)


def _name_errors(name: str, spec: JsonObject) -> list[FieldError]:
    errors: list[FieldError] = []
    group, names = spec.get("group", ""), spec["names"]
    plural = names.get("plural", "")
    if not group:
        errors.append(required("spec.group"))
    else:
        errors += [invalid("spec.group", group, text) for text in dns1123_subdomain(group)]
        if "." not in group:
            errors.append(invalid("spec.group", group, "should be a domain with at least one dot"))
    if name != f"{plural}.{group}":
        errors.append(invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    for key in ("plural", "singular"):
        value = names.get(key, "")
        if not value and key == "plural":
            errors.append(required(f"spec.names.{key}"))
        elif value:
            errors += [invalid(f"spec.names.{key}", value, text) for text in dns1035_label(value)]
    for key in ("kind", "listKind"):
        value = names.get(key, "")
        if not value and key == "kind":
            errors.append(required("spec.names.kind"))
        elif value:
            text = "may have mixed case, but should otherwise match"
            errors += [invalid(f"spec.names.{key}", value, f"{text}: {why}") for why in dns1035_label(value.lower())]
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        errors.append(invalid("spec.names.listKind", names["listKind"], "kind and listKind may not be the same"))
    for index, short in enumerate(names.get("shortNames") or ()):
        errors += [invalid(f"spec.names.shortNames[{index}]", short, text) for text in dns1035_label(short)]
    for index, category in enumerate(names.get("categories") or ()):
        errors += [invalid(f"spec.names.categories[{index}]", category, text) for text in dns1035_label(category)]
    scope = spec.get("scope", "")
    if scope not in ("Cluster", "Namespaced"):
        errors.append(
            not_supported("spec.scope", scope, ("Cluster", "Namespaced")) if scope else required("spec.scope")
        )
    return errors


def _version_errors(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    versions = spec.get("versions") or []
    known = [version.get("schema") for version in before.get("versions") or ()]
    errors: list[FieldError] = []
    if not versions:
        return [required("spec.versions", "must have at least one version")]
    seen: set[str] = set()
    stored = [version for version in versions if version.get("storage")]
    # API servers keep a schema that all versions share in one place, and name that place in messages.
    several = any(not json_equal(version.get("schema"), versions[0].get("schema")) for version in versions)
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        schema_path = f"{path}.schema.openAPIV3Schema" if several else "spec.validation.openAPIV3Schema"
        name = version.get("name", "")
        errors += [invalid(f"{path}.name", name, text) for text in dns1035_label(name)]
        if name in seen:
            errors.append(duplicate(f"{path}.name", name))
        seen.add(name)
        subresources = version.get("subresources") or {}
        document = (version.get("schema") or {}).get("openAPIV3Schema")
        if document is None:
            errors.append(required(f"{path}.schema.openAPIV3Schema", "schemas are required"))
        else:
            errors += _schema_errors(document, schema_path, subresources.get("status") is not None, known)
        if version.get("deprecationWarning") is not None and not version.get("deprecated"):
            where, text = f"{path}.deprecationWarning", "can only be set for deprecated versions"
            errors.append(invalid(where, version["deprecationWarning"], text))
        errors += _scale_errors(subresources.get("scale"), f"{path}.subresources.scale")
        errors += _column_errors(version.get("additionalPrinterColumns") or (), f"{path}.additionalPrinterColumns")
        errors += _selectable_errors(version.get("selectableFields") or (), f"{path}.selectableFields")
    if len(stored) != 1:
        text = "must have exactly one version marked as storage version"
        errors.append(invalid("spec.versions", [version.get("name", "") for version in versions], text))
    if spec.get("preserveUnknownFields"):
        text = "must be false in order to use defaults in the schema"
        value = spec["preserveUnknownFields"]
        errors.append(invalid("spec.preserveUnknownFields", value, "must be false" if not versions else text))
    return errors


def _schema_errors(document: JsonObject, path: str, has_status: bool, known: list[Any]) -> list[FieldError]:
    """The errors in a schema. ``known``: earlier schemas; if the schema is one of them, defaults and rules are not
    checked again.
    """
    errors = structural.check(document, path, status_subresource=has_status)
    if errors or any(json_equal((schema or {}).get("openAPIV3Schema"), document) for schema in known):
        return errors
    return list(default_errors(document, path, root=True)) or rule_errors(document, path)


def _scale_errors(scale: Any, path: str) -> list[FieldError]:
    if scale is None:
        return []
    errors: list[FieldError] = []
    for key, root, needed in (
        ("specReplicasPath", ".spec.", True),
        ("statusReplicasPath", ".status.", True),
        ("labelSelectorPath", "", False),
    ):
        value = scale.get(key, "")
        if not value:
            if needed:
                errors.append(required(f"{path}.{key}"))
            continue
        if not re.fullmatch(r"(\.[A-Za-z_][-A-Za-z0-9_]*)+", value):
            errors.append(invalid(f"{path}.{key}", value, "must be a simple json path without array notation"))
        elif root and not value.startswith(root):
            errors.append(invalid(f"{path}.{key}", value, f"should be a json path under {root[:-1]}"))
        elif not root and not value.startswith((".spec.", ".status.")):
            errors.append(invalid(f"{path}.{key}", value, "should be a json path under either .spec or .status"))
    return errors


def _column_errors(columns: Any, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, column in enumerate(columns):
        where = f"{path}[{index}]"
        for key in ("name", "type", "jsonPath"):
            if not column.get(key):
                errors.append(
                    required(f"{where}.{key}", f"{'JSONPath' if key == 'jsonPath' else key} must be specified")
                )
        if column.get("type") and column["type"] not in _COLUMN_TYPES:
            text = f"must be one of {','.join(_COLUMN_TYPES)}"
            errors.append(invalid(f"{where}.type", column["type"], text))
    return errors


def _selectable_errors(fields: Any, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(fields) > 8:
        errors.append(invalid(path, len(fields), "must have at most 8 selectable fields"))
    seen: set[str] = set()
    for index, field in enumerate(fields):
        value = field.get("jsonPath", "")
        if not value:
            errors.append(required(f"{path}[{index}].jsonPath"))
        elif not _JSON_PATH.fullmatch(value):
            errors.append(invalid(f"{path}[{index}].jsonPath", value, "is an invalid path"))
        elif value in seen:
            errors.append(duplicate(f"{path}[{index}].jsonPath", value))
        seen.add(value)
    return errors


def _conversion_errors(spec: JsonObject) -> list[FieldError]:
    conversion, path = spec.get("conversion") or {}, "spec.conversion"
    strategy, webhook = conversion.get("strategy", ""), conversion.get("webhook")
    if strategy not in ("None", "Webhook"):
        return [not_supported(f"{path}.strategy", strategy, ("None", "Webhook"))]
    if strategy == "None":
        text = "should not be set when strategy is not set to Webhook"
        return [forbidden(f"{path}.webhook", text)] if webhook is not None else []
    webhook = webhook or {}
    errors: list[FieldError] = []
    if webhook.get("clientConfig") is None:
        errors.append(required(f"{path}.webhook.clientConfig", "required when strategy is set to Webhook"))
    else:
        errors += client_config_errors(webhook["clientConfig"], f"{path}.webhook.clientConfig")
    errors += review_version_errors(webhook.get("conversionReviewVersions"), f"{path}.webhook.conversionReviewVersions")
    if spec.get("preserveUnknownFields"):
        errors.append(invalid(f"{path}.strategy", strategy, "must be None if spec.preserveUnknownFields is true"))
    return errors


def _update_errors(spec: JsonObject, old: JsonObject) -> list[FieldError]:
    before, status = old["spec"], old.get("status") or {}
    errors: list[FieldError] = []
    if spec.get("group") != before.get("group"):
        errors.append(invalid("spec.group", spec.get("group", ""), "field is immutable"))
    established = any(
        item.get("type") == "Established" and item.get("status") == "True" for item in status.get("conditions") or ()
    )
    if established:
        if spec.get("scope") != before.get("scope"):
            errors.append(invalid("spec.scope", spec.get("scope", ""), "field is immutable"))
        for key in ("plural", "kind"):
            if not json_equal(spec["names"].get(key), before["names"].get(key)):
                errors.append(invalid(f"spec.names.{key}", spec["names"].get(key, ""), "field is immutable"))
    names = {version.get("name") for version in spec.get("versions") or ()}
    for index, version in enumerate(status.get("storedVersions") or ()):
        if version not in names:
            text = "missing from spec.versions; it must not be removed while it is stored"
            errors.append(invalid(f"status.storedVersions[{index}]", version, f"{text}: storage migration is needed"))
    return errors
