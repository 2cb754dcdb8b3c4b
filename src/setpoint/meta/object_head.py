"""Head: an object's metadata, read without decoding the rest of the object."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Struct, field

from setpoint.meta.codec import decode
from setpoint.meta.json_document import members
from setpoint.meta.object_key import ObjectKey
from setpoint.meta.object_meta import OwnerReference


class Head(Struct, frozen=True, kw_only=True, gc=False):
    """The metadata of an object at one resource version, which event handlers, predicates and owner mappings receive.

    Only the metadata is decoded, so the cost hardly depends on the size of the object. Where the server sent
    nothing, strings are ``""`` and collections are empty. Treat the collections as read-only: all handlers share one
    Head.
    """

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = field(name="resourceVersion", default="")
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[OwnerReference] = field(name="ownerReferences", default=[])
    finalizers: list[str] = []
    creation_timestamp: datetime | None = field(name="creationTimestamp", default=None)
    deletion_timestamp: datetime | None = field(name="deletionTimestamp", default=None)
    deletion_grace_period_seconds: int | None = field(name="deletionGracePeriodSeconds", default=None)

    @property
    def key(self) -> ObjectKey:
        """``namespace/name``, or ``name`` if there is no namespace."""
        return ObjectKey.of(self.namespace, self.name)

    @property
    def is_deleting(self) -> bool:
        """Whether deletion of the object was requested; the object is removed together with its last finalizer."""
        return self.deletion_timestamp is not None

    @property
    def controller(self) -> OwnerReference | None:
        """The reference to the managing controller, or None."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class _Headed(Struct):
    metadata: Head = field(default_factory=Head)


_decode_headed = msgspec.json.Decoder(_Headed).decode
_decode_head = msgspec.json.Decoder(Head).decode


def head_of(raw: bytes | msgspec.Raw) -> Head:
    """The head of an object's JSON. The rest of the JSON may be nested to any depth.

    Raises:
        DecodeError: ``raw`` is not a JSON object, or a field of its metadata has the wrong type.
    """
    try:
        return _decode_headed(raw).metadata
    except RecursionError:
        return head_in(members(bytes(raw)).get("metadata", b"{}"))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return decode(_Headed, raw).metadata


def head_in(metadata: bytes) -> Head:
    """The head from the JSON of an object's metadata.

    Raises:
        DecodeError: the metadata is not a JSON object, or one of its fields has the wrong type.
    """
    try:
        return _decode_head(metadata)
    except RecursionError:  # managedFields are nested as deep as their object is
        fields = members(metadata)
        fields.pop("managedFields", None)
        return decode(Head, msgspec.json.encode({name: msgspec.Raw(value) for name, value in fields.items()}))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return decode(Head, metadata)
