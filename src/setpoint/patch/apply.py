"""Server-side apply (KEP-555): ownership of fields, conflicts, and the result of applying a configuration.

``apply`` serves apply requests; ``update`` tracks ownership for every other change to an object, and ``created`` for
new objects. None of them does any I/O: ``apply`` returns the object to store, the others its ``managedFields``.
Semantics: structured-merge-diff's ``merge`` and apimachinery's ``managedfields``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from setpoint.meta.json_values import json_equal
from setpoint.schema.schema_node import Schema

from .compare import Comparison, compare
from .fieldset import EMPTY, FieldSet, Path, path_text
from .managed_fields import NEVER_OWNED, Identity, Managed, Owner
from .typed import TypedError, ensure_named, field_set, merge, remove, type_errors

Convert: TypeAlias = Callable[[dict[str, Any], str], "tuple[Schema, dict[str, Any]] | None"]
"""A function that converts an object to another API version. It returns that version's schema and the converted object,
or None if the version is no longer served.
"""

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


class Conflict(msgspec.Struct, frozen=True):
    """A field that ``owner`` owns and that the request would set to a different value."""

    owner: Owner
    path: Path


class ApplyConflict(Exception):
    """Other managers own fields that the request would change. API servers answer with status 409 and reason
    Conflict.
    """

    def __init__(self, conflicts: Sequence[Conflict]) -> None:
        self.conflicts = list(conflicts)
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """The message in the API server's words."""
        if len(self.conflicts) == 1:
            only = self.conflicts[0]
            return f"Apply failed with 1 conflict: conflict with {only.owner}: {path_text(only.path)}"
        lines: list[str] = []
        previous: Identity | None = None
        # Sorting is stable: paths stay in order.
        for conflict in sorted(self.conflicts, key=lambda item: item.owner.identity):
            if conflict.owner.identity != previous:
                previous = conflict.owner.identity
                lines.append(f"conflicts with {conflict.owner}:")
            lines.append(f"- {path_text(conflict.path)}")
        text = "\n".join(lines)
        return f"Apply failed with {len(self.conflicts)} conflicts: {text}"

    @property
    def causes(self) -> list[dict[str, str]]:
        """The conflicts in the form of ``Status.details.causes``."""
        return [
            {"reason": "FieldManagerConflict", "message": f"conflict with {item.owner}", "field": path_text(item.path)}
            for item in self.conflicts
        ]


class InvalidApply(ValueError):
    """The configuration cannot be applied as it is. ``errors`` holds messages such as ``.spec.foo: field not
    declared in schema``.
    """

    def __init__(self, errors: Sequence[str]) -> None:
        self.errors = list(errors)
        text = self.errors[0] if len(self.errors) == 1 else "\n  ".join(["errors:", *self.errors])
        super().__init__(f"failed to create typed patch object: {text}")


class ApplyResult(msgspec.Struct, frozen=True):
    """The result of an apply. ``object`` carries ``managed_fields`` in its metadata."""

    object: dict[str, Any]
    managed_fields: list[dict[str, Any]]
    changed: bool
    """Whether anything differs from the live object, ownership included. If not, there is nothing to store."""


