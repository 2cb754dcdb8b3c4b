"""Objects between their bytes and plain JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from setpoint.apiserver.errors import request_entity_too_large
from setpoint.apiserver.nesting import check_stored, too_deep
from setpoint.apiserver.registry import Served
from setpoint.apiserver.storage import Record
from setpoint.apiserver.turns import gathered
from setpoint.schema import apply_defaults

if TYPE_CHECKING:
    from setpoint.apiserver.call import Call

__all__ = [
    "JsonObject",
    "converted",
    "decode",
    "encode",
    "home_of",
    "labels_of",
    "metadata_of",
    "record_object",
    "uid_of",
    "view",
    "views",
]

JsonObject = dict[str, Any]
MAX_STORED: Final = 3 * 1024 * 1024  # what etcd's request limit leaves an object, about; see etcd's --max-request-bytes

decode = msgspec.json.decode


class Metadata(Struct):
    """What the server itself looks at without decoding the rest."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] | None = None
    deletionTimestamp: str | None = None
    finalizers: list[str] | None = None


class _Head(Struct):
    metadata: Metadata


class _Version(Struct):
    apiVersion: str


_versions = msgspec.json.Decoder(_Version)
_head = msgspec.json.Decoder(_Head)


def metadata_of(value: bytes) -> Metadata:
    return _head.decode(value).metadata


def labels_of(value: bytes) -> dict[str, str]:
    return _head.decode(value).metadata.labels or {}


def uid_of(obj: JsonObject) -> str:
    uid: str = obj["metadata"].get("uid", "")
    return uid


def encode(served: Served, obj: JsonObject, revision: int) -> bytes:
    """The bytes of ``obj``, whose first members are apiVersion, kind and metadata; of revision 0 there is no mention.

    Raises ApiStatusError: 413 if they are too many, 422 if they are nested too deeply.
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
        made = msgspec.json.encode(ordered)
    except RecursionError:
        raise too_deep(served.resource, obj) from None
    check_stored(served.resource, ordered, made)
    if len(made) > MAX_STORED:
        raise request_entity_too_large(f"the object has {len(made)} bytes, the limit is {MAX_STORED}")
    return made


def record_object(record: Record) -> JsonObject:
    """A fresh copy of what is stored, in the stored version."""
    obj: JsonObject = decode(record.value)
    return obj


def view(served: Served, record: Record) -> bytes:
    """What is stored as the version that ``served`` is has it.

    Custom objects that were written before their schema changed get the defaults that it has now, as upstream gives
    them when it reads from etcd.
    """
    stored = served.stored_as
    if record.revision < stored.defaults_since or (served.has_defaults and stored is not served):
        home = home_of(served, record.value)
        obj: JsonObject = decode(record.value)
        apply_defaults(home.schema, obj)
        if home is not served:
            obj = home.convert(obj, served)
            apply_defaults(served.schema, obj)
        return encode(served, obj, record.revision)
    if stored is served and not served.siblings:
        return record.value
    return converted(served, record.value)


def views(call: Call, served: Served, records: Sequence[Record]) -> list[bytes]:
    """As `view`; a webhook that converts is asked once for all."""
    if not served.asks:
        return [view(served, record) for record in records]
    return gathered(call.server, lambda: [view(served, record) for record in records])


def home_of(served: Served, value: bytes) -> Served:
    """The version that stored bytes are in: objects keep the one they were written in until they are written again."""
    stored = served.stored_as
    if not stored.siblings or value.startswith(stored.head):
        return stored
    return stored.siblings.get(_versions.decode(value).apiVersion, stored)


def converted(served: Served, value: bytes) -> bytes:
    """Stored bytes in the version that ``served`` is."""
    home = home_of(served, value)
    if home is served:
        return value
    if served.custom and not served.asks:
        return served.head + value[len(home.head) :]  # only the apiVersion differs
    return encode_plain(served, home.convert(decode(value), served))


def encode_plain(served: Served, obj: JsonObject) -> bytes:
    """As `encode`, with the resourceVersion that the object has."""
    revision = obj["metadata"].get("resourceVersion")
    return encode(served, obj, int(revision) if revision else 0)
