"""Conversion of objects between bytes and plain JSON values."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.json import decode as decode

from setpoint.apiserver.depth_limit import check_stored, too_deep
from setpoint.apiserver.errors import request_entity_too_large
from setpoint.apiserver.resources.registry import ServedResource

JsonObject = dict[str, Any]
MAX_REQUEST: Final = 1536 * 1024
"""The default of etcd's ``--max-request-bytes``: the largest object that a kube-apiserver can store."""
MAX_JSON: Final = 2 * MAX_REQUEST
"""The limit for the JSON of objects that a kube-apiserver stores as protobuf, which takes at most half as much space.
"""
_JSON_IN_ETCD: Final = ("apiextensions.k8s.io", "apiregistration.k8s.io")
"""The groups of built-in kinds that a kube-apiserver stores as JSON, as it does custom resources."""

_REVISIONS: Final = "controllerrevisions.apps"
_ESCAPES: Final = (
    (b"<", rb"\u003c"),
    (b">", rb"\u003e"),
    (b"&", rb"\u0026"),
    (b"\xe2\x80\xa8", rb"\u2028"),
    (b"\xe2\x80\xa9", rb"\u2029"),
)


def escaped(json: bytes) -> bytes:
    """JSON as Go's encoder writes it: ``<``, ``>``, ``&``, U+2028 and U+2029, which occur only in
    strings, are escaped.
    """
    for character, escape in _ESCAPES:
        json = json.replace(character, escape)
    return json


class Metadata(Struct):
    """The metadata that the server itself needs, read without decoding the rest of the object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] | None = None
    deletionTimestamp: str | None = None
    finalizers: list[str] | None = None


class _Head(Struct):
    metadata: Metadata


_head = msgspec.json.Decoder(_Head)


def metadata_of(value: bytes) -> Metadata:
    return _head.decode(value).metadata


def labels_of(value: bytes) -> dict[str, str]:
    return _head.decode(value).metadata.labels or {}


def encode(served: ServedResource, obj: JsonObject, revision: int) -> bytes:
    """The bytes of ``obj``, which begin with apiVersion, kind and metadata. ``revision`` is set as the resourceVersion,
    in ``obj`` too; if it is 0, the object has no resourceVersion.

    Raises ApiStatusError: 413 if the object is too large, 422 if it is nested too deeply.
    """
    metadata = obj["metadata"]
    metadata.pop("resourceVersion", None)
    if revision:
        metadata["resourceVersion"] = str(revision)
    ordered = {
        "apiVersion": served.resource.api_version,
        "kind": served.resource.kind,
        "metadata": metadata,
    }
    for key, value in obj.items():
        if key not in ordered:
            ordered[key] = value
    try:
        encoded = msgspec.json.encode(ordered)
    except RecursionError:
        raise too_deep(served.resource, obj) from None
    if served.collection == _REVISIONS:
        encoded = escaped(encoded)  # Go clients compare the bytes of the data with those that they make themselves
    check_stored(served.resource, ordered, encoded)
    check_size(served, encoded)
    return encoded


def check_size(served: ServedResource, encoded: bytes) -> None:
    """Raises ApiStatusError (413) if an object is too large to be stored."""
    limit = MAX_REQUEST if served.custom or served.resource.group in _JSON_IN_ETCD else MAX_JSON
    if len(encoded) > limit:
        raise request_entity_too_large(f"the object has {len(encoded)} bytes, the limit is {limit}")
