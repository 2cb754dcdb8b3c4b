"""Query parameters: CreateOptions, PatchOptions, ListOptions and the like, validated as on the real server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from setpoint.apiserver.errors import bad_request, invalid
from setpoint.cel.library.times import parse_duration
from setpoint.meta import FieldSelector, GroupKind, Selector, SelectorError
from setpoint.meta.go_integers import NumberError, parse_int, parse_uint
from setpoint.meta.text_escaping import quote
from setpoint.schema import ErrorType, FieldError
from setpoint.schema.errors import forbidden, not_supported, required, too_long
from setpoint.schema.errors import invalid as invalid_field

META_GROUP: Final = "meta.k8s.io"
_LONGEST_MANAGER: Final = 128
UNSAFE: Final = "ignoreStoreReadErrorWithClusterBreakingPotential"
_POLICIES: Final = ("Foreground", "Background", "Orphan")


def check_timeout(timeout: str) -> None:
    """Raises ApiStatusError (400) if ``timeout`` is neither empty nor a duration, such as ``30s``. A valid value has no
    effect, because no request takes longer than this server's own limits.
    """
    if timeout and parse_duration(timeout) is None:
        raise bad_request(f"invalid timeout specified in the request URL - time: invalid duration {quote(timeout)}")


class Query(dict[str, str]):
    """The parameters of one request; if a parameter occurs more than once, the first value is used, as in Go."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        super().__init__(reversed(pairs))
        self.pairs = pairs

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.pairs if key == name]

    def flag(self, name: str) -> bool | None:
        """The value of a boolean parameter; None if it is missing. Only ``false`` and ``0`` count as false, so a
        parameter without a value is true.
        """
        value = self.get(name)
        if value is None:
            return None
        return value.lower() not in ("false", "0")

    def integer(self, name: str) -> int | None:
        value = self.get(name)
        if not value:
            return None
        try:
            return parse_int(value)
        except NumberError as problem:
            raise bad_request(str(problem)) from None


