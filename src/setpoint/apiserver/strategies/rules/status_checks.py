"""Checks of individual status fields, for the table of statuses (`statuses`)."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from typing import Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.addresses import address_errors
from setpoint.apiserver.strategies.rules.quotas import amount_errors
from setpoint.apiserver.strategies.rules.rule_table import Place
from setpoint.meta import Quantity
from setpoint.meta.names import dns1123_subdomain, qualified_name
from setpoint.meta.text_escaping import quote
from setpoint.schema import FieldError
from setpoint.schema.addresses import address_of
from setpoint.schema.errors import Shown, duplicate, forbidden, invalid, not_supported, required, too_long

Errors = list[FieldError]
_FEATURE: Final = re.compile("[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*", re.ASCII)
_NOT_A_FEATURE: Final = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or "
    "MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)
_VOLUME_MESSAGE: Final = 1024
_ATTACHMENT: Final = 256 * 1024
_ERROR_CODE: Final = "must be between 0 and 2147483647, inclusive"
_NO_AMOUNT: Final = "must be a valid resource quantity"
_CLAIM_RESIZES: Final = (
    "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible",
    "NodeResizePending",
)  # fmt: skip


# -- addresses ---------------------------------------------------------------------------------------------------------


def address(place: Place) -> Errors:
    return address_errors(place.value, place.path, place.of_old(_balanced_addresses)) if place.value else []


def _balanced_addresses(obj: JsonObject) -> set[str]:
    points = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    return {item.get("ip") for item in points}


def host_name(place: Place) -> Errors:
    name = place.value
    if not name:
        return []
    errors: Errors = [invalid(place.path, name, text) for text in dns1123_subdomain(name)]
    if address_of(name) is None:
        return errors
    return [*errors, invalid(place.path, name, "must be a DNS name, not an IP address")]


def _mode(place: Place) -> Errors:
    address = place.holder.get("ip")
    if place.value is None:
        return [required(place.path, "must be specified when `ip` is set")] if address else []
    if not address:
        return [forbidden(place.path, "may not be specified when `ip` is not set")]
    return [] if place.value in ("Proxy", "VIP") else [not_supported(place.path, place.value, ("Proxy", "VIP"))]


def balanced(place: Place) -> Errors:
    if not place.value:
        return []
    if place.obj["spec"].get("type") != "LoadBalancer":
        return [forbidden(place.path, "may only be used when `spec.type` is 'LoadBalancer'")]
    errors: Errors = []
    for index, item in enumerate(place.value):
        for name, check in (("ip", address), ("ipMode", _mode), ("hostname", host_name)):
            errors += check(place.inner(item.get(name), f"{place.path}[{index}].{name}", item))
    return errors


def distinct_addresses(place: Place) -> Errors:
    previous: set[tuple[str, str]] = set()
    errors: Errors = []
    for index, item in enumerate(place.value or ()):
        address = item.get("type", ""), item.get("address", "")
        if address in previous:
            named = dict(zip(("Type", "Address"), address, strict=True))
            bad_value = json.dumps(named, separators=(",", ":"), ensure_ascii=False)
            errors.append(duplicate(f"{place.path}[{index}]", Shown(bad_value)))
        previous.add(address)
    return errors


# -- amounts -----------------------------------------------------------------------------------------------------------


def capacity(place: Place) -> Errors:
    """The errors in the size of a claim's volume."""
    return [
        invalid(f"{place.path}[{name}]", int(Quantity(amount).value), _NO_AMOUNT)
        for name, amount in (place.value or {}).items()
        if Quantity(amount) <= Quantity(-1)
    ]


def _claim_resource(name: str, path: str) -> Errors:
    """The errors in the name of a claim's resource, which must be ``storage`` or begin with the domain of a driver."""
    errors: Errors = [invalid(path, name, text) for text in qualified_name(name)]
    if errors or "/" in name or name == "storage":
        return errors
    return [not_supported(path, name, ("storage",))]


def allocated(place: Place) -> Errors:
    """The errors in the allocated size of a claim that is being resized."""
    errors: Errors = []
    for name, amount in (place.value or {}).items():
        field_path = f"{place.path}[{name}]"
        unnamed = _claim_resource(name, place.path)
        if unnamed:
            errors += unnamed
        elif Quantity(amount) <= Quantity(-1):
            errors.append(invalid(field_path, int(Quantity(amount).value), _NO_AMOUNT))
        else:
            errors += amount_errors("storage", amount, field_path)
    return errors


