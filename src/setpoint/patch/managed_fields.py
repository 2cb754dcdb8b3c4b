"""``metadata.managedFields``: the owners of an object's fields (KEP-555)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

import msgspec

from setpoint.schema.schema_node import Schema

from .fieldset import FieldSet
from .typed import reconcile

MAX_UPDATE_MANAGERS: Final = 10
"""The maximum number of Update entries. If there are more, the oldest ones are merged into one entry for each API
version, called ``ancient-changes``.
"""

NEVER_OWNED: Final = FieldSet.of(
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(
        ("f:metadata", f"f:{name}")
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ),
)
"""The fields that no manager owns: they are the object's identity, or the server sets them."""

_ANCIENT: Final = "ancient-changes"
_SMALL: Final = 4096
"""The maximum length in bytes of the JSON of a field set that is kept."""

Identity: TypeAlias = tuple[str, str, str, str]
"""(manager, operation, apiVersion, subresource); apiVersion is empty for Apply, whose entry moves from version to
version."""


class Owner:
    """One entry: a manager's operation and the fields that the manager owns. The field set is parsed when it is
    first read.
    """

    __slots__ = ("_entry", "_fields", "api_version", "manager", "operation", "subresource", "time")

    def __init__(
        self,
        manager: str,
        operation: str,
        api_version: str,
        subresource: str = "",
        *,
        time: str | None = None,
        fields: FieldSet | None = None,
        entry: Mapping[str, Any] | None = None,
    ) -> None:
        self.manager = manager
        self.operation = operation
        self.api_version = api_version
        self.subresource = subresource
        self.time = time
        self._fields = fields
        self._entry = entry

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any], position: int) -> Owner:
        """Parses an entry. Raises ValueError, in the API server's words, if it is malformed."""
        operation = entry.get("operation")
        if operation not in ("Apply", "Update"):
            raise ValueError("operation must be `Apply` or `Update`")
        if not entry.get("apiVersion"):
            raise ValueError("apiVersion must not be empty")
        if not entry.get("fieldsType"):
            raise ValueError(f"missing fieldsType in managed fields entry {position}")
        if entry["fieldsType"] != "FieldsV1":
            raise ValueError(f'invalid fieldsType "{entry["fieldsType"]}" in managed fields entry {position}')
        return cls(
            entry.get("manager") or "",
            operation,
            entry["apiVersion"],
            entry.get("subresource") or "",
            time=entry.get("time"),
            entry=entry,
        )

    @property
    def applied(self) -> bool:
        return self.operation == "Apply"

    @property
    def identity(self) -> Identity:
        """The identity that distinguishes this entry from others."""
        return (self.manager, self.operation, "" if self.applied else self.api_version, self.subresource)

    @property
    def fields(self) -> FieldSet:
        """The owned fields. Raises ValueError if the entry's fieldsV1 is malformed."""
        if self._fields is None:
            assert self._entry is not None
            self._fields = _parsed(self._entry.get("fieldsV1") or {})
        return self._fields

    def with_fields(self, fields: FieldSet) -> Owner:
        """The same entry with the given fields; this entry itself if they are equal to its own."""
        if self._fields is not None and (fields is self._fields or fields == self._fields):
            return self
        return Owner(self.manager, self.operation, self.api_version, self.subresource, time=self.time, fields=fields)

    def at(self, time: str | None) -> Owner:
        """The same entry with a different time."""
        return Owner(self.manager, self.operation, self.api_version, self.subresource, time=time, fields=self.fields)

    def to_entry(self) -> dict[str, Any]:
        """The entry's JSON for ``metadata.managedFields``; the original JSON if nothing changed."""
        if isinstance(self._entry, dict):
            return self._entry
        fields = self.fields.to_fields_v1()
        return entry_json(self.manager, self.operation, self.api_version, self.time, fields, self.subresource)

    def __str__(self) -> str:
        """The manager as conflict messages name it: with its subresource, and with the API version of an Update
        entry.
        """
        text = f'"{self.manager}"'
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        return text if self.applied else f"{text} using {self.api_version}"

    def __repr__(self) -> str:
        return f"<Owner {self}: {self.fields!r}>"


