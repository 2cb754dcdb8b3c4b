"""Conversions between two versions of a kind, declared as data where possible.

```python
class Mykind(CustomResource, group="grp.example.com", version="v1alpha2", conversions=(
    Conversion(MykindV1alpha1).rename("spec.numpods", "spec.replicas").add("spec.template"),
)): ...
```

reads as a changelog: from v1alpha1 to v1alpha2 ``numpods`` became ``replicas``, and ``template`` is new. The conversion
in the other direction follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from setpoint.crd.field_path import MISSING, Steps, is_many, parse_place

JSON = Any
Change = Callable[[Any], Any]
Whole = Callable[[dict[str, Any], dict[str, Any]], None]


class Move(Struct, frozen=True):
    """A field that is at ``old`` in the older version and at ``new`` in the newer one; a path is None if its version
    does not have the field.
    """

    old: Steps | None
    new: Steps | None
    up: Change | None = None
    down: Change | None = None
    default: Any = MISSING
    """The field's default in the only version that has it."""


class Function(Struct, frozen=True):
    """A pair of functions that convert several fields together."""

    up: Whole
    down: Whole
    old: tuple[Steps, ...]
    new: tuple[Steps, ...]


class Conversion(Struct, frozen=True):
    """Converts objects of an ``older`` version to the version that lists this conversion, and back.

    Fields are named by their wire names: ``spec.replicas``, ``spec.ports[].number`` (in each item of a list),
    ``spec.limits.*.value`` (in each value of a map). In every method, ``old`` is a path in the older version and
    ``new`` a path in the newer one, whatever else the conversion moves. Fields that are the same in both versions need
    no declaration. Every other field must be declared, so none can be forgotten.

    *Guarantees*

    * No data is lost in either direction: values that a version can't hold are kept in an annotation of the object. The
      conversion back restores them, unless the field has been changed in between.
    * Metadata does not change, except for that annotation and for what a `function` does to labels and annotations.
    * Conversions work on plain JSON values, so fields that neither class declares stay in place.

    Every method returns a new Conversion, and raises ValueError if a path is invalid.
    """

    older: Any
    moves: tuple[Move, ...] = ()
    functions: tuple[Function, ...] = ()

    def rename(self, old: str, new: str) -> Conversion:
        """Declares that the field ``old``, with everything in it, has the path ``new`` in the newer
        version.
        """
        return self._with(Move(parse_place(old), parse_place(new)))

    def add(self, new: str, *, default: JSON = MISSING) -> Conversion:
        """Declares a field that only the newer version has. Objects converted from the older version get ``default``,
        if it is given.

        The default of the schema need not be repeated, unless the field is required.
        """
        return self._with(Move(None, parse_place(new), default=default))

    def drop(self, old: str, *, default: JSON = MISSING) -> Conversion:
        """Declares a field that only the older version has. Objects converted from the newer version get ``default``,
        if it is given.
        """
        return self._with(Move(parse_place(old), None, default=default))

    def change(self, old: str, new: str, *, up: Change, down: Change) -> Conversion:
        """Declares a field whose value is written differently but means the same; ``new`` may equal ``old``.

        ``up`` computes the newer value from the older one, and ``down`` the reverse; both take and return plain JSON
        values. They are not called for null, which stays null. If ``down(up(x))`` differs from ``x``, ``x`` is kept in
        the annotation.
        """
        return self._with(Move(parse_place(old), parse_place(new), up, down))

    def scale(self, old: str, new: str, *, by: int | Fraction) -> Conversion:
        """Declares a change to the field's unit: the newer value is ``by`` times the older one (1000 from seconds to
        milliseconds).

        Integers stay integers: a result that is not a whole number is rounded, and the original value is kept in the
        annotation.

        Raises:
            ValueError: ``by`` is 0, or a path is invalid.
        """
        factor = Fraction(by)
        if not factor:
            raise ValueError(f"{new}: by=0 would lose every value")
        return self.change(
            old, new, up=lambda value: _times(value, factor), down=lambda value: _times(value, 1 / factor)
        )

    def function(self, *, up: Whole, down: Whole, old: Sequence[str], new: Sequence[str]) -> Conversion:
        """Declares fields that a pair of functions converts together. ``old`` and ``new`` name the affected fields of
        each version.

        ``up(source, target)`` reads the older document and completes the newer one, in which all other fields are
        already converted and the fields ``old`` are removed; ``down`` does the same in the other direction. Both
        arguments are plain JSON documents that the function may change. In the metadata it may change only labels and
        annotations, as in API servers.
        """
        places = tuple(map(parse_place, old)), tuple(map(parse_place, new))
        return replace(self, functions=(*self.functions, Function(up, down, *places)))

    def _with(self, move: Move) -> Conversion:
        if (
            move.old is not None
            and move.new is not None
            and [*filter(is_many, move.old)] != [*filter(is_many, move.new)]
        ):
            places = f"{'.'.join(move.old)} and {'.'.join(move.new)}"
            raise ValueError(f"{places} are inside different numbers of lists or maps: use function()")
        return replace(self, moves=(*self.moves, move))


def _times(value: JSON, factor: Fraction) -> JSON:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r} is not a number")
    exact = Fraction(value) * factor
    return float(exact) if isinstance(value, float) and exact.denominator != 1 else round(exact)
