"""Custom resources, all alike: their CRD says the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from setpoint.apiserver.storage import Record
from setpoint.apiserver.strategies.strategy import JsonObject, Strategy
from setpoint.meta import Resource
from setpoint.patch import FieldSet

if TYPE_CHECKING:
    from setpoint.apiserver.call import Call
    from setpoint.apiserver.server import ApiServer

__all__ = ["CustomStrategy"]


class CustomStrategy(Strategy):
    """One version of one custom resource."""

    unconditional_update = False
    generation = True

    def __init__(self, server: ApiServer, resource: Resource) -> None:
        self._server = server
        self._resource = resource
        self._has_status = "status" in resource.subresources

    def prepare_status_update(self, call: Call, new: JsonObject, old: JsonObject) -> JsonObject:
        # Only the status is taken; of the metadata nothing but the books.
        metadata = dict(old["metadata"])
        metadata.pop("managedFields", None)
        if new["metadata"].get("managedFields"):
            metadata["managedFields"] = new["metadata"]["managedFields"]
        made = {**old, "metadata": metadata}
        if "status" in new:
            made["status"] = new["status"]
        else:
            made.pop("status", None)
        return made

    def ignored_fields(self, subresource: str) -> FieldSet:
        return _NOT_STATUS

    def wants_something_else(self, new: JsonObject, old: JsonObject) -> bool:
        apart = ("apiVersion", "kind", "metadata", "status") if self._has_status else ("apiVersion", "kind", "metadata")
        return any(new.get(key) != old.get(key) for key in new.keys() | old.keys() if key not in apart)

    def after_delete(self, call: Call, record: Record) -> None:
        self._server.custom_resources.instance_deleted(call.served)


_NOT_STATUS = FieldSet.of(("f:spec",), ("f:metadata",))
