"""Rows of the tables: a path, and the checks of each value at that path.

A path consists of field names, separated by dots; ``[]`` after a name stands for each item of the list, ``{}`` for each
entry of the map. The last field is checked even if it is missing, provided that its parent exists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.label_selectors import label_selector_errors, labels_errors
from setpoint.meta import Quantity
from setpoint.schema import FieldError
from setpoint.schema.errors import forbidden, invalid, not_supported, required, too_long

IMMUTABLE = "field is immutable"
Found = TypeVar("Found")


class Place(msgspec.Struct):
    """A value (None: missing) with its path, its parent, and the whole object before and after the write."""

    value: Any
    path: str
    holder: JsonObject
    obj: JsonObject
    old: JsonObject | None
    results: dict[Callable[[JsonObject], Any], Any] = msgspec.field(default_factory=dict)
    """The results of `of_old`; all places of an object share them."""

    def inner(self, value: Any, path: str, holder: JsonObject) -> Place:
        """Another place in the same object."""
        return Place(value, path, holder, self.obj, self.old, self.results)

    def of_old(self, function: Callable[[JsonObject], Found]) -> Found:
        """The result of ``function`` for the old object, or for an empty object on creation. ``function`` is called
        once for all places of an object, so checks of many items don't read the whole old object for each item.
        """
        if function not in self.results:
            self.results[function] = function(self.old or {})
        value: Found = self.results[function]
        return value


Check = Callable[[Place], list[FieldError]]
Row = tuple[tuple[str, ...], tuple[Check, ...]]


def row(path: str, *checks: Check) -> Row:
    return tuple(path.split(".")), checks


class _Given:
    """A check that ignores missing values."""

    __slots__ = ("check",)

    def __init__(self, check: Check) -> None:
        self.check = check

    def __call__(self, place: Place) -> list[FieldError]:
        return [] if place.value is None else self.check(place)


class _Field(msgspec.Struct):
    """The checks of one field, and of the fields, items or entries inside it."""

    name: str
    checks: list[Check] = msgspec.field(default_factory=list)
    missing: list[Check] = msgspec.field(default_factory=list)
    """The checks that also apply to a missing field."""
    last: list[Check] = msgspec.field(default_factory=list)
    """The checks that follow those of the fields inside, because their row does."""
    inner: list[_Field] = msgspec.field(default_factory=list)
    item_checks: list[Check] = msgspec.field(default_factory=list)
    item: list[_Field] = msgspec.field(default_factory=list)


class Table:
    """The rows of a table as a tree, so that each part of an object is visited only once, and only if it exists. Errors
    come in the order of the rows.
    """

    __slots__ = ("_fields",)

    def __init__(self, rows: Sequence[Row]) -> None:
        self._fields: list[_Field] = []
        for steps, checks in rows:
            self._add(steps, checks)

    def _add(self, steps: tuple[str, ...], checks: tuple[Check, ...]) -> None:
        fields = self._fields
        for number, step in enumerate(steps):
            name = step.rstrip("[]{}")
            field = next((item for item in fields if item.name == name), None)
            if field is None:
                field = _Field(name)
                fields.append(field)
            several = step != name
            if number < len(steps) - 1:
                fields = field.item if several else field.inner
            elif several:
                field.item_checks += checks
            else:
                given_checks = [check.check if isinstance(check, _Given) else check for check in checks]
                if field.inner or field.item or field.item_checks:
                    field.last += given_checks
                else:
                    field.checks += given_checks
                field.missing += [check for check in checks if not isinstance(check, _Given)]

    def errors(self, obj: JsonObject, old: JsonObject | None, part: Any = None, prefix: str = "") -> list[FieldError]:
        """The errors in ``part`` of ``obj``, whose path is ``prefix``; if ``part`` is None, the errors in the whole
        object.
        """
        errors: list[FieldError] = []
        _look(self._fields, Place(obj if part is None else part, prefix, obj, obj, old), errors)
        return errors


def _look(fields: list[_Field], place: Place, errors: list[FieldError]) -> None:
    holder, path = place.value, place.path
    for entry in fields:
        value = holder.get(entry.name)
        if value is None:
            for check in entry.missing:
                field_path = f"{path}.{entry.name}" if path else entry.name
                errors += check(place.inner(None, field_path, holder))
            continue
        field_path = f"{path}.{entry.name}" if path else entry.name
        for check in entry.checks:
            errors += check(place.inner(value, field_path, holder))
        if entry.inner:
            _look(entry.inner, place.inner(value, field_path, holder), errors)
        if entry.item or entry.item_checks:
            for key, item in value.items() if isinstance(value, dict) else enumerate(value):
                item_path = f"{field_path}[{key}]"
                for check in entry.item_checks:
                    errors += check(place.inner(item, item_path, holder))
                if entry.item:
                    _look(entry.item, place.inner(item, item_path, holder), errors)
        for check in entry.last:
            errors += check(place.inner(value, field_path, holder))


# -- checks -----------------------------------------------------------------------------------------------------------


def needed(detail: str = "") -> Check:
    """A check that a value exists and is not empty."""

    def check(place: Place) -> list[FieldError]:
        return [required(place.path, detail)] if place.value in (None, "", [], {}) else []

    return check


def unless_missing(check: Check) -> Check:
    """A check that applies ``check`` to values that exist, even if they are empty."""
    return _Given(check)


def one_of(*values: str, empty: bool = False) -> Check:
    """A check that a text is one of ``values``. Empty and missing texts are accepted, unless ``empty`` is true."""

    def check(place: Place) -> list[FieldError]:
        value = place.value or ""
        return [not_supported(place.path, value, values)] if (value or empty) and value not in values else []

    return check if empty else _Given(check)


def between(least: int, most: int, text: str = "", *, missing: bool = False) -> Check:
    """A check that a number is within a range. ``missing``: whether a missing number counts as zero."""

    def check(place: Place) -> list[FieldError]:
        value = 0 if place.value is None and missing else place.value
        if not isinstance(value, int) or least <= value <= most:
            return []
        return [invalid(place.path, value, text or f"must be between {least} and {most}, inclusive")]

    return check if missing else _Given(check)


def at_least(least: int, text: str = "", *, missing: bool = False) -> Check:
    return between(least, 2**63, text or f"must be greater than or equal to {least}", missing=missing)


def named(rule: Callable[[str], list[str]], *, empty: bool = False, before: str = "", but: str = "") -> Check:
    """A check that ``rule`` finds no problem with a text.

    ``empty``: whether empty and missing texts are checked too. ``before``: a text to put before each
    problem. ``but``: a text that is also accepted.
    """

    def check(place: Place) -> list[FieldError]:
        value = place.value or ""
        if value == but and value:
            return []
        return [invalid(place.path, value, before + text) for text in rule(value)] if value or empty else []

    return check if empty else _Given(check)


@_Given
def labels(place: Place) -> list[FieldError]:
    """The errors in a map of labels."""
    return labels_errors(place.value, place.path)


@_Given
def selector(place: Place) -> list[FieldError]:
    """The errors in a label selector."""
    return label_selector_errors(place.value, place.path)


def longest(most: int) -> Check:
    def check(place: Place) -> list[FieldError]:
        return [too_long(place.path, most)] if len((place.value or "").encode()) > most else []

    return _Given(check)


@_Given
def amount(place: Place) -> list[FieldError]:
    """The errors in a quantity, which must not be negative."""
    if place.value is None or Quantity(place.value) >= Quantity("0"):
        return []
    return [invalid(place.path, place.value, "must be greater than or equal to 0")]


def _before(place: Place) -> Any:
    value: Any = place.old
    for step in place.path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value


def immutable(place: Place) -> list[FieldError]:
    """The error if a field was changed. This check is not for fields inside a list."""
    before = _before(place)
    if place.old is None or (place.value or None) == (before or None):
        return []
    bad_value = type(before)() if place.value is None and isinstance(before, str | list) else place.value
    return [invalid(place.path, bad_value, IMMUTABLE)]


def settled(place: Place) -> list[FieldError]:
    """Like `immutable`, for fields that upstream validates declaratively: the message does not show the value."""
    return [invalid(error.field, None, IMMUTABLE) for error in immutable(place)]


def frozen(text: str) -> Check:
    """Like `immutable`, but the error says that the change is forbidden, with the message ``text``."""

    def check(place: Place) -> list[FieldError]:
        same = place.old is None or (place.value or None) == (_before(place) or None)
        return [] if same else [forbidden(place.path, text)]

    return check


def union(text: str, *names: str) -> Check:
    """A check that at most one of the named fields of the object at the path is set; any others are forbidden."""

    def check(place: Place) -> list[FieldError]:
        value = place.value or {}
        present = [name for name in names if value.get(name) is not None]
        return [forbidden(f"{place.path}.{name}", text) for name in present[1:]]

    return _Given(check)


def when(condition: Callable[[JsonObject], bool], *checks: Check) -> Check:
    """A check that applies ``checks`` only if the field's parent fulfils ``condition``."""

    def check(place: Place) -> list[FieldError]:
        return [error for item in checks for error in item(place)] if condition(place.holder) else []

    return check