def resizes(place: Place) -> Errors:
    errors: Errors = []
    for name, state in (place.value or {}).items():
        errors += _claim_resource(name, place.path)
        if state not in _CLAIM_RESIZES:
            errors.append(not_supported(place.path, name, _CLAIM_RESIZES))
    return errors


# -- others ------------------------------------------------------------------------------------------------------------


def version(place: Place) -> Errors:
    """The errors in a resource version, which must be empty or a positive integer in decimal."""
    text = place.value or ""
    if not text or re.fullmatch(r"[1-9][0-9]*", text):
        return []
    return [invalid(place.path, text, f"resource version is not well formed: {text}")]


def certificate(place: Place) -> Errors:
    if not place.value:
        return []
    from cryptography import x509

    try:
        x509.load_pem_x509_certificates(base64.b64decode(place.value))
    except ValueError:
        return [invalid(place.path, "<certificate data>", "must contain at least one CERTIFICATE PEM block")]
    return []


def features(place: Place) -> Errors:
    """The errors in the features that a node declares, which must be in alphabetical order."""
    names: list[str] = place.value or []
    errors: Errors = []
    for index, name in enumerate(names):
        field_path = f"{place.path}[{index}]"
        if len(name) > 253 or not _FEATURE.fullmatch(name):
            reason = "must be no more than 253 characters" if len(name) > 253 else _NOT_A_FEATURE
            errors.append(invalid(field_path, name, f"invalid feature name {quote(name)}: {reason}"))
        if index and names[index - 1] == name:
            errors.append(duplicate(field_path, name))
        elif index and names[index - 1] > name:
            errors.append(invalid(field_path, name, "list must be sorted alphabetically"))
    return errors


def volume_error(place: Place) -> Errors:
    """The errors in the report of a volume that could not be attached or detached."""
    errors: Errors = []
    if len(place.value.get("message", "").encode()) > _VOLUME_MESSAGE:
        errors.append(too_long(f"{place.path}.message", _VOLUME_MESSAGE))
    code = place.value.get("errorCode") or 0
    return [*errors, invalid(f"{place.path}.errorCode", code, _ERROR_CODE)] if code < 0 else errors


def attachment(place: Place) -> Errors:
    """The errors in the metadata of an attached volume."""
    size = sum(len(part.encode()) for pair in place.value.items() for part in pair)
    return [too_long(place.path, _ATTACHMENT)] if size > _ATTACHMENT else []


def reference(place: Place) -> Errors:
    """The error for a missing path to a field; the path itself is not checked here."""
    return [] if (place.value or "").strip() else [required(place.path)]


def kept_version(place: Place) -> Errors:
    """The error if a resource version changes after it was set."""
    before = ((place.old or {}).get("status") or {}).get("resourceVersion")
    if not before or place.value == before:
        return []
    return [invalid(place.path, place.value or "", "field is immutable")]


def migration(place: Place) -> Errors:
    """The errors in the conditions of a migration, which ends only once, in success or failure."""
    now, before = _ends(place.value), _ends(((place.old or {}).get("status") or {}).get("conditions"))
    bad_value = Shown(json.dumps([_in_order(item) for item in place.value or ()], separators=(",", ":")))
    texts = (
        (len(now) == 2, "Both success and failed conditions cannot be true at the same time"),
        ("Succeeded" in before - now, "Success condition cannot be set to false once it is true"),
        ("Failed" in before - now, "Failed condition cannot be set to false once it is true"),
    )
    return [invalid(place.path, bad_value, text) for broken, text in texts if broken]


def _ends(conditions: Sequence[JsonObject] | None) -> set[str]:
    true = {item.get("type", "") for item in conditions or () if item.get("status") == "True"}
    return true & {"Succeeded", "Failed"}


def _in_order(condition: JsonObject) -> JsonObject:
    """The condition with its fields in the order in which Go writes them."""
    names = ("type", "status", "observedGeneration", "lastTransitionTime", "reason", "message")
    return {name: condition[name] for name in names if name in condition}
