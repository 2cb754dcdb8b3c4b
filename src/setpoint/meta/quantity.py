"""Quantities: ``100m`` of a CPU, ``1.5Gi`` of memory."""

from __future__ import annotations

import re
from decimal import ROUND_UP, Context, Decimal
from functools import total_ordering

_FORM = re.compile(
    r"(?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+))(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d{1,3})?", re.ASCII
)
_LONGEST = 1000
"""The maximum length of a quantity, in characters: the time to parse a number grows faster than its length."""
_BINARY = {"Ki": 1024, "Mi": 1024**2, "Gi": 1024**3, "Ti": 1024**4, "Pi": 1024**5, "Ei": 1024**6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_NANO = Decimal("1e-9")
_EXACT = Context(prec=2000, rounding=ROUND_UP)


@total_ordering
class Quantity:
    """A fixed-point number with a suffix, as in ``resource.Quantity``.

    Equal amounts compare and hash equal, whatever their suffix (``1000m == 1``). ``str`` gives the canonical form: no
    fraction is lost, the suffix is the largest that leaves a whole number, and the family (binary, decimal, exponent)
    is that of the text. Anything finer than a nano is rounded up, as in upstream.

    Raises:
        ValueError: the text is not a quantity.
    """

    __slots__ = ("_family", "value")

    def __init__(self, text: str | float | Decimal) -> None:
        shown = str(text)
        found = _FORM.fullmatch(shown) if len(shown) <= _LONGEST else None
        if not found:
            raise ValueError(
                f"{shown[:100]!r} is not a quantity: want a number and one of n u m k M G T P E Ki Mi Gi Ti Pi Ei"
            )
        number, suffix = Decimal(found["number"]), found["suffix"] or ""
        if suffix in _BINARY:
            self._family, value = "binary", _EXACT.multiply(number, _BINARY[suffix])
        elif suffix in _DECIMAL:
            self._family, value = "decimal", number.scaleb(_DECIMAL[suffix], _EXACT)
        else:
            self._family, value = "exponent", number.scaleb(int(suffix[1:]), _EXACT)
        exponent = value.as_tuple().exponent
        finer = isinstance(exponent, int) and exponent < -9
        self.value: Decimal = value.quantize(_NANO, context=_EXACT) if finer else value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.value == other.value

    def __lt__(self, other: Quantity) -> bool:
        return self.value < other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __add__(self, other: Quantity) -> Quantity:
        """The sum. Its suffix belongs to the family of the first amount that is not 0."""
        return self._made(_EXACT.add(self.value, other.value), other)

    def __sub__(self, other: Quantity) -> Quantity:
        """The difference. Its suffix belongs to the family of the first amount that is not 0."""
        return self._made(_EXACT.subtract(self.value, other.value), other)

    def _made(self, value: Decimal, other: Quantity) -> Quantity:
        made = Quantity.__new__(Quantity)
        made._family, made.value = self._family if self.value else other._family, value
        return made

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
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
