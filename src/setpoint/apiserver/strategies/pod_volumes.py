"""Validation of a pod's volumes: each has one source, and each type of source has its own rules."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.claims import claim_errors
from setpoint.apiserver.strategies.pod_fields import (
    no_backsteps,
    pull_policy_errors,
    relative_path,
)
from setpoint.apiserver.strategies.projected_volumes import downward_rule, files_rule, projected_rule
from setpoint.apiserver.strategies.template_metadata import template_metadata_errors
from setpoint.meta import Quantity
from setpoint.meta.names import dns1123_label, dns1123_subdomain
from setpoint.schema import FieldError
from setpoint.schema.errors import duplicate, forbidden, invalid, not_supported, required, too_long

Errors = list[FieldError]
Source = Callable[[JsonObject, str], Errors]
_ONE_TYPE: Final = "may not specify more than 1 volume type"
_PARTITION: Final = "must be between 1 and 255, inclusive"
_LUN: Final = "must be between 0 and 255, inclusive"
_IQN: Final = re.compile(r"iqn\.\d{4}-\d{2}\.([a-zA-Z0-9.\-]+)(:[^,;*&$|\s]+)$")
_EUI: Final = re.compile(r"eui.[0-9A-Za-z]{16}$")
_NAA: Final = re.compile(r"naa.[0-9A-Za-z]{32}$")
_HOST_PATHS: Final = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_CACHING: Final = ("None", "ReadOnly", "ReadWrite")
_DISKS: Final = ("Dedicated", "Managed", "Shared")
_MANAGED: Final = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB: Final = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def volumes_errors(volumes: list[JsonObject], path: str, pod: str = "") -> tuple[dict[str, JsonObject], Errors]:
    """The valid volumes, by name, and the errors in all volumes. ``pod`` is the name of the pod, empty in a
    template.
    """
    right: dict[str, JsonObject] = {}
    errors: Errors = []
    claims = {f"{pod}-{volume.get('name', '')}" for volume in volumes if volume.get("ephemeral") is not None and pod}
    for index, volume in enumerate(volumes):
        field_path, name = f"{path}[{index}]", volume.get("name", "")
        errors_of_source = source_errors(volume, field_path, pod)
        if not name:
            errors_of_source.append(required(f"{field_path}.name"))
        else:
            errors_of_source += [invalid(f"{field_path}.name", name, text) for text in dns1123_label(name)]
        if name in right:
            errors_of_source.append(duplicate(f"{field_path}.name", name))
        if errors_of_source:
            errors += errors_of_source
        else:
            right[name] = volume
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName", "")
        if claim in claims:
            text = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(invalid(f"{field_path}.persistentVolumeClaim.claimName", claim, text))
    return right, errors


def source_errors(volume: JsonObject, path: str, pod: str = "") -> Errors:
    """The errors in a volume, except those in its name. ``pod`` is the name of the pod, empty in a template."""
    errors: Errors = []
    several = False
    name = volume.get("name", "")
    sources = [key for key, source in volume.items() if source is not None and key in _PLACES]
    for key in sources if len(sources) < 2 else sorted(sources, key=_PLACES.__getitem__):
        rule, source = _SOURCES[key], volume[key]
        if several:
            errors.append(forbidden(f"{path}.{_SAID.get(key, key)}", _ONE_TYPE))
        else:
            errors += rule(source, f"{path}.{'persistentDisk' if key == 'gcePersistentDisk' else key}")
            if key == "ephemeral" and pod and name:
                claim = f"{pod}-{name}"
                errors += [
                    invalid(f"{path}.name", name, f'PVC name "{claim}": {text}') for text in dns1123_subdomain(claim)
                ]
        several = True
        together = f"{name}:{source.get('targetPortal', '')}"
        if key == "iscsi" and source.get("initiatorName") is not None and len(together) > 64:
            errors.append(invalid(f"{path}.name", name, _TOO_LONG_TOGETHER))
    if not several:
        errors.append(required(path, "must specify a volume type"))
    return errors


_TOO_LONG_TOGETHER: Final = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
    "specified."
)


def kind_errors(kind: str, source: JsonObject, path: str) -> Errors:
    """The errors in a volume source; ``kind`` is the name of the source's field, such as ``nfs``."""
    return _SOURCES[kind](source, path)


def _needs(*names: str) -> Source:
    """A rule that requires all of the named fields."""

    def rule(source: JsonObject, path: str) -> Errors:
        return [required(f"{path}.{name}") for name in names if not source.get(name)]

    return rule


def _secret(*names: str) -> Source:
    """Like `_needs`; in addition, a reference to a secret must have a name."""
    needs = _needs(*names)

    def rule(source: JsonObject, path: str) -> Errors:
        errors = needs(source, path)
        if source.get("secretRef") is not None and not source["secretRef"].get("name"):
            errors.append(required(f"{path}.secretRef.name"))
        return errors

    return rule


