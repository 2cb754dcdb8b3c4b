"""State: the object that a program opens for its reconciles, and closes when they have ended."""

from __future__ import annotations

from typing import Any, Final, TypeVar

T = TypeVar("T")
_NOTHING: Final = object()


class ProgramState:
    """The object that a program's lifespan yields. It is available only while controllers run."""

    __slots__ = ("_value",)

    def __init__(self, value: Any = _NOTHING) -> None:
        self._value = value

    def open(self, value: Any) -> None:
        """Makes ``value`` available to reconciles."""
        self._value = value

    def close(self) -> None:
        """Makes the value unavailable to reconciles."""
        self._value = _NOTHING

    def of(self, kind: type[T]) -> T:
        """The object, which is an instance of ``kind``.

        Raises:
            LookupError: there is no object.
            TypeError: the object is of another class.
        """
        value = self._value
        if isinstance(value, kind):
            return value
        if value is _NOTHING:
            raise LookupError(
                f"there is no {kind.__name__} for reconciles: give the program a lifespan that yields one, "
                "as sp.main(..., lifespan=...), sp.Manager(..., lifespan=...) or testing.cluster(..., lifespan=...)"
            )
        raise TypeError(f"the program's lifespan yields a {type(value).__name__}, not a {kind.__name__}")
