"""The default objects of a kube-apiserver: roles and bindings, priorities, flow control, and the Service of the server.

Most of them are in ``objects.jsonl``, which ``tools/bootstrap_objects.py`` generates from a real kube-apiserver 1.37.
The first line of that file has sets of managed fields; each of the following lines has an object and the index of its
set. Fields that differ between clusters (uids, times, versions) are filled in when the objects are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from ipaddress import ip_address
from typing import Any, Final

import msgspec

from setpoint.apiserver.objects.metadata import new_uid
from setpoint.apiserver.resources.service_networks import ServiceNetwork
from setpoint.apiserver.state import State
from setpoint.apiserver.strategies.service_ip_addresses import API_VERSION, FIELDS, ip_address_of
from setpoint.meta import format_time

JsonObject = dict[str, Any]
_ORDER: Final = ("name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp")
_PORT: Final = "https"
_FOR_USERS: Final = ("aggregate-to-", "cluster-admin", "admin", "edit", "view")
"""The beginnings of the names of the ClusterRoles for users, without ``system:``."""
_LINES: Final = msgspec.json.Decoder()
_SERVICE_CIDRS: Final = "servicecidrs.networking.k8s.io"


class _Default:
    """One default object, encoded except for the fields that differ between clusters."""

    __slots__ = ("head", "kind", "managed", "metadata", "name", "namespace", "rest", "version")

    def __init__(self, obj: JsonObject, managed: list[JsonObject]) -> None:
        metadata = obj["metadata"]
        self.version: str = obj["apiVersion"]
        self.kind: str = obj["kind"]
        self.name: str = metadata["name"]
        self.namespace: str = metadata.get("namespace", "")
        self.head = msgspec.json.encode({"apiVersion": self.version, "kind": self.kind})[:-1] + b',"metadata":'
        self.metadata: JsonObject = metadata
        rest = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
        self.rest = b"," + msgspec.json.encode(rest)[1:] if rest else b"}"
        self.managed = msgspec.json.encode(managed) if managed else b""

    def value(self, uid: str, moment: bytes, revision: int) -> bytes:
        """The bytes to store; ``moment`` is used for every time in the object."""
        metadata_fields = {
            **self.metadata,
            "uid": uid,
            "resourceVersion": str(revision),
            "creationTimestamp": moment.decode(),
        }
        ordered = {key: metadata_fields[key] for key in _ORDER if key in metadata_fields}
        metadata = msgspec.json.encode(ordered | metadata_fields)
        if self.managed:
            managed = self.managed.replace(b'"time":""', b'"time":"%s"' % moment)
            metadata = metadata[:-1] + b',"managedFields":' + managed + b"}"
        rest = self.rest.replace(b'"lastTransitionTime":""', b'"lastTransitionTime":"%s"' % moment)
        return self.head + metadata + rest


@lru_cache(maxsize=1)
def _defaults() -> list[_Default]:
    text = files("setpoint.apiserver.bootstrap").joinpath("objects.jsonl").read_bytes()
    managed, *objects = _LINES.decode_lines(text)
    return [_Default(obj, managed[number]) for number, obj in objects]


def create_defaults(state: State) -> None:
    """Stores the default objects that are missing."""
    moment = format_time(state.now())
    with state.storage.transaction():
        for default in (*_defaults(), _Default(*_service_range(state.service_networks))):
            _store(state, default, moment, replace=default.kind == "ServiceCIDR" and _becomes_dual(state))
        since = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"since": moment[:10]}}
        name = "kube-apiserver-legacy-service-account-token-tracking"
        managed = _managed("v1", {"f:data": {".": {}, "f:since": {}}})
        _store(state, _Default({**since, "metadata": {"name": name, "namespace": "kube-system"}}, managed), moment)


def create_webhook_account(state: State) -> None:
    """Stores the service account as which the server calls admission webhooks (KEP-6060), if it is missing."""
    metadata = {"name": "webhook-auth", "namespace": "kube-system"}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    with state.storage.transaction():
        _store(state, _Default(account, []), format_time(state.now()))


def create_user_roles(state: State) -> None:
    """Stores the missing ones of the ClusterRoles that are meant for users: ``cluster-admin``, ``admin``, ``edit`` and
    ``view``, and those of which they are made.
    """
    moment = format_time(state.now())
    with state.storage.transaction():
        for default in _defaults():
            if default.kind == "ClusterRole" and default.name.removeprefix("system:").startswith(_FOR_USERS):
                _store(state, default, moment)


def publish(state: State, host: str, port: int) -> None:
    """Stores the Service ``kubernetes`` with its endpoints, through which pods find the server at ``host``:``port``.
    Existing objects that differ are replaced, but keep their uids. If ``host`` is not a specific address of the default
    IP family, the endpoints have the loopback address of that family.
    """
    moment = format_time(state.now())
    network = state.service_networks[0]
    with state.storage.transaction():
        for obj, managed in _found_at(str(network[1]), _address(host, network.version), port):
            _store(state, _Default(obj, managed), moment, replace=True)


def _store(state: State, default: _Default, moment: str, *, replace: bool = False) -> None:
    group, _, version = default.version.rpartition("/")
    served = state.registry.find_kind(group, version, default.kind)
    assert served is not None, default.kind
    key = (served.collection, default.namespace, default.name)
    stored = state.storage.get(*key)
    if stored is not None and not replace:
        return
    uid, at = new_uid(state.random), moment.encode()
    if stored is not None:
        old = msgspec.json.decode(stored.value)
        uid, at = old["metadata"]["uid"], old["metadata"]["creationTimestamp"].encode()
        if default.value(uid, at, stored.revision) == stored.value:
            return
    expected = stored.revision if stored is not None else 0
    state.storage.put(*key, lambda revision: default.value(uid, at, revision), expected=expected)


def _address(host: str, version: int) -> str:
    """The address of that IP version to publish for ``host``; a loopback address if ``host`` is not such an address."""
    loopback = "127.0.0.1" if version == 4 else "::1"
    try:
        ip = ip_address(host)
    except ValueError:
        return loopback
    return str(ip) if ip.version == version and not ip.is_unspecified else loopback


def _becomes_dual(state: State) -> bool:
    """Whether the stored ServiceCIDR has the first of the server's two networks only."""
    record = state.storage.get(_SERVICE_CIDRS, "", "kubernetes")
    cidrs = [str(network) for network in state.service_networks]
    return len(cidrs) == 2 and record is not None and msgspec.json.decode(record.value)["spec"]["cidrs"] == cidrs[:1]