class Managed(msgspec.Struct):
    """All entries of one object, by identity."""

    owners: dict[Identity, Owner]

    @classmethod
    def decode(cls, entries: Collection[Mapping[str, Any]]) -> Managed:
        """Parses entries. Raises ValueError if one is malformed; its ``fieldsV1`` is checked only when it is read."""
        owners = (Owner.from_entry(entry, position) for position, entry in enumerate(entries))
        return cls({owner.identity: owner for owner in owners})

    def reconcile(self, schema: Schema) -> None:
        """Adapts every set to ``schema``, which may have changed since the set was written."""
        for identity, owner in self.owners.items():
            fields = reconcile(schema, owner.fields)
            if fields is not owner.fields:
                self.owners[identity] = owner.with_fields(fields)

    def drop_empty(self) -> None:
        """Removes entries that own nothing."""
        for identity in [identity for identity, owner in self.owners.items() if not owner.fields]:
            del self.owners[identity]

    def cap(self) -> None:
        """Merges the oldest Update entries, per API version, until at most `MAX_UPDATE_MANAGERS` are left, or no more
        can be merged.
        """
        updates = [owner for owner in self.owners.values() if not owner.applied]
        excess = len(updates) - MAX_UPDATE_MANAGERS
        if excess <= 0:
            return
        updates.sort(key=lambda owner: (owner.time or "", owner.identity))
        first: dict[str, Owner] = {}
        merged: dict[Identity, list[Owner]] = {}
        for owner in updates:
            if excess <= 0:
                break
            first_owner = first.setdefault(owner.api_version, owner)
            if first_owner is owner:
                continue
            bucket = (_ANCIENT, "Update", owner.api_version, "")
            if bucket not in merged:
                merged[bucket] = [self.owners.get(bucket, first_owner)]
                if bucket not in self.owners:
                    self.owners[bucket] = self.owners.pop(first_owner.identity)
            self.owners.pop(owner.identity, None)
            merged[bucket].append(owner)
            excess -= 1
        for bucket, owners in merged.items():
            fields = FieldSet.union([owner.fields for owner in owners])
            self.owners[bucket] = Owner(_ANCIENT, "Update", bucket[2], time=owners[-1].time, fields=fields)

    def encode(self) -> list[dict[str, Any]]:
        """The entries in the order of API servers: Apply before Update, then by time, manager, version and
        subresource."""
        ordered = sorted(
            self.owners.values(),
            key=lambda owner: (owner.operation, owner.time or "", owner.manager, owner.api_version, owner.subresource),
        )
        return [owner.to_entry() for owner in ordered]


def entry_json(
    manager: str, operation: str, api_version: str, time: str | None, fields: dict[str, Any], subresource: str
) -> dict[str, Any]:
    """The JSON of an entry for ``metadata.managedFields``; ``fields`` are in their JSON form."""
    entry: dict[str, Any] = {"manager": manager, "operation": operation, "apiVersion": api_version}
    if time is not None:
        entry["time"] = time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = fields
    if subresource:
        entry["subresource"] = subresource
    return entry


def managers_of_request(
    live: Collection[Mapping[str, Any]] | None,
    requested: Collection[Mapping[str, Any]] | None,
    *,
    subresource: str = "",
) -> Managed:
    """The owners of an object's fields before a write that is not an apply.

    They are taken from the request's managedFields, so clients can edit these; ``[]`` or ``[{}]`` resets them. If the
    request has none, has malformed ones, or is for a subresource, the owners are those of the live object.
    """
    if requested is not None and not subresource:
        if len(requested) < 2 and not any(requested):
            return Managed({})
        managed = _valid(requested)
        if managed.owners:
            return managed
    return _valid(live)


def _valid(entries: Collection[Mapping[str, Any]] | None) -> Managed:
    """The owners in ``entries``, with their fields parsed; none if an entry is malformed."""
    if not entries:
        return Managed({})
    try:
        managed = Managed.decode(entries)
        for owner in managed.owners.values():
            _ = owner.fields
    except ValueError:
        return Managed({})
    return managed


def _parsed(fields: Any) -> FieldSet:
    """The set of ``fields`` in their JSON form. Objects that one controller writes have the same few sets."""
    raw = msgspec.json.encode(fields)
    return _parsed_small(raw) if len(raw) <= _SMALL else FieldSet.from_fields_v1(fields)


@lru_cache(maxsize=256)
def _parsed_small(raw: bytes) -> FieldSet:
    return FieldSet.from_fields_v1(msgspec.json.decode(raw))