def _empty_dir(source: JsonObject, path: str) -> Errors:
    limit = source.get("sizeLimit")
    if limit is not None and Quantity(limit) < Quantity("0"):
        return [forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
    return []


def _host_path(source: JsonObject, path: str) -> Errors:
    if not source.get("path"):
        return [required(f"{path}.path")]
    errors = no_backsteps(source["path"], f"{path}.path")
    kind = source.get("type")
    if kind is not None and kind not in _HOST_PATHS:
        errors.append(not_supported(f"{path}.type", kind, _HOST_PATHS))
    return errors


def _git_repo(source: JsonObject, path: str) -> Errors:
    errors = [] if source.get("repository") else [required(f"{path}.repository")]
    return errors + relative_path(source.get("directory", ""), f"{path}.directory")


def _disk(name: str) -> Source:
    def rule(source: JsonObject, path: str) -> Errors:
        errors = [] if source.get(name) else [required(f"{path}.{name}")]
        if not 0 <= source.get("partition", 0) <= 255:
            errors.append(invalid(f"{path}.partition", source["partition"], _PARTITION))
        return errors

    return rule


def _nfs(source: JsonObject, path: str) -> Errors:
    errors = _needs("server", "path")(source, path)
    if not source.get("path", "").startswith("/"):
        errors.append(invalid(f"{path}.path", source.get("path", ""), "must be an absolute path"))
    return errors


def _initiator_problem(name: str, unknown: str) -> str:
    for prefix, form in (("iqn", _IQN), ("eui", _EUI), ("naa", _NAA)):
        if name.startswith(prefix):
            return "" if form.search(name) else "must be valid format"
    return unknown


def iscsi_errors(
    source: JsonObject, path: str, unknown: str = "must be valid format starting with iqn, eui, or naa"
) -> Errors:
    """The errors in an iSCSI source of a pod volume or a persistent volume. ``unknown`` is the message for a name whose
    prefix is not known.
    """
    errors = [] if source.get("targetPortal") else [required(f"{path}.targetPortal")]
    if not source.get("iqn"):
        errors.append(required(f"{path}.iqn"))
    elif problem := _initiator_problem(source["iqn"], unknown):
        errors.append(invalid(f"{path}.iqn", source["iqn"], problem))
    if not 0 <= source.get("lun", 0) <= 255:
        errors.append(invalid(f"{path}.lun", source["lun"], _LUN))
    secret = source.get("secretRef")
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and secret is None:
        errors.append(required(f"{path}.secretRef"))
    initiator = source.get("initiatorName")
    if initiator is not None and (problem := _initiator_problem(initiator, unknown)):
        errors.append(invalid(f"{path}.initiatorname", initiator, problem))
    return errors


def _flocker(source: JsonObject, path: str) -> Errors:
    name, uid = source.get("datasetName", ""), source.get("datasetUUID", "")
    errors: Errors = []
    if not name and not uid:
        errors.append(required(path, "one of datasetName and datasetUUID is required"))
    if name and uid:
        errors.append(invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously"))
    if "/" in name:
        errors.append(invalid(f"{path}.datasetName", name, "must not contain '/'"))
    return errors


def _quobyte(source: JsonObject, path: str) -> Errors:
    errors: Errors = []
    registry, text = source.get("registry", ""), "must be a host:port pair or multiple pairs separated by commas"
    if not registry:
        errors.append(required(f"{path}.registry", text))
    elif len(source.get("tenant", "")) >= 65:
        errors.append(required(f"{path}.tenant", "must be a UUID and may not exceed a length of 64 characters"))
    else:
        pairs = (pair.rpartition(":") for pair in registry.split(","))
        wrong = [pair for pair in pairs if not pair[1] or (":" in pair[0] and not pair[0].startswith("["))]
        errors += [invalid(f"{path}.registry", registry, text) for _ in wrong]
    return errors if source.get("volume") else [*errors, required(f"{path}.volume")]


def _fibre_channel(source: JsonObject, path: str) -> Errors:
    names, ids, lun = source.get("targetWWNs") or [], source.get("wwids") or [], source.get("lun")
    errors: Errors = []
    if not names and not ids:
        errors.append(required(f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both"))
    if names and ids:
        errors.append(invalid(f"{path}.targetWWNs", names, "targetWWNs and wwids can not be specified simultaneously"))
    if names and lun is None:
        errors.append(required(f"{path}.lun", "lun is required if targetWWNs is specified"))
    elif names and not 0 <= lun <= 255:  # type: ignore[operator]
        errors.append(invalid(f"{path}.lun", lun, _LUN))
    return errors


def _flex(source: JsonObject, path: str) -> Errors:
    errors = [] if source.get("driver") else [required(f"{path}.driver")]
    for key in source.get("options") or {}:
        domain = f".{key.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            errors.append(invalid(f"{path}.options[{key}]", key, "kubernetes.io and k8s.io namespaces are reserved"))
    return errors


def _azure_disk(source: JsonObject, path: str) -> Errors:
    errors = _needs("diskName", "diskURI")(source, path)
    caching, kind, uri = source.get("cachingMode"), source.get("kind"), source.get("diskURI", "")
    if caching is not None and caching not in _CACHING:
        errors.append(not_supported(f"{path}.cachingMode", caching, _CACHING))
    if kind is not None and kind not in _DISKS:
        errors.append(not_supported(f"{path}.kind", kind, _DISKS))
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        errors.append(not_supported(f"{path}.diskURI", uri, [_MANAGED]))
    if kind is not None and kind != "Managed" and not uri.startswith("https://"):
        errors.append(not_supported(f"{path}.diskURI", uri, [_BLOB]))
    return errors


def _storage_os(source: JsonObject, path: str) -> Errors:
    errors = [] if source.get("volumeName") else [required(f"{path}.volumeName")]
    for name in ("volumeName", "volumeNamespace"):
        if source.get(name):
            errors += [invalid(f"{path}.{name}", source[name], text) for text in dns1123_label(source[name])]
    if source.get("secretRef") is not None and not source["secretRef"].get("name"):
        errors.append(required(f"{path}.secretRef.name"))
    return errors


def caseless(words: str) -> str:
    """The message ``words`` about an invalid host name, reworded for fields that allow upper-case letters."""
    return words.replace(
        "a lowercase RFC 1123 subdomain must consist of lower case", "an RFC 1123 subdomain must consist of"
    ).replace("'example.com'", "'Example.com'")


def driver_name_errors(name: str, path: str) -> Errors:
    if not name:
        return [required(path)]
    errors = [too_long(path, 63)] if len(name) > 63 else []
    return errors + [invalid(path, name, text) for text in dns1123_subdomain(name.lower())]


def _csi(source: JsonObject, path: str) -> Errors:
    errors = driver_name_errors(source.get("driver", ""), f"{path}.driver")
    secret = source.get("nodePublishSecretRef")
    if secret is not None and not secret.get("name"):
        errors.append(required(f"{path}.nodePublishSecretRef.name"))
    elif secret is not None:
        errors += [invalid(f"{path}.name", secret["name"], text) for text in dns1123_subdomain(secret["name"])]
    return errors


def _ephemeral(source: JsonObject, path: str) -> Errors:
    template, path = source.get("volumeClaimTemplate"), f"{path}.volumeClaimTemplate"
    if template is None:
        return [required(path)]
    errors = template_metadata_errors(template.get("metadata") or {}, f"{path}.metadata")
    return errors + claim_errors(template.get("spec") or {}, f"{path}.spec")


def _image(source: JsonObject, path: str) -> Errors:
    errors = [] if source.get("reference") else [required(f"{path}.reference")]
    return errors + pull_policy_errors(source.get("pullPolicy", ""), f"{path}.pullPolicy")


_SAID: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
"""The field names in upstream's error about more than one source, where they differ from the names in the API."""
_SOURCES: Final[dict[str, Source]] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "gitRepo": _git_repo,
    "gcePersistentDisk": _disk("pdName"),
    "awsElasticBlockStore": _disk("volumeID"),
    "secret": files_rule("secretName"),
    "nfs": _nfs,
    "iscsi": iscsi_errors,
    "glusterfs": _needs("endpoints", "path"),
    "flocker": _flocker,
    "persistentVolumeClaim": _needs("claimName"),
    "rbd": _needs("monitors", "image"),
    "cinder": _secret("volumeID"),
    "cephfs": _needs("monitors"),
    "quobyte": _quobyte,
    "downwardAPI": downward_rule,
    "fc": _fibre_channel,
    "flexVolume": _flex,
    "configMap": files_rule("name"),
    "azureFile": _needs("secretName", "shareName"),
    "vsphereVolume": _needs("volumePath"),
    "photonPersistentDisk": _needs("pdID"),
    "portworxVolume": _needs("volumeID"),
    "azureDisk": _azure_disk,
    "storageos": _storage_os,
    "projected": projected_rule,
    "scaleIO": _needs("gateway", "system", "volumeName"),
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": _image,
}
"""The sources in the order in which upstream checks them: if a volume has several sources, the rule of the first is
applied, and the others are refused.
"""
_PLACES: Final = {key: place for place, key in enumerate(_SOURCES)}
