"""Objects in the versions in which their resource is served and stored."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Struct

from setpoint.apiserver.errors import ApiStatusError, internal_error
from setpoint.apiserver.objects.codec import decode, encode
from setpoint.apiserver.replay import Learn, Replay, Suspended
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.apiserver.storage import Record
from setpoint.meta import Resource
from setpoint.schema import apply_defaults, copy_json, prune

JsonObject = dict[str, Any]


class _Version(Struct):
    apiVersion: str


_versions = msgspec.json.Decoder(_Version)


def written_version(served: ServedResource, value: bytes) -> ServedResource:
    """The version in which the bytes ``value`` were stored; an object stays in that version until it is written
    again.
    """
    stored = served.stored_as
    if not stored.siblings or value.startswith(stored.head):
        return stored
    return stored.siblings.get(_versions.decode(value).apiVersion, stored)


class Versions:
    """Converts objects for one request. If a conversion webhook is needed, all methods raise Suspended until ``replay``
    has the webhook's answer.

    ``served`` is the requested version; `ServedResource.stored_as` is the one in which objects are stored.
    """

    __slots__ = ("_replay",)

    def __init__(self, replay: Replay | None) -> None:
        self._replay = replay

    def encoded(self, served: ServedResource, record: Record, *, read: bool = False) -> bytes:
        """The bytes of a stored object in the served version.

        Custom objects that were written before a change to their schema lose the fields that it no longer has, and are
        given its current defaults, as in upstream when it reads from etcd. The schema is that of the version in which
        the object is stored, also if it is read in another.

        If a webhook fails to convert the object, the error names its revision; with ``read``, for requests that only
        read or delete it, it is upstream's error of a corrupt object (500 InternalError).
        """
        try:
            return self._encoded(served, record)
        except Suspended as pending:
            learn = partial(_learn, pending.learn, record, served.resource if read else None)
            raise Suspended(learn) from None

    def _encoded(self, served: ServedResource, record: Record) -> bytes:
        stored = served.stored_as
        if record.revision < stored.schema_since:
            source = written_version(served, record.value)
            obj: JsonObject = decode(record.value)
            prune(source.schema, obj)
            apply_defaults(source.schema, obj)
            if source is not served:
                obj = self._fitted(obj, source, served)
            return encode(served, obj, record.revision)
        if stored is served and not served.siblings:
            return record.value
        return self.converted(served, record.value)

    def encoded_all(self, served: ServedResource, records: Sequence[Record]) -> list[bytes]:
        """Like `encoded`, for many objects; a conversion webhook receives them together, not one by one."""
        if not served.asks or self._replay is None:
            return [self.encoded(served, record) for record in records]
        return self._replay.batch(lambda: [self.encoded(served, record) for record in records])

    def decoded(self, served: ServedResource, record: Record) -> JsonObject:
        """A fresh copy of a stored object, in the served version."""
        value = self.encoded(served, record)
        obj: JsonObject = decode(value)
        return obj

    def converted(self, served: ServedResource, value: bytes) -> bytes:
        source = written_version(served, value)
        if source is served:
            return value
        if served.custom and not served.asks and served.schema is source.schema:
            return served.head + value[len(source.head) :]  # only the apiVersion differs
        obj = self._fitted(decode(value), source, served)
        revision = obj["metadata"].get("resourceVersion")
        return encode(served, obj, int(revision) if revision else 0)

    def convert(self, obj: JsonObject, source: ServedResource, target: ServedResource) -> JsonObject:
        """``obj``, of version ``source``, converted to ``target``. May change ``obj``."""
        return source.convert(obj, target, self._replay)

    def _fitted(self, obj: JsonObject, source: ServedResource, target: ServedResource) -> JsonObject:
        """Like `convert`, without the fields that the schema of a custom ``target`` does not have. Defaults of the
        target are not set: as in upstream, they are those of the request and of the stored version.
        """
        obj = source.convert(obj, target, self._replay)
        if source.custom and source is not target and (source.asks or source.schema is not target.schema):
            prune(target.schema, obj)
        return obj

    def to_store(self, served: ServedResource, obj: JsonObject) -> JsonObject:
        """Returns the stored form of ``obj``, which is in the served version. May change ``obj``.

        It has the defaults of the stored version, which upstream fills in when it reads the object from etcd, also for
        the answer: those of a status that was dropped, and those that the served version does not have.

        If a webhook converts the object, the stored form is also converted back, because an object that can't be
        converted back must not be stored.
        """
        stored = served.stored_as
        document = self._fitted(obj, served, stored)
        if served.asks and stored is not served:
            stored.convert(copy_json(document), served, self._replay)
        if stored.has_defaults:
            apply_defaults(stored.schema, document)
        return document


async def _learn(learn: Learn, record: Record, resource: Resource | None, replay: Replay) -> None:
    try:
        await learn(replay)
    except ApiStatusError as error:
        problem = f"object not decodable revision={record.revision}: {error}"
        if resource is None:
            raise ApiStatusError(error.code, error.reason, problem) from None
        key = "/".join(("", resource.group, resource.plural, *filter(None, (record.namespace, record.name))))
        raise internal_error(
            f"StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {problem}"
        ) from None


PLAIN: Final = Versions(None)
"""The `Versions` for requests without a `Replay`; a conversion that needs a webhook raises Suspended."""
