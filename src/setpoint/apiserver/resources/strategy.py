"""The behaviour that differs between resources: names, defaults, validation, immutable fields. Request handlers call
it; `setpoint.apiserver.strategies` has the subclasses.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from setpoint.apiserver.resources.write_context import WriteContext
from setpoint.apiserver.storage import Record
from setpoint.meta import Resource
from setpoint.meta.names import dns1123_subdomain, path_segment, path_segment_prefix
from setpoint.patch.fieldset import FieldSet
from setpoint.schema import FieldError

JsonObject = dict[str, Any]
METADATA: Final = ("annotations", "finalizers", "labels", "ownerReferences")
"""The fields of the metadata that clients set."""
_NOTHING = FieldSet()


@cache
def _beside_status(keeps: tuple[str, ...]) -> FieldSet:
    """The fields that requests to ``/status`` can't set if they leave the fields ``keeps`` of the metadata alone."""
    metadata = [("f:metadata",)] if keeps == METADATA else [("f:metadata", f"f:{name}") for name in keeps]
    return FieldSet.of(("f:spec",), *metadata)


class Strategy:
    """The common behaviour of resources; upstream's ``rest.RESTCreateStrategy`` and the like. Subclasses override the
    attributes and methods in which a resource differs.

    Objects are plain JSON values of the served version. A method whose purpose is to change an object may do so in
    place; no method may change ``old``.
    """

    create_on_update = False
    """Whether a PUT of an object that does not exist creates it."""
    unconditional_update = True
    """Whether an update may omit resourceVersion."""
    generation = False
    """Whether ``metadata.generation`` counts the changes to the desired state."""
    counts_dropped = False
    """Whether the generation also counts changes to fields that are dropped because their feature is off."""
    begins_deletion = False
    """Whether the first request to delete an object only marks it: without a grace period or a new generation."""
    collectable = True
    """Whether a deletion of an object may orphan its dependents or wait for them."""
    propagation = "Background"
    """The propagation policy of a deletion that does not specify one."""
    propagation_warning = ""
    """The warning for a client whose deletion does not specify a propagation policy."""
    returns_deleted = False
    """Whether the response to a deletion is the object even if the object no longer exists."""
    says_required = False
    """Whether `validate` reports missing fields too; otherwise the schema does."""
    created_with_status = False
    """Whether a new object keeps the status with which it was sent."""
    draws_names = True
    """Whether a generated name is ``generateName`` followed by random characters; otherwise it is ``generateName``
    alone.
    """
    checked_last: tuple[str, ...] = ()
    """The path prefixes of the fields whose errors are reported for a new object only if it has no other errors."""
    status_keeps: tuple[str, ...] = ()
    """The fields of the metadata that a write of the status does not change."""
    zero: JsonObject = {}
    """The fields that every object has even if they were not sent, for kinds without a table in `go_form`; no field
    manager owns them.
    """

    @staticmethod
    def name_rule(name: str, /) -> list[str]:
        """The problems with a name; empty if it is valid."""
        return dns1123_subdomain(name)

    def prefix_rule(self, name: str, /) -> list[str]:
        """The problems with a ``generateName``; empty if it is valid."""
        return path_segment_prefix(name) if self.name_rule is path_segment else self.name_rule(name)

    def read(self, obj: JsonObject) -> None:
        """Normalizes the strings and numbers of an incoming object that upstream parses while it decodes the object,
        such as annotations.

        Raises ValueError for a string that can't be parsed.
        """

    def default(self, obj: JsonObject) -> None:
        """Sets the defaults of missing fields."""

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        """Prepares a new object for validation. The status, if it is a subresource, has already been dropped, except
        with `created_with_status`.
        """

    def prepare_update(self, call: WriteContext, new: JsonObject, old: JsonObject) -> None:
        """Prepares a changed object for validation. The status, if it is a subresource, has already been reset to the
        old status.
        """

    def prepare_subresource_update(
        self, call: WriteContext, subresource: str, new: JsonObject, old: JsonObject
    ) -> JsonObject:
        """The object that results from an update of ``/status`` or another subresource; ``new`` is the object that was
        sent.
        """
        return self.prepare_status_update(call, new, old)

    def prepare_status_update(self, call: WriteContext, new: JsonObject, old: JsonObject) -> JsonObject:
        """The object that results from an update of ``/status``; ``new`` is the object that was sent."""
        result = {**old, "metadata": self.status_metadata(new, old)}
        if "status" in new:
            result["status"] = new["status"]
        else:
            result.pop("status", None)
        return result

    def status_metadata(self, new: JsonObject, old: JsonObject) -> JsonObject:
        """The metadata of the object that results from an update of ``/status``."""
        metadata = dict(new.get("metadata") or {})
        for name in self.status_keeps:
            metadata.pop(name, None)
            if name in old["metadata"]:
                metadata[name] = old["metadata"][name]
        return metadata

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """The errors in the object beyond those of its schema; ``old`` is None on creation."""
        return []

    def validate_subresource(self, subresource: str, obj: JsonObject, old: JsonObject) -> list[FieldError]:
        """The errors in an update of ``/status`` or another subresource."""
        return []

    def wants_something_else(self, new: JsonObject, old: JsonObject) -> bool:
        """Whether a change increases the generation: any change outside of metadata and status does."""
        return any(
            new.get(key) != old.get(key)
            for key in new.keys() | old.keys()
            if key not in ("apiVersion", "kind", "metadata", "status")
        )

    def grace_period(self, obj: JsonObject, wanted: int | None) -> int | None:
        """The grace period of a deletion in seconds; None for resources that are deleted immediately. ``wanted`` is the
        period in the request.
        """
        return None

    def check_delete(self, call: WriteContext, obj: JsonObject) -> None:
        """Checks a deletion before it begins, and may change ``obj``. Raises ApiStatusError to refuse the deletion."""

    def keeps(self, obj: JsonObject) -> bool:
        """Whether an object that is being deleted must stay although its metadata has no finalizers
        left.
        """
        return False

    def ignored_fields(self, subresource: str) -> FieldSet:
        """The fields that requests to the main resource or to a subresource can't set and therefore don't own."""
        if subresource != "status":
            return _NOTHING
        return _beside_status(self.status_keeps)

    def convert(self, obj: JsonObject, target: Resource) -> JsonObject:
        """``obj`` in the version of ``target``; ``obj`` itself may be changed."""
        obj["apiVersion"] = target.api_version
        return obj

    def prepare(self, call: WriteContext, obj: JsonObject) -> None:
        """The last step before the object is stored: preparations that take a long time, and defaults that validation
        must not see.
        """

    def after_create(self, call: WriteContext, record: Record) -> Record:
        """Handles an object that was just stored; returns the record for the response."""
        return record

    def after_update(self, call: WriteContext, record: Record, old: JsonObject) -> Record:
        return record

    def after_delete(self, call: WriteContext, record: Record) -> None: ...
