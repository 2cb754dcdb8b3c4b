"""CustomResourceDefinitions themselves: their defaults and validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from setpoint.apiserver.objects.codec import metadata_of
from setpoint.apiserver.resources.strategy import METADATA, JsonObject, Strategy
from setpoint.apiserver.storage import Record
from setpoint.apiserver.strategies.definition_versions import shared_errors, version_errors
from setpoint.apiserver.strategies.webhooks import (
    client_config_errors,
    default_client_config,
    review_version_errors,
)
from setpoint.apiserver.webhooks.responses import REVIEW_VERSIONS
from setpoint.meta.json_values import whole_numbers
from setpoint.meta.names import dns1035_label, dns1123_subdomain
from setpoint.schema import FieldError
from setpoint.schema.errors import forbidden, invalid, not_supported, required

if TYPE_CHECKING:
    from setpoint.apiserver.resources.write_context import WriteContext

CLEANUP_FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
_APPROVED: Final = "api-approved.kubernetes.io"
_NAMES: Final = ("plural", "singular", "kind", "listKind")


class Definitions(Strategy):
    """CRDs. After each write, `setpoint.apiserver.custom_resources.definitions.CustomResources` serves the resources
    that the CRD defines, or deletes them along with the CRD.
    """

    status_keeps = METADATA
    generation = True
    begins_deletion = True
    says_required = True
    zero: JsonObject = {"spec": {"names": {}}, "status": {}}

    def read(self, obj: JsonObject) -> None:
        whole_numbers(obj)  # the defaults and the bounds in schemas, which Go has as float64

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
        errors += version_errors(spec, before)
        errors += _name_errors(spec["names"])
        errors += shared_errors(spec, before)
        errors += _conversion_errors(spec, before)
        errors += _stored_errors(spec.get("versions") or ()) if old is None else _update_errors(spec, old)
        errors += _approval_errors(obj, old)
        if spec.get("preserveUnknownFields") and not before.get("preserveUnknownFields"):
            text = "set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
            errors.append(invalid("spec.preserveUnknownFields", True, f"cannot set to true, {text}"))
        return errors

    def prepare(self, call: WriteContext, obj: JsonObject) -> None:
        call.definitions.prepare(obj)

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
