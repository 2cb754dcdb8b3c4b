"""Rules for storage claims, including those inside other objects."""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.label_selectors import label_selector_errors
from setpoint.meta import Quantity
from setpoint.meta.names import dns1123_label, dns1123_subdomain
from setpoint.schema import FieldError
from setpoint.schema.errors import Shown, forbidden, invalid, not_supported, required

Errors = list[FieldError]
_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_COPIED_FROM: Final = ("dataSource", "dataSourceRef")
_KIND: Final = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"


def access_mode_errors(modes: list[str] | None, path: str, detail: str = "") -> Errors:
    """The errors in the access modes of volumes and claims. ``detail`` is the message if there are no modes."""
    if not modes:
        return [required(path, detail)]
    errors = [not_supported(path, mode, _MODES) for mode in modes if mode not in _MODES]
    valid_modes = {mode for mode in modes if mode in _MODES}
    if "ReadWriteOncePod" in valid_modes and len(valid_modes) > 1:
        errors.append(forbidden(path, "may not use ReadWriteOncePod with other access modes"))
    return errors


def claim_errors(spec: JsonObject, path: str, before: JsonObject | None = None) -> Errors:
    """The errors in the spec of a claim. ``before`` is the claim's stored spec; None for a new claim. If a data source
    in ``before`` has an API group, the names of API groups are not checked.
    """
    errors = access_mode_errors(spec.get("accessModes"), f"{path}.accessModes", "at least 1 access mode is required")
    errors += label_selector_errors(spec.get("selector"), f"{path}.selector")
    amount, field_path = (
        ((spec.get("resources") or {}).get("requests") or {}).get("storage"),
        f"{path}.resources[storage]",
    )
    if amount is None:
        errors.append(required(field_path))
    elif Quantity(amount) <= Quantity("0"):
        errors.append(invalid(field_path, amount, "must be greater than zero"))
    for name in ("storageClassName", "volumeAttributesClassName"):
        value = spec.get(name)
        errors += [invalid(f"{path}.{name}", value, text) for text in (dns1123_subdomain(value) if value else ())]
    mode = spec.get("volumeMode")
    if mode is not None and mode not in ("Block", "Filesystem"):
        errors.append(not_supported(f"{path}.volumeMode", mode, ("Block", "Filesystem")))
    any_group = any(((before or {}).get(name) or {}).get("apiGroup") is not None for name in _COPIED_FROM)
    for name in _COPIED_FROM:
        if spec.get(name) is not None:
            errors += _source_errors(spec[name], f"{path}.{name}", any_group)
    return errors + _difference_errors(spec, path)


def _source_errors(source: JsonObject, path: str, any_group: bool) -> Errors:
    errors = [required(f"{path}.{name}") for name in ("name", "kind") if not source.get(name)]
    group, kind = source.get("apiGroup") or "", source.get("kind", "")
    if not group and kind != "PersistentVolumeClaim":
        errors.append(invalid(path, kind, _KIND))
    if group and not any_group:
        errors += [invalid(f"{path}.apiGroup", group, text) for text in dns1123_subdomain(group)]
    namespace = source.get("namespace") or ""
    return errors + [
        invalid(f"{path}.namespace", namespace, text) for text in (dns1123_label(namespace) if namespace else ())
    ]


def _difference_errors(spec: JsonObject, path: str) -> Errors:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None or reference is None:
        return []
    if reference.get("namespace"):
        return [invalid(path, Shown("{}"), "may not be specified when dataSourceRef.namespace is specified")]
    same = all((source.get(key) or "") == (reference.get(key) or "") for key in ("apiGroup", "kind", "name"))
    return [] if same else [invalid(path, Shown("{}"), "must match dataSourceRef")]  # (so shown upstream)
