"""Finds the declarations in a user's program, among its named objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from setpoint.cli.program_loader import Loaded, SourceError
from setpoint.controller import Controller, watched_kinds
from setpoint.crd import CustomResource, Versions
from setpoint.operator import Operator
from setpoint.webhook import Admission, Converter, with_conversions

__all__ = ["Declared", "declared_by", "served_by"]


@dataclass(frozen=True)
class Declared:
    """The declarations that were found, each listed once, in the order in which they were found. ``kinds`` are the
    custom resource classes.
    """

    controllers: Sequence[Controller[Any]]
    admissions: Sequence[Admission[Any]]
    conversions: Sequence[Versions]
    kinds: Sequence[type[CustomResource]]

    @property
    def all_kinds(self) -> list[type[Any]]:
        """``kinds``, the kinds that the controllers watch, and the kinds of the admissions, each listed once."""
        admitted = (admission.kind for admission in self.admissions)
        return list(dict.fromkeys((*self.kinds, *watched_kinds(self.controllers), *admitted)))


def declared_by(values: Iterable[Any]) -> Declared:
    """The declarations among ``values``; other objects are ignored."""
    unique: list[Any] = []
    for value in _expanded(values):
        is_kind = isinstance(value, type) and issubclass(value, CustomResource) and hasattr(value, "definition")
        if (is_kind or isinstance(value, Controller | Admission | Versions)) and not any(
            other is value for other in unique
        ):
            unique.append(value)
    return Declared(
        [value for value in unique if isinstance(value, Controller)],
        [value for value in unique if isinstance(value, Admission)],
        [value for value in unique if isinstance(value, Versions)],
        [value for value in unique if isinstance(value, type)],
    )


def _expanded(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        yield value
        if isinstance(value, Operator):
            yield from (*value.controllers_for(), *value.admissions)


def served_by(program: Loaded) -> list[Admission[Any] | Converter]:
    """The admissions of a program, and the conversions of every kind that it names, watches or admits.

    Raises:
        SourceError: the program has neither admissions nor conversions.
        DefinitionError: the conversions of a kind don't form a single chain.
    """
    declared = declared_by(program.values)
    served = with_conversions((*declared.admissions, *declared.conversions), declared.all_kinds)
    if not served:
        raise SourceError(
            f"{program.source} defines nothing to serve: it needs an Admission, or a class with conversions, in a "
            "global name, such as admission = Admission(Mykind).validates(check)"
        )
    return served
