"""Volumes whose files come from objects: secrets, config maps, the downward API, and projections of several sources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.go_dump import dump
from setpoint.apiserver.strategies.label_selectors import label_selector_errors
from setpoint.apiserver.strategies.pod_fields import (
    downward_errors,
    unreserved_path,
)
from setpoint.meta.names import dns1123_label, dns1123_subdomain, qualified_name
from setpoint.schema import FieldError
from setpoint.schema.errors import forbidden, invalid, not_supported, required, too_long

Errors = list[FieldError]
_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_MOST_ANNOTATED: Final = 256 * 1024
_KEY_TYPES: Final = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")


def _mode(mode: int | None, path: str) -> Errors:
    return [] if mode is None or 0 <= mode <= 0o777 else [invalid(path, mode, _MODE)]


def _items(items: list[JsonObject] | None, path: str) -> Errors:
    errors: Errors = []
    for index, item in enumerate(items or ()):
        errors += _item(item, f"{path}[{index}]")
    return errors


def files_rule(name: str) -> Callable[[JsonObject, str], Errors]:
    """The rule for a volume made from a Secret or a ConfigMap. ``name`` is the field that holds the name of that
    object.
    """

    def rule(source: JsonObject, path: str) -> Errors:
        errors = [] if source.get(name) else [required(f"{path}.{name}")]
        errors += _mode(source.get("defaultMode"), f"{path}.defaultMode")
        return errors + _items(source.get("items"), f"{path}.items")

    return rule


def downward_rule(source: JsonObject, path: str) -> Errors:
    errors = _mode(source.get("defaultMode"), f"{path}.defaultMode")
    for item in source.get("items") or ():
        errors += _downward_file(item, path)
    return errors


def _downward_file(item: JsonObject, path: str) -> Errors:
    errors = [] if item.get("path") else [required(f"{path}.path")]
    errors += unreserved_path(item.get("path", ""), f"{path}.path")
    errors += downward_errors(item, path)
    return errors + _mode(item.get("mode"), f"{path}.mode")


# -- projected volumes ------------------------------------------------------------------------------------------------


def projected_rule(source: JsonObject, path: str) -> Errors:
    errors = _mode(source.get("defaultMode"), f"{path}.defaultMode")
    paths: set[str] = set()
    for index, part in enumerate(source.get("sources") or ()):
        field_path = f"{path}.sources[{index}]"
        sources = [key for key in _PROJECTIONS if part.get(key) is not None]
        for key in sources:
            errors += _PROJECTIONS[key](part[key], f"{field_path}.{key}", path, paths)
        if len(sources) > 1:
            errors.append(forbidden(field_path, "may not specify more than 1 volume type per source"))
    return errors


def _reserve(target: str, bad_value: Any, path: str, paths: set[str]) -> Errors:
    if target in paths:
        return [invalid(path, bad_value, "conflicting duplicate paths")]
    paths.add(target)
    return []


def _projected_files(source: JsonObject, field_path: str, path: str, paths: set[str]) -> Errors:
    errors = [] if source.get("name") else [required(f"{field_path}.name")]
    for index, item in enumerate(source.get("items") or ()):
        errors += _item(item, f"{field_path}.items[{index}]")
        if item.get("path"):
            errors += _reserve(item["path"], source.get("name", ""), path, paths)
    return errors


def _item(item: JsonObject, field_path: str) -> Errors:
    errors = [required(f"{field_path}.{name}") for name in ("key", "path") if not item.get(name)]
    errors += unreserved_path(item.get("path", ""), f"{field_path}.path")
    return errors + _mode(item.get("mode"), f"{field_path}.mode")


def _projected_downward(source: JsonObject, field_path: str, path: str, paths: set[str]) -> Errors:
    errors: Errors = []
    for item in source.get("items") or ():
        errors += _downward_file(item, field_path)
        if item.get("path"):
            errors += _reserve(item["path"], item["path"], path, paths)
    return errors


def _projected_token(source: JsonObject, field_path: str, path: str, paths: set[str]) -> Errors:
    seconds = source.get("expirationSeconds")
    errors: Errors = []
    if seconds is None:
        errors.append(required(f"{field_path}.expirationSeconds"))
    elif seconds < 600:
        text = "may not specify a duration less than 10 minutes"
        errors.append(invalid(f"{field_path}.expirationSeconds", seconds, text))
    elif seconds > 1 << 32:
        text = "may not specify a duration larger than 2^32 seconds"
        errors.append(invalid(f"{field_path}.expirationSeconds", seconds, text))
    if not source.get("path"):
        return [*errors, required(f"{path}.path")]
    return errors + unreserved_path(source["path"], f"{path}.path")


def annotation_errors(annotations: dict[str, str], path: str) -> Errors:
    """The errors in the annotations that a pod passes to the signer of its certificate: in their keys, which need a
    domain, and in their total size.
    """
    errors: Errors = []
    for key in map(str.lower, annotations):
        if not key:
            errors.append(required(path))
            continue
        wrong = [invalid(path, key, text) for text in qualified_name(key)]
        if not wrong and "/" not in key:
            wrong.append(invalid(path, key, 'must be a domain-prefixed key (such as "acme.io/foo")'))
        errors += wrong
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > _MOST_ANNOTATED:
        errors.append(too_long(path, _MOST_ANNOTATED))
    return errors


def signer_errors(name: str, path: str) -> Errors:
    """The errors in the name of a signer, which is a domain and a path."""
    if not name:
        return [required(path)]
    domain, slash, rest = name.partition("/")
    if not slash or "/" in rest:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid(path, name, text)]
    errors = [too_long(path, 253)] if len(domain) > 253 else []
    labels = domain.split(".")
    errors += _first_problems(domain, labels, dns1123_label, path)
    if len(labels) < 2:
        errors.append(invalid(path, domain, "should be a domain with at least two segments separated by dots"))
    return errors + _first_problems(rest, rest.split("."), dns1123_subdomain, path)


def _first_problems(bad_value: str, labels: list[str], rule: Callable[[str], list[str]], path: str) -> Errors:
    for label in labels:
        problems = rule(label)
        if problems:
            return [invalid(path, bad_value, f'validating label "{label}": {text}') for text in problems]
    return []


def _projected_bundle(source: JsonObject, field_path: str, path: str, paths: set[str]) -> Errors:
    name, signer = source.get("name"), source.get("signerName")
    errors: Errors = []
    if name is not None and signer is not None:
        bad_value = dump("core.ClusterTrustBundleProjection", source)
        errors.append(invalid(field_path, bad_value, "only one of name and signerName may be used"))
    elif name is not None:
        if not name:
            errors.append(required(f"{field_path}.name", "must be a valid object name"))
        plain = name.rpartition(":")[2]
        errors += [
            invalid(f"{field_path}.name", name, f"not a valid clustertrustbundlename: {text}")
            for text in dns1123_subdomain(plain)
        ]
        selector = source.get("labelSelector")
        if selector is not None:
            bad_value = dump("*v1.LabelSelector", selector)
            text = "labelSelector must be unset if name is specified"
            errors.append(invalid(f"{field_path}.labelSelector", bad_value, text))
    elif signer is not None:
        if not signer:
            errors.append(required(f"{field_path}.signerName", "must be a valid signer name"))
        errors += signer_errors(signer, f"{field_path}.signerName")
        errors += label_selector_errors(source.get("labelSelector"), f"{field_path}.labelSelector")
    else:
        errors.append(required(field_path, "either name or signerName must be specified"))
    target = source.get("path", "")
    if not target:
        errors.append(required(f"{field_path}.path"))
    return errors + unreserved_path(target, f"{field_path}.path") + _reserve(target, target, path, paths)


def longest_certificate(signer: str) -> int:
    """The maximum of ``maxExpirationSeconds`` for a signer: a day for those of Kubernetes, 91 days for others."""
    host = signer.partition("/")[0]
    return 86400 if host == "kubernetes.io" or host.endswith(".kubernetes.io") else 7862400


def _projected_certificate(source: JsonObject, field_path: str, path: str, paths: set[str]) -> Errors:
    signer = source.get("signerName", "")
    errors = signer_errors(signer, f"{field_path}.signerName")
    errors += annotation_errors(source.get("userAnnotations") or {}, f"{field_path}.userAnnotations")
    if source.get("keyType", "") not in _KEY_TYPES:
        errors.append(not_supported(f"{field_path}.keyType", source.get("keyType", ""), _KEY_TYPES))
    seconds = source.get("maxExpirationSeconds")
    if seconds is not None:
        most = longest_certificate(signer)
        if seconds < 3600:
            text = "if provided, maxExpirationSeconds must be >= 3600"
            errors.append(invalid(f"{field_path}.maxExpirationSeconds", seconds, text))
        if seconds > most:
            text = f"if provided, maxExpirationSeconds must be <= {most}"
            errors.append(invalid(f"{field_path}.maxExpirationSeconds", seconds, text))
    targets = [name for name in ("credentialBundlePath", "keyPath", "certificateChainPath") if source.get(name)]
    for name in targets:
        errors += unreserved_path(source[name], f"{field_path}.{name}")
        errors += _reserve(source[name], source[name], path, paths)
    if not targets:
        text = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
        errors.append(required(field_path, text))
    return errors


_PROJECTIONS: Final = {
    "secret": _projected_files,
    "configMap": _projected_files,
    "downwardAPI": _projected_downward,
    "serviceAccountToken": _projected_token,
    "clusterTrustBundle": _projected_bundle,
    "podCertificate": _projected_certificate,
}
