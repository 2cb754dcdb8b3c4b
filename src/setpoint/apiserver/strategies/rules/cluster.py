"""Rules for API services and certificate signing requests."""

from __future__ import annotations

import base64
from typing import Final

from setpoint.apiserver.strategies.certificate_requests import pod_request_errors, signing_request_errors
from setpoint.apiserver.strategies.projected_volumes import annotation_errors, longest_certificate, signer_errors
from setpoint.apiserver.strategies.rules.rule_table import (
    Place,
    Row,
    at_least,
    between,
    named,
    row,
    settled,
)
from setpoint.meta.names import dns1035_label, dns1123_subdomain, path_segment
from setpoint.schema import FieldError, repeats
from setpoint.schema.errors import OMITTED, duplicate, invalid, not_supported, required, too_long

_LEGACY: Final = "kubernetes.io/legacy-unknown"
_USAGES: Final = (
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment",
    "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel",
    "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime",
    "server auth", "signing", "timestamping",
)  # fmt: skip


# -- API services -----------------------------------------------------------------------------------------------------


def _service_name(place: Place) -> list[FieldError]:
    spec = place.obj.get("spec") or {}
    name, wanted = place.value or "", f"{spec.get('version', '')}.{spec.get('group', '')}"
    if not name or path_segment(name) or name == wanted or (place.old is not None and place.path != "metadata.name"):
        return []
    return [invalid(place.path, name, f'must be `spec.version+"."+spec.group`: "{wanted}"')]


def _group(place: Place) -> list[FieldError]:
    if not place.value and place.holder.get("version") != "v1":
        return [required(place.path, "only v1 may have an empty group and it better be legacy kube")]
    return []


def _api_service_errors(place: Place) -> list[FieldError]:
    spec, path = place.value or {}, place.path
    service, bundle = spec.get("service"), spec.get("caBundle")
    unchecked = f"{path}.insecureSkipTLSVerify"
    if service is None:
        errors: list[FieldError] = []
        if bundle:
            bad_value = f"{len(base64.b64decode(bundle))} bytes"
            errors.append(invalid(f"{path}.caBundle", bad_value, "local APIServices may not have a caBundle"))
        if spec.get("insecureSkipTLSVerify"):
            errors.append(invalid(unchecked, True, "local APIServices may not have insecureSkipTLSVerify"))
        return errors
    errors = [required(f"{path}.service.{name}") for name in ("namespace", "name") if not service.get(name)]
    port = service.get("port", 443)
    if not 1 <= port <= 65535:
        text = "port is not valid: must be between 1 and 65535, inclusive"
        errors.append(invalid(f"{path}.service.port", port, text))
    if spec.get("insecureSkipTLSVerify") and bundle:
        errors.append(invalid(unchecked, True, "may not be true if caBundle is present"))
    return errors


# -- signing requests -------------------------------------------------------------------------------------------------


def _usages(place: Place) -> list[FieldError]:
    usages = place.value or []
    if not usages:
        return [required(place.path)]
    errors = [
        not_supported(f"{place.path}[{index}]", usage, _USAGES)
        for index, usage in enumerate(usages)
        if usage not in _USAGES
    ]
    return errors + [duplicate(f"{place.path}[{index}]", usages[index]) for index in repeats(usages)]


# -- certificates of pods ----------------------------------------------------------------------------------------------


def _request(place: Place) -> list[FieldError]:
    return settled(place) if place.old is not None else signing_request_errors(place.value or "", place.path)


def _uid(place: Place) -> list[FieldError]:
    value = place.value or ""
    errors = [] if value else [invalid(place.path, value, "must not be empty")]
    return [*errors, too_long(place.path, 128)] if len(value.encode()) > 128 else errors


def _annotations(place: Place) -> list[FieldError]:
    return annotation_errors(place.value or {}, place.path)


def _asked_for(place: Place) -> list[FieldError]:
    spec, path = place.value or {}, place.path
    signer, seconds = spec.get("signerName", ""), spec.get("maxExpirationSeconds")
    if place.old is not None:
        return settled(place)
    if seconds is None:
        return [required(f"{path}.maxExpirationSeconds", "must be set")]
    most = longest_certificate(signer)
    errors: list[FieldError] = []
    if not 3600 <= seconds <= most:
        text = f"must be in the range [3600, {most}]"
        errors.append(invalid(f"{path}.maxExpirationSeconds", seconds, text))
    ways = [bool(spec.get(name)) for name in ("stubPKCS10Request", "pkixPublicKey", "proofOfPossession")]
    if ways == [True, False, False]:
        return errors + pod_request_errors(spec["stubPKCS10Request"], f"{path}.stubPKCS10Request")
    if ways != [False, True, True]:
        text = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set"
        errors.append(invalid(path, OMITTED, text))
    return errors


def _signer_name(place: Place) -> list[FieldError]:
    if place.value == _LEGACY and place.old is None:
        return [invalid(place.path, place.value, "the legacy signerName is not allowed via this API version")]
    return signer_errors(place.value or "", place.path)


RULES: Final[dict[str, tuple[Row, ...]]] = {
    "apiservices.apiregistration.k8s.io": (
        row("metadata.name", _service_name),
        row("metadata.generateName", _service_name),
        row("spec.group", _group, named(dns1123_subdomain)),
        row("spec.version", named(dns1035_label, empty=True)),
        row("spec.groupPriorityMinimum", between(1, 20000, "must be positive and less than 20000", missing=True)),
        row("spec.versionPriority", between(1, 1000, "must be positive and less than 1000", missing=True)),
        row("spec", _api_service_errors),
    ),
    "certificatesigningrequests.certificates.k8s.io": (
        row("spec.request", _request),
        row("spec.usages", _usages),
        row("spec.signerName", _signer_name),
        row(
            "spec.expirationSeconds",
            at_least(600, "may not specify a duration less than 600 seconds (10 minutes)"),
        ),
    ),
    "podcertificaterequests.certificates.k8s.io": (
        row("spec.signerName", _signer_name),
        row("spec.unverifiedUserAnnotations", _annotations),
        row("spec.podName", named(dns1123_subdomain, empty=True)),
        row("spec.podUID", _uid),
        row("spec.serviceAccountName", named(dns1123_subdomain, empty=True)),
        row("spec.serviceAccountUID", _uid),
        row("spec.nodeName", named(dns1123_subdomain, empty=True)),
        row("spec.nodeUID", _uid),
        row("spec", _asked_for),
    ),
}
