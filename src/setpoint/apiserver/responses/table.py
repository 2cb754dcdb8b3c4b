"""Tables of objects (``meta.k8s.io/v1`` Table), which ``kubectl get`` prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal

import msgspec

from setpoint.apiserver.responses.printers import printer_of
from setpoint.apiserver.responses.printers.cells import Wire, name, since
from setpoint.apiserver.responses.printers.core import SCALE, SCALE_OF_CUSTOM
from setpoint.apiserver.responses.printers.definitions import DEFINITIONS
from setpoint.apiserver.responses.printers.json_path import compile_path
from setpoint.apiserver.responses.printers.printer import DEFAULT, NAME, Column, Printer, description
from setpoint.meta import Resource

Include = Literal["None", "Metadata", "Object"]
API_VERSION: Final = "meta.k8s.io/v1"
_NO_ROWS: Final = (DEFAULT, DEFINITIONS)
"""The printers of upstream that write null, not an empty list, if there are no objects."""
_AGE_OF_CUSTOM: Final = {
    "name": "Age",
    "type": "date",
    "jsonPath": ".metadata.creationTimestamp",
}


def table(
    resource: Resource,
    objects: Iterable[Wire],
    *,
    columns: Sequence[Mapping[str, Any]] | None = None,
    include: Include = "Metadata",
    now: datetime,
    metadata: Mapping[str, Any] | None = None,
    headers: bool = True,
    subresource: str = "",
    whole: bool = False,
) -> dict[str, Any]:
    """A Table of ``objects``, which are plain JSON values in ``resource``'s version.

    ``columns`` are the ``additionalPrinterColumns`` of a custom resource's version. If they are empty, the table shows
    the age; None means that the resource is built in and printed as upstream prints it. ``include`` says how much of
    the object each row contains. ``metadata`` is that of the list (``resourceVersion``, ``continue``,
    ``remainingItemCount``). ``whole``: the objects are a list, in which a default is marked. Without ``headers`` there
    are no column definitions: only the first event of a watch has them. Ages are relative to ``now``.

    Raises:
        JsonPathError: a path in ``columns`` can't be parsed.
    """
    printer = _printer(resource, columns, subresource)
    listed = [*objects]
    rows = [_row(printer, obj, include, now) for obj in listed]
    if whole and printer.marked is not None and (default := printer.marked(listed)):
        for row, obj in zip(rows, listed, strict=True):
            row["cells"][0] += " (default)" if name(obj) == default else ""
    return {
        "kind": "Table",
        "apiVersion": API_VERSION,
        "metadata": dict(metadata or {}),
        "columnDefinitions": [column.definition() for column in printer.columns] if headers else None,
        "rows": rows if rows or printer not in _NO_ROWS else None,
    }


def _printer(resource: Resource, columns: Sequence[Mapping[str, Any]] | None, subresource: str) -> Printer:
    if subresource == "scale":
        return SCALE if columns is None else SCALE_OF_CUSTOM
    return printer_of(resource.group_resource) if columns is None else _custom(columns)


def _row(printer: Printer, obj: Wire, include: Include, now: datetime) -> dict[str, Any]:
    row: dict[str, Any] = {"cells": printer.cells(obj, now)}
    if printer.conditions is not None and (conditions := printer.conditions(obj)):
        row["conditions"] = conditions
    if include == "Object":
        row["object"] = obj
    elif include == "Metadata":
        row["object"] = {
            "kind": "PartialObjectMetadata",
            "apiVersion": API_VERSION,
            "metadata": obj.get("metadata", {}),
        }
    else:
        row["object"] = None
    return row


# -- custom resources -------------------------------------------------------------------------------------------------


def _custom(columns: Sequence[Mapping[str, Any]]) -> Printer:
    columns = columns or [{**_AGE_OF_CUSTOM, "description": description("meta.v1.ObjectMeta.creationTimestamp")}]
    parsed = [(compile_path(column["jsonPath"]), str(column.get("type", "string"))) for column in columns]

    def cells(obj: Wire, now: datetime) -> list[Any]:
        return [name(obj), *(_cell(path.first(obj), type_, now) for path, type_ in parsed)]

    return Printer((NAME, *map(_column, columns)), cells)


def _column(column: Mapping[str, Any]) -> Column:
    return Column(
        column["name"],
        type=column.get("type", "string"),
        format=column.get("format", ""),
        priority=column.get("priority", 0),
        about=column.get("description")
        or f"Custom resource definition column (in JSONPath format): {column['jsonPath']}",
    )


def _cell(value: Any, type_: str, now: datetime) -> Any:
    """The cell for a value; None if the value is not of the column's type. A string column accepts any value."""
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match type_:
        case "string":
            return value if isinstance(value, str) else _text(value)
        case "integer":
            return int(value) if is_number else None
        case "number":
            return float(value) if is_number else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "date" if isinstance(value, str):
            try:
                return since(value, now)
            except ValueError:
                return "<invalid>"
        case _:
            return None


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return msgspec.json.encode(value).decode()
