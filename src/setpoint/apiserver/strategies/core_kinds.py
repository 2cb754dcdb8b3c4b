"""Small strategies of the core group: config maps, secrets, service accounts, nodes, volumes, claims,
leases, events.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Final

from setpoint.apiserver.resources.strategy import JsonObject, Strategy
from setpoint.apiserver.strategies.events import convert_event, event_errors
from setpoint.apiserver.strategies.pod_spec import template_errors
from setpoint.apiserver.strategies.pod_template import default_template, default_volume_source
from setpoint.meta import Resource
from setpoint.meta.names import config_key, dns1123_subdomain, path_segment
from setpoint.schema import FieldError, go_syntax_error
from setpoint.schema.errors import forbidden, invalid, required, too_long

if TYPE_CHECKING:
    from setpoint.apiserver.resources.write_context import WriteContext

_MAX_DATA: Final = 1024 * 1024
_FROZEN: Final = "field is immutable when `immutable` is set"


def _immutable_errors(obj: JsonObject, old: JsonObject | None, fields: tuple[str, ...]) -> list[FieldError]:
    if old is None or not old.get("immutable"):
        return []
    errors = [] if obj.get("immutable") else [forbidden("immutable", _FROZEN)]
    return errors + [forbidden(field, _FROZEN) for field in fields if (obj.get(field) or {}) != (old.get(field) or {})]


class ConfigMaps(Strategy):
    """Config maps. Keys are file names, and all values together have at most 1 MiB."""

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
        errors = _immutable_errors(obj, old, ("data", "binaryData"))
        size = 0
        for key, value in data.items():
            errors += [invalid(f"data[{key}]", key, text) for text in config_key(key)]
            if key in binary:
                errors.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
            size += len(value.encode())
        for key, value in binary.items():
            errors += [invalid(f"binaryData[{key}]", key, text) for text in config_key(key)]
            size += len(value) * 3 // 4
        if size > _MAX_DATA:
            errors.append(too_long("", _MAX_DATA))
        return errors


_NEEDED: Final = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
    "kubernetes.io/ssh-auth": "ssh-privatekey",
}


class Secrets(Strategy):
    """Secrets. ``stringData`` is write-only: its values are moved into ``data``."""

    def default(self, obj: JsonObject) -> None:
        texts = obj.pop("stringData", None)
        if texts:
            data = obj.get("data") or {}
            data.update({key: base64.b64encode(value.encode()).decode() for key, value in texts.items()})
            obj["data"] = data
        obj.setdefault("type", "Opaque")
        if not obj["type"]:
            obj["type"] = "Opaque"

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        data, kind = obj.get("data") or {}, obj.get("type", "Opaque")
        errors: list[FieldError] = []
        if old is not None and kind != old.get("type"):
            errors.append(invalid("type", kind, "field is immutable"))
        errors += _immutable_errors(obj, old, ("data",))
        for key, value in data.items():
            errors += [invalid(f"data[{key}]", key, text) for text in config_key(key)]
            try:
                base64.b64decode(value, validate=True)
            except (binascii.Error, ValueError) as problem:
                errors.append(invalid(f"data[{key}]", "<secret contents redacted>", f"must be base64: {problem}"))
        if sum(map(len, data.values())) * 3 // 4 > _MAX_DATA:
            errors.append(too_long("data", _MAX_DATA))
        name = _NEEDED.get(kind, "")
        if name.startswith(".docker") and name in data and not any(error.field == f"data[{name}]" for error in errors):
            errors += _registry_errors(base64.b64decode(data[name]), f"data[{name}]")
        needed = ["tls.crt", "tls.key"] if kind == "kubernetes.io/tls" else [_NEEDED[kind]] if kind in _NEEDED else []
        errors += [required(f"data[{key}]") for key in needed if key not in data]
        if kind == "kubernetes.io/service-account-token":
            name = "kubernetes.io/service-account.name"
            if not (obj["metadata"].get("annotations") or {}).get(name):
                errors.append(required(f"metadata.annotations[{name}]"))
        if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & set(data):
            errors += [required("data[username]"), required("data[password]")]
        return errors


def _registry_errors(content: bytes, path: str) -> list[FieldError]:
    """The errors in the credentials of an image registry, which must be a JSON object; the messages do not show the
    credentials.
    """
    bad_value = "<secret contents redacted>"
    try:
        value = json.loads(content.decode("latin-1"))
    except json.JSONDecodeError as problem:
        return [invalid(path, bad_value, go_syntax_error(problem, place=False))]
    if value is None or isinstance(value, dict):
        return []
    sort = {str: "string", list: "array", bool: "bool"}.get(type(value), "number")
    return [invalid(path, bad_value, f"json: cannot unmarshal {sort} into Go value of type map[string]interface {{}}")]


class Nodes(Strategy):
    """Nodes. ``podCIDR`` is the first of ``podCIDRs``. If only one of the two fields is set, the other is set from it;
    if they differ, ``podCIDR`` takes precedence.

    Kubelets register themselves together with their status.
    """

    created_with_status = True

    def default(self, obj: JsonObject) -> None:
        spec = obj.get("spec") or {}
        first, several = spec.get("podCIDR"), spec.get("podCIDRs") or []
        if first and several[:1] != [first]:
            spec["podCIDRs"] = [first]
        elif several and not first:
            spec["podCIDR"] = several[0]
        status = obj.get("status") or {}
        if status.get("capacity") and status.get("allocatable") is None:
            status["allocatable"] = dict(status["capacity"])

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        obj.setdefault("spec", {})
        obj.setdefault("status", {})


class Volumes(Strategy):
    """Persistent volumes. A write that changes the phase sets ``lastPhaseTransitionTime`` to the current time, unless
    it also changes that field.
    """

    returns_deleted = True

    def default(self, obj: JsonObject) -> None:
        spec = obj.setdefault("spec", {})
        if isinstance(spec, dict):
            spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
            spec.setdefault("volumeMode", "Filesystem")
            default_volume_source(spec)
        if isinstance(obj.setdefault("status", {}), dict):
            obj["status"].setdefault("phase", "Pending")

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": call.timestamp()}

    def prepare_status_update(self, call: WriteContext, new: JsonObject, old: JsonObject) -> JsonObject:
        result = super().prepare_status_update(call, new, old)
        before, status = old.get("status") or {}, result.get("status") or {}
        since, name = before.get("lastPhaseTransitionTime"), "lastPhaseTransitionTime"
        if status.get("phase") != before.get("phase") and status.get(name) in (None, since):
            result["status"] = status | {name: call.timestamp()}
        elif status.get(name) is None and since is not None:
            result["status"] = status | {name: since}
        return result


def _copyable(source: JsonObject) -> bool:
    kind, group = source.get("kind"), source.get("apiGroup") or ""
    return (kind, group) in (("PersistentVolumeClaim", ""), ("VolumeSnapshot", "snapshot.storage.k8s.io"))


def _drop_source(spec: JsonObject) -> None:
    """Drops ``dataSource`` if it refers to neither a claim nor a volume snapshot, unless ``dataSourceRef``, the newer
    field, is set.
    """
    if spec.get("dataSource") is not None and spec.get("dataSourceRef") is None and not _copyable(spec["dataSource"]):
        del spec["dataSource"]


def _drop_reference(spec: JsonObject, before: JsonObject) -> None:
    """Drops a ``dataSourceRef`` with a namespace, because that feature is off, unless the old spec ``before`` has a
    ``dataSourceRef``.
    """
    if before.get("dataSourceRef") is None and (spec.get("dataSourceRef") or {}).get("namespace"):
        del spec["dataSourceRef"]


def _normalize(spec: JsonObject) -> None:
    """Copies a claim's data source from one of its two fields to the other if only one is set. A reference to another
    namespace is not copied, because ``dataSource`` can't hold it.
    """
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = dict(reference)


class Claims(Strategy):
    """Persistent volume claims. The default volume mode is ``Filesystem``, and the first phase is ``Pending``."""

    returns_deleted = True

    def default(self, obj: JsonObject) -> None:
        obj.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
        if isinstance(obj.setdefault("status", {}), dict):
            obj["status"].setdefault("phase", "Pending")

    def prepare_update(self, call: WriteContext, new: JsonObject, old: JsonObject) -> None:
        spec, before = new.get("spec") or {}, old.get("spec") or {}
        _drop_reference(spec, before)
        if before.get("dataSource") is None and before.get("dataSourceRef") is None:
            _drop_source(spec)
        _normalize(spec)

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        spec = obj.get("spec") or {}
        _drop_reference(spec, {})
        _drop_source(spec)
        _normalize(spec)
        obj["status"] = {"phase": "Pending"}


class PodTemplates(Strategy):
    generation = True
    returns_deleted = True
    says_required = True

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return template_errors(obj.get("template"), "template", restart=("Always", "OnFailure", "Never"))

    def default(self, obj: JsonObject) -> None:
        template = obj.setdefault("template", {})
        template.setdefault("spec", {})
        default_template(template)

    def wants_something_else(self, new: JsonObject, old: JsonObject) -> bool:
        return new.get("template") != old.get("template")


class Endpoints(Strategy):
    create_on_update = True

    def default(self, obj: JsonObject) -> None:
        for subset in obj.get("subsets") or ():
            for port in subset.get("ports") or ():
                port.setdefault("protocol", "TCP")


class Leases(Strategy):
    """Leases, through which controllers elect a leader."""

    create_on_update = True


class Accounts(Strategy):
    """Service accounts. Only the names of their secrets are kept."""

    returns_deleted = True

    def default(self, obj: JsonObject) -> None:
        if obj.get("secrets"):
            obj["secrets"] = [{"name": item["name"]} if item.get("name") else {} for item in obj["secrets"]]


class Events(Strategy):
    """Events. A deletion ignores the propagation policy, a PUT may create an event, and the namespace of an event must
    match that of the object that it describes.
    """

    says_required = True
    create_on_update = True
    collectable = False
    name_rule = staticmethod(path_segment)

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        return event_errors(obj, old)

    def convert(self, obj: JsonObject, target: Resource) -> JsonObject:
        return convert_event(obj, target.api_version)


class NewEvents(Events):
    """Events of ``events.k8s.io``. Their names must be DNS subdomains."""

    name_rule = staticmethod(dns1123_subdomain)
