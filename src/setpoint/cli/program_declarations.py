"""Finds the declarations in a user's program, among its named objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from setpoint.apps.error_reports import UsageError
from setpoint.cli.program_arguments import Parts
from setpoint.cli.program_loader import Loaded, SourceError
from setpoint.cli.program_options import with_values
from setpoint.controller import Controller, watched_kinds
from setpoint.crd import CustomResource, Versions
from setpoint.operator import Operator
from setpoint.webhook import Admission, Converter, with_conversions


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


def declared_by(values: Iterable[Any], options: Sequence[str] = ()) -> Declared:
    """The declarations among ``values``; other objects are ignored. ``options`` are those of the Operators among them,
    as `with_values` takes them.

    Raises:
        SourceError: an option of an Operator has no default, and none is given.
        UsageError: an option is invalid, or there is no Operator.
    """
    unique: list[Any] = []
    for value in _expanded(values, options):
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


def _expanded(values: Iterable[Any], options: Sequence[str]) -> Iterator[Any]:
    operators = 0
    for value in values:
        yield value
        if isinstance(value, Operator):
            operators += 1
            yield from (*_controllers_of(value, options), *value.admissions)
    if options and not operators:
        raise UsageError(f"--option {options[0]}: the program has no Operator, and only an Operator has options")


def _controllers_of(operator: Operator[Any], options: Sequence[str]) -> Sequence[Controller[Any]]:
    try:
        if not options:
            return operator.controllers_for()
        static = () if callable(operator.controllers) else operator.controllers_for()
        return with_values(Parts("", operator, static), options)[0].controllers
    except TypeError as problem:
        raise SourceError(f"{problem}: add --option NAME=VALUE") from None


def served_by(program: Loaded, options: Sequence[str] = ()) -> list[Admission[Any] | Converter]:
    """The admissions of a program, and the conversions of every kind that it names, watches or admits. ``options`` are
    as for `declared_by`.

    Raises:
        SourceError: the program has neither admissions nor conversions, or an option has no default.
        UsageError: an option is invalid.
        DefinitionError: the conversions of a kind don't form a single chain.
    """
    declared = declared_by(program.values, options)
    served = with_conversions((*declared.admissions, *declared.conversions), declared.all_kinds)
    if not served:
        raise SourceError(
            f"{program.source} defines nothing to serve: it needs an Admission, or a class with conversions, in a "
            "global name, such as admission = Admission(Mykind).validates(check)"
        )
    return served
