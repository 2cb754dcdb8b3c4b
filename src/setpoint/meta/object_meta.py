"""ObjectMeta and its parts, as in ``meta.k8s.io/v1``.

The generated models refer to this one definition of metadata.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Raw, Struct, field


class OwnerReference(Struct, kw_only=True, omit_defaults=True):
    """A reference from an object to its owner; the object is removed when all its owners are gone.

    An owner is in the same namespace as the object, or is cluster-scoped. At most one reference of an object has
    ``controller`` set.
    """

    api_version: str = field(name="apiVersion")
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = field(name="blockOwnerDeletion", default=None)


class ManagedFieldsEntry(Struct, kw_only=True, omit_defaults=True):
    """The fields that one manager set by one ``operation``: ``Apply`` or ``Update``.

    ``fields_v1`` is kept as the JSON that was read, empty if there was none; `msgspec.json.decode` decodes it. In many
    objects it is half of the metadata, and it is rarely read.
    """

    manager: str = ""
    operation: str = ""
    api_version: str = field(name="apiVersion", default="")
    time: datetime | None = None
    fields_type: str = field(name="fieldsType", default="")
    fields_v1: Raw = field(name="fieldsV1", default=Raw())
    subresource: str = ""


class ObjectMeta(Struct, kw_only=True, omit_defaults=True):
    """The metadata of every object. Where the server sent nothing, strings are ``""`` and collections are empty."""

    name: str = ""
    generate_name: str = field(name="generateName", default="")
    namespace: str = ""
    uid: str = ""
    resource_version: str = field(name="resourceVersion", default="")
    generation: int = 0
    creation_timestamp: datetime | None = field(name="creationTimestamp", default=None)
    deletion_timestamp: datetime | None = field(name="deletionTimestamp", default=None)
    deletion_grace_period_seconds: int | None = field(name="deletionGracePeriodSeconds", default=None)
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[OwnerReference] = field(name="ownerReferences", default=[])
    finalizers: list[str] = []
    managed_fields: list[ManagedFieldsEntry] = field(name="managedFields", default=[])
    self_link: str = field(name="selfLink", default="")

    @property
    def controller(self) -> OwnerReference | None:
        """The reference to the managing controller, or None."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class ListMeta(Struct, kw_only=True, omit_defaults=True):
    """The metadata of every list. ``continue_`` is the token for the next page, or ``""`` on the last page."""

    resource_version: str = field(name="resourceVersion", default="")
    continue_: str = field(name="continue", default="")
    remaining_item_count: int | None = field(name="remainingItemCount", default=None)
    self_link: str = field(name="selfLink", default="")