class Endpoint(msgspec.Struct, frozen=True):
    """The endpoint that a request is sent to: a resource in one API version, or one of its subresources.

    ``ignored``: fields that requests to this endpoint cannot set (``status`` for the main resource); they are neither
    owned nor in conflict. ``convert``: a conversion between versions, for objects that are served in several versions
    with different schemas; without it, all entries count as having the same version.
    """

    schema: Schema
    api_version: str
    subresource: str = ""
    ignored: FieldSet = msgspec.field(default_factory=lambda: EMPTY)
    convert: Convert | None = None

    def view(self, value: dict[str, Any], api_version: str) -> tuple[Schema, dict[str, Any]] | None:
        """The schema of ``api_version``, and ``value`` converted to that version; None if it cannot be converted."""
        if api_version == self.api_version or self.convert is None:
            return self.schema, value
        return self.convert(value, api_version)

    def take(
        self,
        managed: Managed,
        own: Identity | None,
        comparison: Comparison,
        before: dict[str, Any],
        after: dict[str, Any],
    ) -> list[tuple[Owner, FieldSet]]:
        """Removes changed and removed fields from all other owners; returns these owners, as they were, with the
        changed fields that they lost. ``comparison`` compares ``before`` with ``after``, without the ignored fields.
        """
        comparisons: dict[str, Comparison | None] = {self.api_version: comparison}
        losses: list[tuple[Owner, FieldSet]] = []
        for identity in sorted(managed.owners):
            if identity == own:
                continue
            owner = managed.owners[identity]
            version = owner.api_version if self.convert is not None else self.api_version
            if version not in comparisons:
                comparisons[version] = self._compare_at(version, before, after)
            difference = comparisons[version]
            if difference is None:  # the version is no longer served, so the entry can't be interpreted
                del managed.owners[identity]
                continue
            if not difference:
                continue
            fields_lost = owner.fields & (difference.modified | difference.added)
            if fields_lost or difference.removed:
                managed.owners[identity] = owner.with_fields(owner.fields - fields_lost - difference.removed)
            losses.append((owner, fields_lost))
        return losses

    def _compare_at(self, version: str, before: dict[str, Any], after: dict[str, Any]) -> Comparison | None:
        old, new = self.view(before, version), self.view(after, version)
        return None if old is None or new is None else compare(new[0], old[1], new[1]).without(self.ignored)

    def prune(self, merged: dict[str, Any], managed: Managed, last: Owner) -> dict[str, Any]:
        """Removes fields that ``last`` (the applier's previous entry) owned and that no manager owns now."""
        view = self.view(merged, last.api_version)
        if view is None:
            return merged
        schema, value = view
        owned = FieldSet()
        for owner in managed.owners.values():
            if owner.api_version == last.api_version or self.convert is None:
                owned = owned | owner.fields
        if not last.fields - owned:
            return merged
        all_fields = ensure_named(schema, field_set(schema, value))
        was_mine = ensure_named(schema, last.fields)
        without = _removed(schema, value, was_mine)
        retained = ensure_named(schema, field_set(schema, without)) | ensure_named(schema, owned)
        without = _removed(schema, value, all_fields - retained)
        for version in sorted({owner.api_version for owner in managed.owners.values()} - {last.api_version}):
            without = self._add_back(value, without, last.api_version, version, managed)
        dropped = (all_fields - ensure_named(schema, field_set(schema, without))) & was_mine
        result = _removed(schema, value, dropped)
        if schema is self.schema:
            return result
        back = self.convert(result, self.api_version) if self.convert is not None else None
        return merged if back is None else back[1]

    def _add_back(
        self, value: dict[str, Any], without: dict[str, Any], version: str, other: str, managed: Managed
    ) -> dict[str, Any]:
        """``without``, plus the fields of ``value`` that managers own in the version ``other``. Both objects, and the
        result, are in ``version``.
        """
        if self.convert is None:
            return without
        full, rest = self.convert(value, other), self.convert(without, other)
        if full is None or rest is None:
            return without
        schema = full[0]
        owned = FieldSet()
        for owner in managed.owners.values():
            if owner.api_version == other:
                owned = owned | owner.fields
        retained = ensure_named(schema, field_set(schema, rest[1])) | ensure_named(schema, owned)
        back = self.convert(
            _removed(schema, full[1], ensure_named(schema, field_set(schema, full[1])) - retained), version
        )
        return without if back is None else back[1]


def apply(
    endpoint: Endpoint,
    live: dict[str, Any] | None,
    applied: dict[str, Any],
    managers: Sequence[Mapping[str, Any]],
    manager: str,
    *,
    force: bool = False,
    now: str | None,
) -> ApplyResult:
    """Applies the configuration ``applied`` as ``manager`` to ``live`` (None: the object is created).

    - Fields in ``applied`` are set, and ``manager`` owns them; a field whose value does not change is shared with its
      other owners.
    - Fields that ``manager`` applied before and leaves out now are removed, unless another manager owns them.
    - A field that another manager owns with a different value is a conflict; with ``force``, ``manager`` takes the
      field over.

    ``endpoint``: the endpoint that the request was sent to; ``applied`` has its API version. ``managers``: the live
    object's managedFields. ``now``: the time in RFC 3339 with whole seconds, or None for an entry without a time; the
    entry's time changes only if the object changes.

    Inputs are never changed; the result shares parts with them. The caller applies defaults and validates the result
    before storing it.

    Raises ApplyConflict, InvalidApply (``applied`` does not fit the schema), ValueError (malformed managedFields, or
        managedFields in ``applied``).
    """
    if (applied.get("metadata") or {}).get("managedFields") is not None:
        raise ValueError("metadata.managedFields must be nil")
    schema, api_version, subresource = endpoint.schema, endpoint.api_version, endpoint.subresource
    errors = type_errors(schema, applied)
    if errors:
        raise InvalidApply(errors)
    before = _without_managed_fields(live or {})
    managed = Managed.decode(managers)
    original = managed.owners.copy()
    managed.reconcile(schema)
    if not managed.owners and live:
        all_fields = compare(schema, {}, before).added - NEVER_OWNED
        if all_fields:
            owner = Owner("before-first-apply", "Update", api_version, subresource, time=now, fields=all_fields)
            managed.owners[owner.identity] = owner
    own = Owner(manager or "unknown", "Apply", api_version, subresource)
    last = managed.owners.get(own.identity)
    merged = merge(schema, before, applied)
    fields = field_set(schema, applied).without(endpoint.ignored)
    managed.owners[own.identity] = (
        last.with_fields(fields)
        if last and last.api_version == api_version
        else Owner(own.manager, "Apply", api_version, subresource, time=last.time if last else None, fields=fields)
    )
    owned = fields - NEVER_OWNED
    same = last is not None and last.api_version == api_version and last.fields == owned
    if last is not None and not same:
        merged = endpoint.prune(merged, managed, last)
    comparison = compare(schema, before, merged)
    losses = endpoint.take(managed, own.identity, comparison.without(endpoint.ignored), before, merged)
    conflicts = [] if force else [Conflict(owner, path) for owner, fields_lost in losses for path in fields_lost]
    if conflicts:
        if own.manager == "kubectl":
            allowed = _last_applied_fields(schema, before, api_version)
            conflicts = [conflict for conflict in conflicts if conflict.path not in allowed]
        if conflicts:
            raise ApplyConflict(conflicts)
    new_owner = managed.owners[own.identity]
    if last is not None and same and not comparison:
        managed.owners[own.identity] = last
    else:
        # An apply that only adds an owner does not set the time, as upstream.
        managed.owners[own.identity] = new_owner.with_fields(owned).at(
            now if comparison else last.time if last else None
        )
    managed.drop_empty()
    changed = not live or managed.owners != original or (merged is not before and not json_equal(before, merged))
    if not changed:
        return ApplyResult(live, [dict(entry) for entry in managers], False)  # type: ignore[arg-type]
    entries = managed.encode()
    return ApplyResult(_with_managed_fields(merged, entries), entries, True)


