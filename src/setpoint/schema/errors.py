"""Errors about single fields, with the types and wording of Kubernetes API servers (apimachinery's
``util/validation/field``).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Final

import msgspec
from msgspec import Struct

from setpoint.meta.json_values import JSON
from setpoint.meta.text_escaping import quote


class ErrorType(StrEnum):
    """The reason for refusing a field; the value is the ``reason`` of a ``StatusCause``."""

    NOT_FOUND = "FieldValueNotFound"
    REQUIRED = "FieldValueRequired"
    DUPLICATE = "FieldValueDuplicate"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_SHORT = "FieldValueTooShort"
    TOO_MANY = "FieldValueTooMany"
    TYPE_INVALID = "FieldValueTypeInvalid"
    INTERNAL = "InternalError"


_LABELS: Final = {
    ErrorType.NOT_FOUND: "Not found",
    ErrorType.REQUIRED: "Required value",
    ErrorType.DUPLICATE: "Duplicate value",
    ErrorType.INVALID: "Invalid value",
    ErrorType.NOT_SUPPORTED: "Unsupported value",
    ErrorType.FORBIDDEN: "Forbidden",
    ErrorType.TOO_LONG: "Too long",
    ErrorType.TOO_SHORT: "Too short",
    ErrorType.TOO_MANY: "Too many",
    ErrorType.TYPE_INVALID: "Invalid value",
    ErrorType.INTERNAL: "Internal error",
}
_WITHOUT_VALUE: Final = frozenset(
    {ErrorType.REQUIRED, ErrorType.FORBIDDEN, ErrorType.TOO_LONG, ErrorType.TOO_SHORT, ErrorType.INTERNAL}
)


class _Omitted:
    __slots__ = ()

    def __repr__(self) -> str:
        return "OMITTED"


class Shown(msgspec.Struct, frozen=True):
    """A text that the message shows in place of a bad value."""

    text: str


_MOST: Final = 1000
_ROOM: Final = 1 << 23
_LONGEST: Final = 1 << 20
_EXPONENT: Final = re.compile(rb"\de[-+]?\d|0\.0000")
_slow: Final = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
LONGEST_PATH: Final = 1 << 12
"""The length of the longest path of a field. A path has the keys of all maps around the field, and each may be long."""
OMITTED: Final = _Omitted()
"""Stands for a bad value that the message does not show."""


class FieldError(Struct, frozen=True, gc=False):
    """One refused field. ``str(error)`` is ``path: reason: value: detail`` as the API server prints it."""

    type: ErrorType
    field: str
    """The path, such as ``spec.containers[0].name``; empty for the object itself."""
    detail: str = ""
    bad_value: JSON = OMITTED

    # Without ``gc``: JSON has no cycles, and a traversal of half a million errors would take a tenth of a second.

    @property
    def message(self) -> str:
        """The message without the path, as in a ``StatusCause``. Only the first 1 Mi characters of a long value are
        shown.
        """
        text = _LABELS[self.type]
        if self.type not in _WITHOUT_VALUE and self.bad_value is not OMITTED:
            value_text = format_value(self.bad_value)
            if (excess := len(value_text) - _LONGEST) > 0:
                value_text = f"{value_text[:_LONGEST]}... ({excess} more characters)"
            text = f"{text}: {value_text}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field or '<nil>'}: {self.message}"

    def to_cause(self) -> dict[str, str]:
        """The error as an entry of ``Status.details.causes``."""
        return {"reason": self.type.value, "message": self.message, "field": self.field or "<nil>"}


def not_found(field: str, value: JSON) -> FieldError:
    """An error: the value refers to something that does not exist."""
    return FieldError(ErrorType.NOT_FOUND, field, "", value)


def required(field: str, detail: str = "") -> FieldError:
    """An error: a value must be given."""
    return FieldError(ErrorType.REQUIRED, field, detail, "")


def duplicate(field: str, value: JSON) -> FieldError:
    """An error: the value must be unique, but is a duplicate."""
    return FieldError(ErrorType.DUPLICATE, field, "", value)


def invalid(field: str, value: JSON, detail: str) -> FieldError:
    """An error: the value is malformed."""
    return FieldError(ErrorType.INVALID, field, detail, value)


def type_invalid(field: str, value: JSON, detail: str) -> FieldError:
    return FieldError(ErrorType.TYPE_INVALID, field, detail, value)


def not_supported(field: str, value: JSON, supported: Sequence[str]) -> FieldError:
    """An error: the value is not in a fixed set."""
    detail = "supported values: " + ", ".join(quote(item) for item in supported) if supported else ""
    return FieldError(ErrorType.NOT_SUPPORTED, field, detail, value)


def forbidden(field: str, detail: str) -> FieldError:
    """An error: the field must not be set here."""
    return FieldError(ErrorType.FORBIDDEN, field, detail, "")


def too_long(field: str, maximum: int) -> FieldError:
    """An error: a string is longer than ``maximum`` bytes; the string itself is not shown."""
    detail = (
        f"may not be more than {maximum} {'byte' if maximum == 1 else 'bytes'}" if maximum >= 0 else "value is too long"
    )
    return FieldError(ErrorType.TOO_LONG, field, detail, "<value omitted>")


def too_many(field: str, actual: int, maximum: int) -> FieldError:
    """An error: a list or map has more than ``maximum`` items."""
    detail = (
        f"must have at most {maximum} {'item' if maximum == 1 else 'items'}" if maximum >= 0 else "has too many items"
    )
    return FieldError(ErrorType.TOO_MANY, field, detail, actual if actual >= 0 else OMITTED)


def internal_error(field: str, detail: str) -> FieldError:
    """An error: the check itself failed, so the value may be valid."""
    return FieldError(ErrorType.INTERNAL, field, detail)


class Errors(list[FieldError]):
    """The errors of one object, without repetitions. They take a limited amount of memory: once their texts are very
    long, the last error stands for each further one, which is only counted.
    """

    def __init__(self) -> None:
        super().__init__()
        self._room = _ROOM
        self._noted: set[tuple[str, ErrorType, str]] = set()

    def append(self, error: FieldError, /) -> None:
        if self._room < 0:
            error = self[-1]
        elif len(error.field) < LONGEST_PATH - 3:  # a longer path may stand for several
            if (key := (error.field, error.type, error.detail)) in self._noted:
                return
            self._noted.add(key)
        self._room -= len(error.field) + len(error.detail)
        super().append(error)

    def extend(self, errors: Iterable[FieldError], /) -> None:
        for error in errors:
            self.append(error)


def shortened(path: str) -> str:
    """The beginning of a path that is longer than `LONGEST_PATH`."""
    return f"{path[: LONGEST_PATH - 3]}..."


def fitting(errors: Iterable[FieldError]) -> tuple[list[FieldError], int]:
    """The errors that one answer lists, without repetitions, and the number of the remaining ones.

    An answer lists at most 1,000 errors, and stops earlier if their messages exceed 1 Mi characters: the same error in
    many items, or a few errors that show large values, would make an answer many megabytes long.
    """
    unique: dict[tuple[ErrorType, str, str], FieldError] = {}
    size = read = 0
    listed = [*errors]
    for error in listed:
        if size > _LONGEST or len(unique) == _MOST:
            break
        message = error.message
        unique.setdefault((error.type, error.field, message), error)
        read += 1
        size += len(message)
    return [*unique.values()], len(listed) - read


def to_aggregate_message(errors: Iterable[FieldError]) -> str:
    """The message for all errors: a single error as it is, several as ``[a, b]``, without repetitions; ``""`` if there
    are none. It lists the errors that `fitting` returns, and states how many more there are.
    """
    shown_errors, remaining = fitting(errors)
    texts = [*dict.fromkeys(map(str, shown_errors))]
    if remaining:
        texts.append(f"and {remaining} more errors")
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""


def to_causes(errors: Iterable[FieldError]) -> list[dict[str, str]]:
    """The errors that `fitting` returns, as ``Status.details.causes``."""
    return [error.to_cause() for error in fitting(errors)[0]]


def format_number(value: float) -> str:
    """A number as Go prints it: ``1`` for 1.0, ``1e+06`` for floats of seven and more digits."""
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN")
    number = Decimal(repr(value)).normalize()
    if not value or -5 < number.adjusted() < 6:
        return format(number, "f")
    mantissa, _, exponent = f"{number:e}".partition("e")
    return f"{mantissa}e{exponent[0]}{exponent[1:].zfill(2)}"


def _json_of(value: JSON) -> str:
    """The value as compact JSON with sorted keys, and with numbers as the standard library writes them."""
    try:
        raw = msgspec.json.encode(value, order="deterministic")
        if not _EXPONENT.search(raw):  # which two encoders write in different forms
            return raw.decode()
    except (ValueError, OverflowError):  # an unpaired surrogate, or an integer of more than 64 bits
        pass
    return _slow(value)


def format_value(value: JSON) -> str:
    """A value as shown in error messages: strings quoted, everything else as JSON with sorted keys."""
    if isinstance(value, Shown):
        return value.text
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return format_number(value)
    text = _json_of(value)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