def _managed(version: str, fields: JsonObject, manager: str = "kube-apiserver") -> list[JsonObject]:
    entry = {"manager": manager, "operation": "Update", "apiVersion": version, "time": "", "fieldsType": "FieldsV1"}
    return [{**entry, "fieldsV1": fields}]


def _service_range(networks: Sequence[ServiceNetwork]) -> tuple[JsonObject, list[JsonObject]]:
    version = API_VERSION
    condition = {
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": "",
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
    }
    obj = {
        "apiVersion": version,
        "kind": "ServiceCIDR",
        "metadata": {"name": "kubernetes"},
        "spec": {"cidrs": [str(network) for network in networks]},
        "status": {"conditions": [condition]},
    }
    fields: JsonObject = {".": {}, **{f"f:{name}": {} for name in ("lastTransitionTime", "message", "status", "type")}}
    status = {"f:status": {"f:conditions": {'k:{"type":"Ready"}': fields}}}
    applied = {"operation": "Apply", "subresource": "status"}
    (entry,) = _managed(version, status, "kubernetes-service-cidr-controller")
    return obj, [entry | applied, *_managed(version, {"f:spec": {"f:cidrs": {}}})]


def _found_at(cluster_ip: str, address: str, port: int) -> list[tuple[JsonObject, list[JsonObject]]]:
    """The Service ``kubernetes``, its IPAddress, its Endpoints and its EndpointSlice, each with its managed fields.
    Pods find the API server, which is at ``address``:``port``, at ``cluster_ip``.
    """
    own = {"name": "kubernetes", "namespace": "default"}
    family = f"IPv{ip_address(cluster_ip).version}"
    service: JsonObject = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {**own, "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {
            "ports": [{"name": _PORT, "protocol": "TCP", "port": 443, "targetPort": port}],
            "clusterIP": cluster_ip,
            "clusterIPs": [cluster_ip],
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "ipFamilies": [family],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
        },
        "status": {"loadBalancer": {}},
    }
    names = ("clusterIP", "internalTrafficPolicy", "ipFamilyPolicy", "sessionAffinity", "type")
    ports: JsonObject = {".": {}, **{f"f:{name}": {} for name in ("name", "port", "protocol", "targetPort")}}
    spec = {**{f"f:{name}": {} for name in names}, "f:ports": {".": {}, 'k:{"port":443,"protocol":"TCP"}': ports}}
    of_service = {"f:metadata": _labelled("component", "provider"), "f:spec": spec}
    listening = [{"name": _PORT, "port": port, "protocol": "TCP"}]
    skip = "endpointslice.kubernetes.io/skip-mirror"
    endpoints: JsonObject = {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {**own, "labels": {skip: "true"}},
        "subsets": [{"addresses": [{"ip": address}], "ports": listening}],
    }
    of_service_name = "kubernetes.io/service-name"
    part: JsonObject = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {**own, "generation": 1, "labels": {of_service_name: "kubernetes"}},
        "addressType": family,
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        "ports": listening,
    }
    of_part = {"f:addressType": {}, "f:endpoints": {}, "f:metadata": _labelled(of_service_name), "f:ports": {}}
    return [
        (service, _managed("v1", of_service)),
        (ip_address_of(cluster_ip, **own), _managed(API_VERSION, FIELDS)),
        (endpoints, _managed("v1", {"f:metadata": _labelled(skip), "f:subsets": {}})),
        (part, _managed("discovery.k8s.io/v1", of_part)),
    ]


def _labelled(*names: str) -> JsonObject:
    return {"f:labels": {".": {}, **{f"f:{name}": {} for name in names}}}
