"""What the cluster is made of: API services and signing requests."""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.strategies.rules.row import (
    Place,
    Row,
    at_least,
    between,
    named,
    row,
)
from setpoint.meta.names import dns1035_label, dns1123_subdomain, path_segment
from setpoint.schema import FieldError
from setpoint.schema.errors import duplicate, invalid, not_supported, required

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
    if not name or path_segment(name) or name == wanted:
        return []
    return [invalid(place.path, name, f'must be `spec.version+"."+spec.group`: "{wanted}"')]


def _group(place: Place) -> list[FieldError]:
    if not place.value and place.holder.get("version") != "v1":
        return [required(place.path, "only v1 may have an empty group and it better be legacy kube")]
    return []


def _where(place: Place) -> list[FieldError]:
    spec, path = place.value or {}, place.path
    service, bundle = spec.get("service"), spec.get("caBundle")
    unchecked = f"{path}.insecureSkipTLSVerify"
    if service is None:
        errors = [invalid(f"{path}.caBundle", "", "local APIServices may not have a caBundle")] if bundle else []
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
    return errors + [
        duplicate(f"{place.path}[{index}]", usage) for index, usage in enumerate(usages) if usage in usages[:index]
    ]


def _signer(place: Place) -> list[FieldError]:
    name = place.value or ""
    if not name:
        return [required(place.path)]
    parts = name.split("/")
    if len(parts) != 2:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid(place.path, name, text)]
    domain = parts[0]
    return [invalid(place.path, name, f'validating label "{domain}": {text}') for text in dns1123_subdomain(domain)]


RULES: Final[dict[str, tuple[Row, ...]]] = {
    "apiservices.apiregistration.k8s.io": (
        row("metadata.name", _service_name),
        row("spec.group", _group, named(dns1123_subdomain)),
        row("spec.version", named(dns1035_label, empty=True)),
        row("spec.groupPriorityMinimum", between(1, 20000, "must be positive and less than 20000", missing=True)),
        row("spec.versionPriority", between(1, 1000, "must be positive and less than 1000", missing=True)),
        row("spec", _where),
    ),
    "certificatesigningrequests.certificates.k8s.io": (
        row("spec.usages", _usages),
        row("spec.signerName", _signer),
        row(
            "spec.expirationSeconds",
            at_least(600, "may not specify a duration less than 600 seconds (10 minutes)"),
        ),
    ),
}
