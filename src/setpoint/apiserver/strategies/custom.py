"""Custom resources. All share one strategy; their CRDs define the differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from setpoint.apiserver.resources.strategy import JsonObject, Strategy
from setpoint.apiserver.storage import Record
from setpoint.meta import Resource
from setpoint.patch.fieldset import FieldSet

if TYPE_CHECKING:
    from setpoint.apiserver.resources.write_context import WriteContext


class CustomStrategy(Strategy):
    """The strategy of one version of one custom resource. ``gone`` is called after an object has been deleted."""

    unconditional_update = False
    generation = True

    def __init__(self, resource: Resource, on_deletion: Callable[[], None]) -> None:
        self._resource = resource
        self._on_deletion = on_deletion
        self._has_status = "status" in resource.subresources

    def status_metadata(self, new: JsonObject, old: JsonObject) -> JsonObject:
        """The metadata of ``old``, with the managed fields of ``new``."""
        metadata = dict(old["metadata"])
        metadata.pop("managedFields", None)
        if new["metadata"].get("managedFields"):
            metadata["managedFields"] = new["metadata"]["managedFields"]
        return metadata

    def ignored_fields(self, subresource: str) -> FieldSet:
        return _NOT_STATUS if subresource == "status" else FieldSet()

    def wants_something_else(self, new: JsonObject, old: JsonObject) -> bool:
        apart = ("apiVersion", "kind", "metadata", "status") if self._has_status else ("apiVersion", "kind", "metadata")
        return any(new.get(key) != old.get(key) for key in new.keys() | old.keys() if key not in apart)

    def after_delete(self, call: WriteContext, record: Record) -> None:
        self._on_deletion()


_NOT_STATUS = FieldSet.of(("f:spec",), ("f:metadata",))