class WriteOptions(msgspec.Struct, frozen=True):
    """The options of a write: CreateOptions, UpdateOptions and PatchOptions."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    force: bool | None = None

    @classmethod
    def parse(cls, query: Query, kind: str, *, apply: bool = False) -> WriteOptions:
        """Parses a query. ``kind`` names the options in errors. Raises ApiStatusError (422) for values that are not
        allowed.
        """
        if not query.pairs and not apply:
            return _PLAIN
        manager = query.get("fieldManager", "")
        plain = 0 < len(manager) <= _LONGEST_MANAGER and manager.isascii() and manager.isprintable()
        if plain and len(query.pairs) == 1:
            return cls(field_manager=manager)
        validation = query.get("fieldValidation", "")
        force = query.flag("force") if kind == "PatchOptions" else None
        errors: list[FieldError] = []
        if apply and not manager:
            errors.append(required("fieldManager", "is required for apply patch"))
        if force is not None and not apply:
            errors.append(forbidden("force", "may not be specified for non-apply patch"))
        if len(manager.encode()) > _LONGEST_MANAGER:
            errors.append(too_long("fieldManager", _LONGEST_MANAGER))
        for position, character in enumerate(manager):
            if not character.isprintable():
                text = f"invalid character U+{ord(character):04X} (at position {position})"
                errors.append(invalid_field("fieldManager", manager, text))
        dry_run = _dry_run(query.all("dryRun"), errors)
        if validation not in ("", "Ignore", "Warn", "Strict"):
            errors.append(not_supported("fieldValidation", validation, ("", "Ignore", "Strict", "Warn")))
        if errors:
            raise invalid(GroupKind(META_GROUP, kind), "", errors)
        return cls(dry_run, manager, validation or "Warn", force)


_PLAIN: Final = WriteOptions()


class DeleteOptions(msgspec.Struct):
    """The options of a deletion, from the body or, without a body, from the query."""

    dry_run: bool = False
    grace_period_seconds: int | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    ignore_read_error: bool | None = None

    @classmethod
    def parse(cls, body: Mapping[str, Any] | None, query: Query) -> DeleteOptions:
        """Parses a body whose values have the right types or, if it is None, a query. Raises ApiStatusError (400 or
        422).
        """
        errors: list[FieldError] = []
        if body is not None:
            options = _from_body(body)
            dry_run = body.get("dryRun") or []
        else:
            options = cls(
                grace_period_seconds=query.integer("gracePeriodSeconds"),
                orphan_dependents=query.flag("orphanDependents"),
                propagation_policy=query.get("propagationPolicy"),
                uid=query.get("uid") or None,
                resource_version=query.get("resourceVersion") or None,
                ignore_read_error=query.flag(UNSAFE),
            )
            dry_run = query.all("dryRun")
        policy = options.propagation_policy
        if options.orphan_dependents is not None and policy is not None:
            text = "orphanDependents and deletionPropagation cannot be both set"
            errors.append(invalid_field("propagationPolicy", policy, text))
        if policy is not None and policy not in _POLICIES:
            errors.append(not_supported("propagationPolicy", policy, (*_POLICIES, "nil")))
        options.dry_run = _dry_run(dry_run, errors)
        if options.ignore_read_error:
            errors += [
                invalid_field(UNSAFE, True, f"cannot be set together with .{name}")
                for name, value in (
                    ("propagationPolicy", policy),
                    ("orphanDependents", options.orphan_dependents),
                    ("gracePeriodSeconds", options.grace_period_seconds),
                    ("preconditions", options.uid or options.resource_version),
                )
                if value is not None
            ]
        if errors:
            raise invalid(GroupKind(META_GROUP, "DeleteOptions"), "", errors)
        return options

    def copy(self) -> DeleteOptions:
        return DeleteOptions(
            self.dry_run,
            self.grace_period_seconds,
            self.orphan_dependents,
            self.propagation_policy,
            self.uid,
            self.resource_version,
            self.ignore_read_error,
        )


def _from_body(body: Mapping[str, Any]) -> DeleteOptions:
    preconditions = body.get("preconditions") or {}
    return DeleteOptions(
        grace_period_seconds=body.get("gracePeriodSeconds"),
        orphan_dependents=body.get("orphanDependents"),
        propagation_policy=body.get("propagationPolicy"),
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        ignore_read_error=body.get(UNSAFE),
    )


def _dry_run(values: list[str], errors: list[FieldError]) -> bool:
    if any(value != "All" for value in values):
        errors.append(not_supported("dryRun", values, ("All",)))
    return bool(values)


class ListOptions(msgspec.Struct, frozen=True):
    """The options of lists, watches and deletions of whole collections."""

    label_selector: Selector = msgspec.field(default_factory=Selector)
    field_selector: FieldSelector = msgspec.field(default_factory=FieldSelector)
    limit: int = 0
    continue_: str = ""
    resource_version: str = ""
    resource_version_match: str = ""
    watch: bool = False
    allow_bookmarks: bool = False
    send_initial_events: bool | None = None
    timeout_seconds: int | None = None
    shard_selector: str = ""

    @classmethod
    def parse(cls, query: Query, *, watch: bool = False) -> ListOptions:
        """Parses a query.

        Raises ApiStatusError: 400 for a selector or an integer that can't be parsed, 422 for combinations that are not
        allowed.
        """
        if not query.pairs and not watch:
            return _EVERYTHING
        limit, seconds = query.integer("limit"), query.integer("timeoutSeconds")  # before selectors, as upstream
        try:
            labels = Selector.parse(query.get("labelSelector", ""))
            fields = FieldSelector.parse(query.get("fieldSelector", ""))
        except SelectorError as problem:
            raise bad_request(str(problem)) from None
        options = cls(
            labels,
            fields,
            limit or 0,
            query.get("continue", ""),
            query.get("resourceVersion", ""),
            query.get("resourceVersionMatch", ""),
            watch or bool(query.flag("watch")),
            bool(query.flag("allowWatchBookmarks")),
            query.flag("sendInitialEvents"),
            seconds,
            query.get("shardSelector", ""),
        )
        errors = options._watch_errors() if options.watch else options._list_errors()
        if errors:
            raise invalid(GroupKind(META_GROUP, "ListOptions"), "", errors)
        return options

    @property
    def revision(self) -> int:
        """``resourceVersion`` as an integer; 0 if it is empty. Raises ApiStatusError (400) if it is not an integer."""
        text = self.resource_version
        if not text:
            return 0
        try:
            return parse_uint(text)
        except NumberError as problem:
            error = FieldError(ErrorType.INVALID, "resourceVersion", str(problem), text)
            raise bad_request(f"invalid resource version: {error}") from None

    def _list_errors(self) -> list[FieldError]:
        errors = []
        match, parameter = self.resource_version_match, "resourceVersionMatch"
        if match:
            if not self.resource_version:
                errors.append(forbidden(parameter, f"{parameter} is forbidden unless resourceVersion is provided"))
            if self.continue_:
                errors.append(forbidden(parameter, f"{parameter} is forbidden when continue is provided"))
            if match not in ("Exact", "NotOlderThan"):
                errors.append(not_supported(parameter, match, ("Exact", "NotOlderThan", "")))
            if match == "Exact" and self.resource_version == "0":
                errors.append(forbidden(parameter, f'{parameter} "exact" is forbidden for resourceVersion "0"'))
        if self.send_initial_events is not None:
            errors.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
        return errors

    def _watch_errors(self) -> list[FieldError]:
        errors = []
        match, parameter = self.resource_version_match, "resourceVersionMatch"
        if self.send_initial_events is not None and match != "NotOlderThan":
            errors.append(forbidden(parameter, f"sendInitialEvents requires setting {parameter} to NotOlderThan"))
        if match:
            if self.send_initial_events is None:
                errors.append(
                    forbidden(parameter, f"{parameter} is forbidden for watch unless sendInitialEvents is provided")
                )
            if match != "NotOlderThan":
                errors.append(not_supported(parameter, match, ("NotOlderThan",)))
        if self.continue_:  # of which upstream says this whether or not there is a match
            errors.append(forbidden(parameter, f"{parameter} is forbidden when continue is provided"))
        return errors


_EVERYTHING: Final = ListOptions()
