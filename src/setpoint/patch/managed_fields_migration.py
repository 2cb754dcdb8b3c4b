"""Migrates managed fields from managers that update to a manager that applies.

The fields of an object that was written with client-side apply are owned by an ``Update`` entry. A manager that begins
to use server-side apply does not own these fields, so fields that it leaves out are never removed. A migration changes
the entries in the same way as client-go's ``util/csaupgrade``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from .fieldset import FieldSet, field
from .managed_fields import Owner

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation of client-side apply. The manager that applies does not own it, so the manager's next
apply leaves it in place.
"""
_ANNOTATION: Final = FieldSet.of((field("metadata"), field("annotations"), field(LAST_APPLIED)))


def migrated(
    entries: Sequence[Mapping[str, Any]], managers: Collection[str], manager: str, *, subresource: str = ""
) -> list[dict[str, Any]]:
    """The entries of ``metadata.managedFields`` after a migration: ``manager`` owns, by apply, the fields that
    ``managers`` owned by updates.

    The ``Update`` entries of ``managers`` for ``subresource`` (``""``: the object itself) are removed. Their fields,
    except the annotation of client-side apply, are added to the ``Apply`` entry of ``manager``; if there is none, the
    first of these entries, in the order of ``entries``, becomes the ``Apply`` entry. Fields in an API version other
    than that of the ``Apply`` entry are dropped: no manager owns them until they are applied. A second migration
    changes nothing.

    Raises:
        ValueError: an entry is malformed, or ``managers`` is a string.
    """
    if isinstance(managers, str):
        raise ValueError(f"managers is a collection of names, such as ({managers!r},)")
    owners = [Owner.from_entry(entry, position) for position, entry in enumerate(entries)]
    concerned = [owner for owner in owners if owner.manager in managers and not owner.applied]
    for name in dict.fromkeys(owner.manager for owner in concerned if owner.subresource == subresource):
        owners = _taken_over(owners, name, manager, subresource)
    return [owner.to_entry() for owner in owners]


def migration_patch(
    document: Mapping[str, Any], managers: Collection[str], manager: str, *, subresource: str = ""
) -> list[dict[str, Any]] | None:
    """A JSON patch that changes an object's entries as `migrated` does; None if there is nothing to change.

    The patch applies to the version that was read: a server refuses it with a conflict if the object has changed since.

    Raises:
        ValueError: as in `migrated`.
    """
    metadata = document.get("metadata") or {}
    before = metadata.get("managedFields") or []
    after = migrated(before, managers, manager, subresource=subresource)
    if after == before:
        return None
    return [
        {"op": "replace", "path": "/metadata/managedFields", "value": after},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": metadata.get("resourceVersion", "")},
    ]


def _taken_over(owners: list[Owner], name: str, manager: str, subresource: str) -> list[Owner]:
    def is_update(owner: Owner) -> bool:
        return owner.manager == name and not owner.applied and owner.subresource == subresource

    updates = [owner for owner in owners if is_update(owner)]
    if not updates:
        return owners
    applied = next(
        (owner for owner in owners if owner.manager == manager and owner.applied and owner.subresource == subresource),
        None,
    )
    target = applied if applied is not None else updates[0]
    fields = target.fields
    for update in updates:
        if update.api_version == target.api_version:
            fields = fields | update.fields
    merged = Owner(
        manager,
        "Apply",
        target.api_version,
        subresource,
        time=target.time,
        fields=fields - _ANNOTATION,
    )
    return [merged if owner is target else owner for owner in owners if owner is target or not is_update(owner)]
