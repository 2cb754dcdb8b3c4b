"""The IPAddress of each cluster address of a service (KEP-1880), which a server keeps beside the service."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct, field

from setpoint.apiserver.objects.metadata import new_uid
from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.storage import Record
from setpoint.schema.addresses import address_of

if TYPE_CHECKING:
    from setpoint.apiserver.resources.write_context import WriteContext

COLLECTION: Final = "ipaddresses.networking.k8s.io"
API_VERSION: Final = "networking.k8s.io/v1"
_FAMILY, _MANAGER = "ipaddress.kubernetes.io/ip-family", "ipaddress.kubernetes.io/managed-by"
FIELDS: Final[JsonObject] = {
    "f:metadata": {"f:labels": {".": {}, f"f:{_FAMILY}": {}, f"f:{_MANAGER}": {}}},
    "f:spec": {"f:parentRef": {".": {}, "f:name": {}, "f:namespace": {}, "f:resource": {}}},
}
"""The fields of an IPAddress that the server owns."""


class _Spec(Struct):
    cluster_ips: list[str] = field(name="clusterIPs", default=[])


class _Service(Struct):
    spec: _Spec


class _Reference(Struct):
    name: str
    namespace: str = ""
    resource: str = ""


class _AddressSpec(Struct):
    parent: _Reference = field(name="parentRef")


class _Address(Struct):
    spec: _AddressSpec


_services = msgspec.json.Decoder(_Service)
_addresses = msgspec.json.Decoder(_Address)


def canonical(address: str) -> str:
    """The address as the names of IPAddresses have it (RFC 5952); any other text, such as ``None``, stays as it is."""
    ip = address_of(address)
    return address if ip is None else str(ip)


def ip_address_of(address: str, namespace: str, name: str) -> JsonObject:
    address = canonical(address)
    family = f"IPv{ip_address(address).version}"
    return {
        "apiVersion": API_VERSION,
        "kind": "IPAddress",
        "metadata": {"name": address, "labels": {_FAMILY: family, _MANAGER: "ipallocator.k8s.io"}},
        "spec": {"parentRef": {"resource": "services", "namespace": namespace, "name": name}},
    }


def claim(call: WriteContext, service: JsonObject, address: str) -> None:
    """Creates the IPAddress for the ``address`` that a service was given, before the service is stored, as upstream
    does. If the service is refused, the transaction of its request ends without it.
    """
    metadata = service["metadata"]
    nameless = not metadata.get("name")  # which is refused after this
    if nameless or call.dry_run or call.storage.get(COLLECTION, "", canonical(address)) is not None:
        return
    _create(call, ip_address_of(address, metadata["namespace"], metadata["name"]))


def release(call: WriteContext, service: Record, before: Iterable[str] = (), *, is_deleted: bool = False) -> None:
    """Deletes the IPAddresses of a stored service for the addresses that it had ``before`` and has no longer; all of
    them if the service is ``is_deleted``.
    """
    addresses = {canonical(address) for address in _services.decode(service.value).spec.cluster_ips}
    former = {canonical(address) for address in before}
    for address in sorted(former | addresses if is_deleted else former - addresses):
        record = call.storage.get(COLLECTION, "", address)
        if record is not None and _is_of(record, service):
            encode = partial(_encoded, msgspec.json.decode(record.value))
            call.storage.delete(COLLECTION, "", address, encode, expected=record.revision)


def _is_of(record: Record, service: Record) -> bool:
    parent = _addresses.decode(record.value).spec.parent
    return (parent.resource, parent.namespace, parent.name) == ("services", service.namespace, service.name)


def _create(call: WriteContext, obj: JsonObject) -> None:
    now = call.timestamp()
    managed = {
        "manager": "kube-apiserver",
        "operation": "Update",
        "apiVersion": API_VERSION,
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": FIELDS,
    }
    obj["metadata"] |= {"uid": new_uid(call.random), "creationTimestamp": now, "managedFields": [managed]}
    call.storage.put(COLLECTION, "", obj["metadata"]["name"], partial(_encoded, obj), expected=0)


def _encoded(obj: JsonObject, revision: int) -> bytes:
    obj["metadata"]["resourceVersion"] = str(revision)
    return msgspec.json.encode(obj)
