"""Attributes: the part of a request that admission plugins look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from setpoint.apiserver import errors
from setpoint.apiserver.objects.codec import decode
from setpoint.apiserver.requests.call import Call
from setpoint.meta import GroupResource

__all__ = ["Attributes", "JsonObject"]

JsonObject = dict[str, Any]


@dataclass(slots=True)
class Attributes:
    """One write: ``old`` is None on creation. Plugins that mutate change ``obj`` in place."""

    call: Call
    resource: GroupResource
    namespace: str
    obj: JsonObject
    old: JsonObject | None = None
    subresource: str = ""
    dry_run: bool = False

    @property
    def spec(self) -> JsonObject:
        """The object's; ``{}`` if it has none."""
        found = self.obj.get("spec")
        return found if isinstance(found, dict) else {}

    def stored(self, collection: str, namespace: str | None = None) -> Iterator[JsonObject]:
        """The stored objects of a collection."""
        for record in self.call.storage.scan(collection, namespace):
            yield decode(record.value)

    def one(self, collection: str, name: str, namespace: str = "") -> JsonObject | None:
        """A stored object, None if there is none of that name."""
        record = self.call.storage.get(collection, namespace, name)
        return None if record is None else decode(record.value)

    def forbidden(self, why: str) -> errors.ApiStatusError:
        """The refusal (403), which names the object, or how its name begins, as upstream."""
        metadata = self.obj.get("metadata") or {}
        name = metadata.get("name") or metadata.get("generateName") or "Unknown"
        return errors.forbidden(self.resource, name, why)