def update(
    endpoint: Endpoint,
    old: dict[str, Any],
    new: dict[str, Any],
    managed: Managed,
    manager: str,
    *,
    now: str | None,
) -> list[dict[str, Any]]:
    """The managedFields after an update or patch that turns ``old`` into ``new``.

    Changed fields are owned only by ``manager``'s Update entry; removed fields have no owner. If more than ten Update
    entries exist, the oldest ones of each API version are merged (`Managed.cap`). An existing object without
    managedFields stays without them, because its fields have not been tracked.

    ``managed`` is the result of `managers_of_request`, and is the only argument that is modified. The other parameters
    are those of `apply`.

    The creation of an object that comes with managedFields of its own is a change, too: ``old`` then has no uid and
    consists of the fields that every object of the kind has on the server; these fields therefore have no owner.

    Raises TypedError if a list of ``old`` or ``new`` does not fit the schema.
    """
    if not managed.owners and (old.get("metadata") or {}).get("uid"):
        return []
    before, after = _without_managed_fields(old), _without_managed_fields(new)
    comparison = compare(endpoint.schema, before, after).without(endpoint.ignored)
    if not comparison:
        return managed.encode()
    managed.reconcile(endpoint.schema)
    endpoint.take(managed, None, comparison, before, after)
    fields = (comparison.modified | comparison.added) - NEVER_OWNED
    if fields:
        api_version, subresource = endpoint.api_version, endpoint.subresource
        owner = Owner(manager or "unknown", "Update", api_version, subresource, time=now, fields=fields)
        previous = managed.owners.get(owner.identity)
        if previous is not None:
            owner = owner.with_fields(fields | previous.fields)
        managed.owners[owner.identity] = owner
    managed.drop_empty()
    managed.cap()
    return managed.encode()


def _removed(schema: Schema, value: dict[str, Any], fields: FieldSet) -> dict[str, Any]:
    return remove(schema, value, fields) or {}


def _last_applied_fields(schema: Schema, live: dict[str, Any], api_version: str) -> FieldSet:
    """The fields that a client-side ``kubectl apply`` set and that have not changed since. Server-side apply by
    kubectl may take them over.
    """
    text = ((live.get("metadata") or {}).get("annotations") or {}).get(LAST_APPLIED)
    if not text:
        return EMPTY
    try:
        applied = json.loads(text)
        if not isinstance(applied, dict) or applied.get("apiVersion") != api_version:
            return EMPTY
        comparison = compare(schema, applied, live)
        return field_set(schema, applied) - comparison.modified - comparison.added - comparison.removed
    except (json.JSONDecodeError, TypedError):  # any user may write the annotation; a malformed one grants nothing
        return EMPTY


def _without_managed_fields(value: dict[str, Any]) -> dict[str, Any]:
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return value
    return {**value, "metadata": {name: item for name, item in metadata.items() if name != "managedFields"}}


def _with_managed_fields(value: dict[str, Any], entries: list[dict[str, Any]]) -> dict[str, Any]:
    metadata = dict(value.get("metadata") or {})
    metadata.pop("managedFields", None)
    if entries:
        metadata["managedFields"] = entries
    return {**value, "metadata": metadata}
