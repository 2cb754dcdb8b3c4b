"""Printers: the columns of a resource's tables, and the rows for objects."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any

import msgspec

from setpoint.apiserver.responses.printers.cells import Cells, Wire, age, name
from setpoint.models import schemas


class Column(msgspec.Struct, frozen=True):
    """One column of a table. It is always shown if its ``priority`` is 0, otherwise only in wide output.

    The description is ``about``, or the OpenAPI description of the field that ``field`` names, such as
    ``core.v1.PodStatus.podIP``.
    """

    name: str
    field: str = ""
    type: str = "string"
    format: str = ""
    priority: int = 0
    about: str = ""

    def definition(self) -> dict[str, Any]:
        """The column as a ``meta.k8s.io/v1`` TableColumnDefinition."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.about or description(self.field),
            "priority": self.priority,
        }


_META = "io.k8s.apimachinery.pkg.apis.meta.v1."


@cache
def description(field: str) -> str:
    """The OpenAPI description of a field (``core.v1.PodStatus.podIP``); empty for an unknown field."""
    definition, _, attribute = field.rpartition(".")
    full_name = (
        _META + definition.removeprefix("meta.v1.") if definition.startswith("meta.v1.") else f"io.k8s.api.{definition}"
    )
    properties = schemas().get(full_name, {}).get("properties", {})
    return str(properties.get(attribute, {}).get("description", ""))


NAME = Column("Name", "meta.v1.ObjectMeta.name", format="name")
AGE = Column("Age", "meta.v1.ObjectMeta.creationTimestamp")
CREATED_AT = Column("Created At", "meta.v1.ObjectMeta.creationTimestamp", type="date")
CONTAINERS = Column("Containers", priority=1, about="Names of each container in the template.")
IMAGES = Column("Images", priority=1, about="Images referenced by each container in the template.")


class Printer(msgspec.Struct, frozen=True):
    """The columns of a resource's tables, the function that returns the cells of an object's row, and
    the function that returns the row's conditions (``Completed``, for pods only).
    """

    columns: tuple[Column, ...]
    cells: Cells
    conditions: Callable[[Wire], list[dict[str, str]]] | None = None
    marked: Callable[[list[Wire]], str] | None = None
    """The name of the object that a list marks as the default, given all its objects."""


def counting(title: str, count: Callable[[Wire], int], about: str) -> Printer:
    """A printer that shows the name, the result of ``count`` and the age."""

    def cells(obj: Wire, now: datetime) -> list[Any]:
        return [name(obj), count(obj), age(obj, now)]

    return Printer((NAME, Column(title, type="integer", about=about), AGE), cells)


def _created_at(obj: Wire, now: datetime) -> list[Any]:
    return [name(obj), obj.get("metadata", {}).get("creationTimestamp")]


def _name_and_age(obj: Wire, now: datetime) -> list[Any]:
    return [name(obj), age(obj, now)]


DEFAULT = Printer((NAME, CREATED_AT), _created_at)
"""The printer for built-in kinds without a printer of their own; as in upstream, it prints the time of
creation, not the age.
"""

NAME_AND_AGE = Printer((NAME, AGE), _name_and_age)
