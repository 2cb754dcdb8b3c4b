"""The types of the verbs' arguments, and the queries and bodies that are built from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Literal

import msgspec
from msgspec import Struct

from setpoint.meta import FieldSelector, LabelSelector, Selector
from setpoint.meta.names import path_segment
from setpoint.meta.shard_ranges import ShardRanges

FieldValidation = Literal["Strict", "Warn", "Ignore"]
Propagation = Literal["Background", "Foreground", "Orphan"]
Query = tuple[tuple[str, str], ...]
PatchBody = Mapping[str, Any] | list[Any] | bytes
AnySelector = str | Mapping[str, str] | LabelSelector | Selector | None
AnyFieldSelector = str | Mapping[str, str] | FieldSelector | ShardRanges | None


class PatchType(Enum):
    """The type of a patch; the value is its media type."""

    JSON = "application/json-patch+json"
    """RFC 6902: a list of operations."""
    MERGE = "application/merge-patch+json"
    """RFC 7386: null removes a field, and lists are replaced."""
    STRATEGIC = "application/strategic-merge-patch+json"
    """Strategic merge patch: lists merge by their keys. For built-in kinds only."""
    APPLY = "application/apply-patch+yaml"
    """Server-side apply (KEP-555). The body may be JSON, which is valid YAML."""

    @classmethod
    def of(cls, patch: PatchBody) -> PatchType:
        """The default type of a patch: a JSON patch for a list of operations, a merge patch for anything else."""
        return cls.JSON if isinstance(patch, list | tuple) else cls.MERGE


class Patch(Struct, frozen=True):
    """A patch with more than a body and a type.

    ``force`` is only for `PatchType.APPLY`, as in `Client.apply`. ``before`` is the object's JSON as the caller knows
    it (``b""``: there is no object); it is passed on to observers of writes (`WriteRecord`).
    """

    body: PatchBody
    type: PatchType
    force: bool = False
    before: bytes | None = None


def checked_name(name: str, label: str) -> str:
    """``name``, if it is a valid path segment.

    Raises:
        ValueError: the name is empty, ``.`` or ``..``, or contains ``/`` or ``%``, so it would address a different
            path.
    """
    if not name:
        raise ValueError(f"{label} is empty")
    if not name.isalnum() and (problems := path_segment(name)):
        raise ValueError(f"{label} {name!r} {'; '.join(problems)}")
    return name


def list_query(
    selector: AnySelector, field_selector: AnyFieldSelector, pairs: Iterable[tuple[str, str]] = ()
) -> list[tuple[str, str]]:
    """The query of a list or a watch, without pairs that have an empty value."""
    query = []
    if selector is not None and (text := str(Selector.of(selector))):
        query.append(("labelSelector", text))
    if isinstance(field_selector, ShardRanges):
        query.append(("shardSelector", str(field_selector)))
    elif field_selector is not None and (text := str(FieldSelector.of(field_selector))):
        query.append(("fieldSelector", text))
    query += [pair for pair in pairs if pair[1]]
    return query


def write_query(dry_run: bool, field_manager: str, field_validation: FieldValidation | None) -> list[tuple[str, str]]:
    query = []
    if dry_run:
        query.append(("dryRun", "All"))
    if field_manager:
        query.append(("fieldManager", field_manager))
    if field_validation is not None:
        query.append(("fieldValidation", field_validation))
    return query


def delete_options(
    uid: str | None,
    resource_version: str | None,
    propagation: Propagation | None,
    grace_period_seconds: int | None,
    dry_run: bool,
) -> bytes | None:
    """The body of a deletion, or None if no option is set."""
    options: dict[str, Any] = {}
    preconditions = {}
    if uid:
        preconditions["uid"] = uid
    if resource_version:
        preconditions["resourceVersion"] = resource_version
    if preconditions:
        options["preconditions"] = preconditions
    if propagation is not None:
        options["propagationPolicy"] = propagation
    if grace_period_seconds is not None:
        options["gracePeriodSeconds"] = grace_period_seconds
    if dry_run:
        options["dryRun"] = ["All"]
    if not options:
        return None
    return msgspec.json.encode({"apiVersion": "v1", "kind": "DeleteOptions", **options})
