"""Quantities (``1.5Gi``) and semantic versions (``1.2.3-rc.1``)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from setpoint.cel.declarations import Library, function, method
from setpoint.cel.errors import EvaluationError
from setpoint.cel.types import BOOL, DOUBLE, INT, STRING, Type, struct
from setpoint.cel.values import MAX_INT, MIN_INT, Opaque
from setpoint.meta import Quantity

_QUANTITY: Final = struct("kubernetes.Quantity")
_SEMVER: Final = struct("kubernetes.Semver")


@dataclass(frozen=True, slots=True, eq=False)
class Amount(Opaque):
    """A quantity."""

    value: Decimal
    text: str

    @property
    def kind(self) -> Type:
        return _QUANTITY

    def equals(self, other: Opaque) -> bool:
        return isinstance(other, Amount) and self.value == other.value

    def __str__(self) -> str:
        return self.text

    def plus(self, other: Decimal) -> Amount:
        value = self.value + other
        return Amount(value, str(Quantity(value)))

    @property
    def integer(self) -> int | None:
        whole = self.value == self.value.to_integral_value() and MIN_INT <= self.value <= MAX_INT
        return int(self.value) if whole else None


_LONGEST: Final = 1000
"""The maximum length of a quantity, in characters."""


def _amount(text: str) -> Amount:
    try:
        quantity = Quantity(text)
    except ValueError:
        raise EvaluationError(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            if len(text) > _LONGEST or not re.fullmatch(r"[+-]?[0-9.]+[eEinumkKMGTP]*[-+]?[0-9]*", text)
            else "unable to parse quantity's suffix"
        ) from None
    return Amount(quantity.value, str(quantity))


def _as_integer(amount: Amount) -> int:
    if amount.integer is None:
        raise EvaluationError("cannot convert value to integer")
    return amount.integer


def _is(parse: Callable[..., object]) -> Callable[..., bool]:
    def check(*values: object) -> bool:
        try:
            parse(*values)
        except EvaluationError:
            return False
        return True

    return check


_VERSION: Final = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?"
    r"(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True, eq=False)
class Semver(Opaque):
    """A version; build metadata does not count in comparisons."""

    numbers: tuple[int, int, int]
    before: tuple[tuple[int, int, str], ...]
    """The identifiers of the pre-release; numbers sort before words."""
    text: str

    @property
    def kind(self) -> Type:
        return _SEMVER

    def equals(self, other: Opaque) -> bool:
        return isinstance(other, Semver) and self.order == other.order

    def __str__(self) -> str:
        return self.text

    @property
    def order(self) -> tuple[tuple[int, int, int], bool, tuple[tuple[int, int, str], ...]]:
        return self.numbers, not self.before, self.before


def _semver(text: str, normalize: bool = False) -> Semver:
    wanted = _normalized(text) if normalize else text
    match = _VERSION.fullmatch(wanted)
    if match is None or any(len(match[part]) > 20 or int(match[part]) > 2**64 - 1 for part in (1, 2, 3)):
        raise EvaluationError(_why_no_version(wanted))
    parts = tuple(
        (0, len(part), part) if part.isdecimal() else (1, 0, part) for part in (match[4] or "").split(".") if part
    )
    return Semver((int(match[1]), int(match[2]), int(match[3])), parts, wanted)


def _why_no_version(text: str) -> str:
    if not text:
        return "Version string empty"
    if text.count(".") < 2:
        return "No Major.Minor.Patch elements found"
    return f'Invalid character(s) found in version "{text}"'


def _normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for index, part in enumerate(parts):
        if len(part) > 1:
            part = part.lstrip("0")
            parts[index] = part if part[:1].isdecimal() else f"0{part}"
    if len(parts) < 3 and ("+" in parts[-1] or "-" in parts[-1]):
        raise EvaluationError("short version cannot contain PreRelease/Build meta data")
    return ".".join(parts + ["0"] * (3 - len(parts)))


def _order(left: Semver, right: Semver) -> int:
    return (left.order > right.order) - (left.order < right.order)


_Q, _S = _QUANTITY, _SEMVER

QUANTITIES: Final = Library(
    (
        function("quantity", "string_to_quantity", (STRING,), _Q, _amount),
        function("isQuantity", "is_quantity_string", (STRING,), BOOL, _is(_amount)),
        function("sign", "quantity_sign", (_Q,), INT, lambda quantity: (quantity.value > 0) - (quantity.value < 0)),
        method("isGreaterThan", "quantity_is_greater_than", (_Q, _Q), BOOL, lambda left, right: left.value > right.value),  # noqa: E501
        method("isLessThan", "quantity_is_less_than", (_Q, _Q), BOOL, lambda left, right: left.value < right.value),
        method("compareTo", "quantity_compare_to", (_Q, _Q), INT, lambda a, b: (a.value > b.value) - (a.value < b.value)),  # noqa: E501
        method("asApproximateFloat", "quantity_get_float", (_Q,), DOUBLE, lambda quantity: float(quantity.value)),
        method("asInteger", "quantity_get_int", (_Q,), INT, _as_integer),
        method("isInteger", "quantity_is_integer", (_Q,), BOOL, lambda quantity: quantity.integer is not None),
        method("add", "quantity_add", (_Q, _Q), _Q, lambda left, right: left.plus(right.value)),
        method("add", "quantity_add_int", (_Q, INT), _Q, lambda left, right: left.plus(Decimal(right))),
        method("sub", "quantity_sub", (_Q, _Q), _Q, lambda left, right: left.plus(-right.value)),
        method("sub", "quantity_sub_int", (_Q, INT), _Q, lambda left, right: left.plus(-Decimal(right))),
        function("semver", "string_to_semver", (STRING,), _S, _semver),
        function("semver", "string_bool_to_semver", (STRING, BOOL), _S, _semver),
        function("isSemver", "is_semver_string", (STRING,), BOOL, _is(_semver)),
        function("isSemver", "is_semver_string_bool", (STRING, BOOL), BOOL, _is(_semver)),
        method("isGreaterThan", "semver_is_greater_than", (_S, _S), BOOL, lambda left, right: _order(left, right) > 0),
        method("isLessThan", "semver_is_less_than", (_S, _S), BOOL, lambda left, right: _order(left, right) < 0),
        method("compareTo", "semver_compare_to", (_S, _S), INT, _order),
        method("major", "semver_major", (_S,), INT, lambda version: version.numbers[0]),
        method("minor", "semver_minor", (_S,), INT, lambda version: version.numbers[1]),
        method("patch", "semver_patch", (_S,), INT, lambda version: version.numbers[2]),
    )
)  # fmt: skip
