"""The behaviour of a resource where resources differ: names, defaults, validation, immutable fields."""

from __future__ import annotations

from typing import Any, Final

from setpoint.apiserver.resources.behaviour import WriteContext
from setpoint.apiserver.storage import Record
from setpoint.meta import Resource
from setpoint.meta.names import dns1123_subdomain, path_segment, path_segment_prefix
from setpoint.patch import FieldSet
from setpoint.schema import FieldError

__all__ = ["METADATA", "JsonObject", "Strategy"]

JsonObject = dict[str, Any]
METADATA: Final = ("annotations", "finalizers", "labels", "ownerReferences")
"""The fields of the metadata that clients set."""
_NOTHING = FieldSet()


class Strategy:
    """The behaviour of most resources. Others subclass it and change what they do differently.

    Objects are plain JSON values of the served version. Methods that get an object to change may change it in place;
    ``old`` is never to be changed.
    """

    create_on_update = False
    """Whether a PUT of an object that does not exist creates it."""
    unconditional_update = True
    """Whether an update may come without resourceVersion."""
    generation = False
    """Whether ``metadata.generation`` counts changes of what is wanted."""
    counts_dropped = False
    """Whether fields of features that are off count in the generation, though they are dropped."""
    collectable = True
    """Whether dependents of an object may be orphaned or awaited when it is deleted."""
    propagation = "Background"
    """The propagation policy of a deletion that does not name one."""
    propagation_warning = ""
    """A warning for clients that don't name a propagation policy."""
    returns_deleted = False
    """Whether a deletion answers with the object even when it is gone."""
    says_required = False
    """Whether `validate` says, too, what is missing; else the schema does."""
    draws_names = True
    """Whether a generated name is ``generateName`` and random characters, and not ``generateName`` alone."""
    status_keeps: tuple[str, ...] = ()
    """The fields of the metadata that a write of the status does not change."""
    zero: JsonObject = {}
    """The fields that every object has whatever was sent, for kinds without a table in `go_form`; never owned."""

    @staticmethod
    def name_rule(name: str, /) -> list[str]:
        """The problems of a name; empty if it is valid."""
        return dns1123_subdomain(name)

    def prefix_rule(self, name: str, /) -> list[str]:
        """The problems of a ``generateName``; empty if it is valid."""
        return path_segment_prefix(name) if self.name_rule is path_segment else self.name_rule(name)

    def read(self, obj: JsonObject) -> None:
        """Brings into its form what upstream reads of an incoming object from texts, such as annotations.

        Raises ValueError for a text that can't be read.
        """

    def default(self, obj: JsonObject) -> None:
        """Sets the defaults of fields that were left out."""

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        """Called before validation. The status, where it is a subresource, is dropped already."""

    def prepare_update(self, call: WriteContext, new: JsonObject, old: JsonObject) -> None:
        """Called before validation. The status, where it is a subresource, is the old one already."""

    def prepare_subresource_update(
        self, call: WriteContext, subresource: str, new: JsonObject, old: JsonObject
    ) -> JsonObject:
        """The object that results from an update of ``/status`` or its like; ``new`` is what was sent."""
        return self.prepare_status_update(call, new, old)

    def prepare_status_update(self, call: WriteContext, new: JsonObject, old: JsonObject) -> JsonObject:
        """As `prepare_subresource_update`, for the status."""
        metadata = dict(new.get("metadata") or {})
        for name in self.status_keeps:
            metadata.pop(name, None)
            if name in old["metadata"]:
                metadata[name] = old["metadata"][name]
        made = {**old, "metadata": metadata}
        if "status" in new:
            made["status"] = new["status"]
        else:
            made.pop("status", None)
        return made

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Everything wrong with the object beyond its schema; ``old`` is None on creation."""
        return []

    def validate_subresource(self, subresource: str, obj: JsonObject, old: JsonObject) -> list[FieldError]:
        """The errors in an update of ``/status`` or another subresource."""
        return []

    def warnings(self, obj: JsonObject, old: JsonObject | None) -> list[str]:
        return []

    def wants_something_else(self, new: JsonObject, old: JsonObject) -> bool:
        """Whether the generation goes up: anything but metadata and status changed."""
        return any(
            new.get(key) != old.get(key)
            for key in new.keys() | old.keys()
            if key not in ("apiVersion", "kind", "metadata", "status")
        )

    def grace_period(self, obj: JsonObject, wanted: int | None) -> int | None:
        """Seconds that a deletion leaves the object, or None for resources that are deleted at once; ``wanted``: what
        the request says."""
        return None

    def check_delete(self, call: WriteContext, obj: JsonObject) -> None:
        """May refuse a deletion by raising ApiStatusError."""

    def keeps(self, obj: JsonObject) -> bool:
        """Whether an object that is being deleted must stay although it has no finalizers in its metadata."""
        return False

    def ignored_fields(self, subresource: str) -> FieldSet:
        """The fields that requests to the main resource or a subresource can't set and so don't own."""
        if subresource != "status":
            return _NOTHING
        if self.status_keeps == METADATA:
            return FieldSet.of(("f:spec",), ("f:metadata",))
        return FieldSet.of(("f:spec",), *(("f:metadata", f"f:{name}") for name in self.status_keeps))

    def convert(self, obj: JsonObject, target: Resource) -> JsonObject:
        """``obj`` in the version that ``target`` is; may be changed in place."""
        obj["apiVersion"] = target.api_version
        return obj

    def foresee(self, call: WriteContext, obj: JsonObject) -> None:
        """The last before the object is stored."""

    def after_create(self, call: WriteContext, record: Record) -> Record:
        """Right after the object was stored; gives what the answer shows."""
        return record

    def after_update(self, call: WriteContext, record: Record, old: JsonObject) -> Record:
        return record

    def after_delete(self, call: WriteContext, record: Record) -> None: ...
