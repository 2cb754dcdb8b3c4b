"""Quantities: ``100m`` of a CPU, ``1.5Gi`` of memory."""

from __future__ import annotations

import re
from decimal import ROUND_UP, Context, Decimal
from functools import total_ordering

_FORM = re.compile(
    r"(?=.)(?P<sign>[+-]?)(?P<whole>\d*)(?:\.(?P<fraction>\d*))?"
    r"(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d{1,3})?",
    re.ASCII,
)
_LONGEST = 1000
"""The maximum length of a quantity, in characters: the time to parse a number grows faster than its length."""
_BINARY = {"Ki": 1024, "Mi": 1024**2, "Gi": 1024**3, "Ti": 1024**4, "Pi": 1024**5, "Ei": 1024**6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_NANO = Decimal("1e-9")
_EXACT = Context(prec=2000, rounding=ROUND_UP)
_MAX = Decimal(2**63 - 1)
_BINARY_DIGITS = {"Ki": 3, "Mi": 6, "Gi": 9, "Ti": 12, "Pi": 15, "Ei": 18}
"""The number of decimal digits of each binary unit."""


@total_ordering
class Quantity:
    """A fixed-point number with a suffix, as in ``resource.Quantity``.

    Equal amounts compare and hash equal, whatever their suffix (``1000m == 1``). ``str`` gives the text if it is
    canonical for Go (``1500e-3`` is), else the canonical form: no fraction is lost, the suffix is the largest that
    leaves a whole number, and the family (binary, decimal, exponent) is that of the text. As in upstream, anything
    finer than a nano is rounded up, and an amount with a binary suffix is at most 2^63-1.

    Raises:
        ValueError: the text is not a quantity.
    """

    __slots__ = ("_family", "_text", "value")

    def __init__(self, text: str | float | Decimal) -> None:
        stripped = str(text).strip()
        if (
            len(stripped) <= 18 and stripped.isdigit() and stripped.isascii() and stripped[0] != "0"
        ):  # most are so simple
            self._family = "decimal"
            self.value: Decimal = Decimal(stripped)
            self._text = "" if stripped.endswith("000") else stripped
            return
        match = _FORM.fullmatch(stripped) if len(stripped) <= _LONGEST else None
        if match is None:
            raise ValueError(
                f"{stripped[:100]!r} is not a quantity: want a number and one of n u m k M G T P E Ki Mi Gi Ti Pi Ei"
            )
        sign, whole, fraction, suffix = match["sign"], match["whole"], match["fraction"] or "", match["suffix"] or ""
        if not whole + fraction and (suffix in ("Pi", "Ei") or (suffix[1:2] == "-" and int(suffix[1:]) < -9)):
            raise ValueError(f"{stripped!r} is not a quantity: it has no digits")  # Go reads other lone suffixes as 0
        number = Decimal(f"{sign}{whole or 0}.{fraction or 0}")
        digits = (whole.lstrip("0") or "0") + fraction
        if suffix in _BINARY:
            self._family, value = "binary", _EXACT.multiply(number, _BINARY[suffix])
            canonical = not fraction and int(digits) % 8 != 0 and len(digits) + _BINARY_DIGITS[suffix] < 15
            if abs(value) > _MAX:
                value = _MAX.copy_sign(value)
            elif 0 < abs(value) < 1:
                self._family = "decimal"
        else:
            exponent = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
            self._family, value = "decimal" if suffix in _DECIMAL else "exponent", number.scaleb(exponent, _EXACT)
            scale = exponent - len(fraction)
            fits = len(digits) <= 18 and scale >= -9 and scale % 3 == 0
            canonical = fits and not digits.endswith("000") and digits[0] != "0"
        places = value.as_tuple().exponent
        finer = isinstance(places, int) and places < -9
        self.value = value.quantize(_NANO, context=_EXACT) if finer else value
        self._text = stripped if canonical else ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.value == other.value

    def __lt__(self, other: Quantity) -> bool:
        return self.value < other.value if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.value)

    def __add__(self, other: Quantity) -> Quantity:
        """The sum. Its suffix belongs to the family of the first amount that is not 0."""
        if not isinstance(other, Quantity):
            return NotImplemented
        return self._with_value(_EXACT.add(self.value, other.value), other)

    def __sub__(self, other: Quantity) -> Quantity:
        """The difference. Its suffix belongs to the family of the first amount that is not 0."""
        if not isinstance(other, Quantity):
            return NotImplemented
        return self._with_value(_EXACT.subtract(self.value, other.value), other)

    def _with_value(self, value: Decimal, other: Quantity) -> Quantity:
        result = Quantity.__new__(Quantity)
        result._family, result.value, result._text = self._family if self.value else other._family, value, ""
        return result

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        if self._text:
            return self._text
        if not self.value:
            return "0"
        if self._family == "binary" and abs(self.value) >= 1024 and self.value == self.value.to_integral_value():
            suffix, unit = "", 1
            for candidate, size in _BINARY.items():
                if int(self.value) % size == 0:
                    suffix, unit = candidate, size
            return f"{int(self.value) // unit}{suffix}"
        sign, digits, exponent = self.value.normalize(_EXACT).as_tuple()
        assert isinstance(exponent, int)
        scale = exponent - exponent % 3
        number = int("".join(map(str, digits))) * 10 ** (exponent - scale) * (-1 if sign else 1)
        if self._family == "exponent":
            return f"{number}e{scale}" if scale else str(number)
        while scale > 18:
            number, scale = number * 1000, scale - 3
        return f"{number}{next(suffix for suffix, power in _DECIMAL.items() if power == scale)}"

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"


IntOrString = int | str
"""A port number or name, or a count or percentage: ``8080``, ``"http"``, ``"25%"``."""
