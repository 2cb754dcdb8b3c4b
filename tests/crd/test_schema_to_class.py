"""Each value that a schema of ours accepts can be read by the class: an API server may hold it.

An API server's own checks are the model (`setpoint.schema.validate`, compared with the real ones in
``tests/schema/test_observed.py``). Lists in fields of strings with a format are left out: API servers accept them
there, because they skip the check of the type.
"""

from __future__ import annotations

import enum
import uuid
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import setpoint as sp
from setpoint.crd.schema import schema_of_type
from setpoint.meta import DecodeError, Duration, MicroTime, Quantity, from_wire, to_wire
from setpoint.meta.json_values import whole_numbers
from setpoint.schema import prune, structural, validate


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Number(enum.IntEnum):
    ONE = 1
    TWO = 2


class Digit(enum.Enum):
    ONE = "1"
    NONE = ""


class Record(sp.Model):
    a: int = 0


TYPES: list[Any] = [
    bool,
    int,
    float,
    str,
    bytes,
    datetime,
    MicroTime,
    date,
    uuid.UUID,
    Duration,
    Quantity,
    Color,
    Number,
    Digit,
    Literal["a", "1h"],
    Literal[1, 2],
    int | str,
    int | float,
    int | None,
    datetime | None,
    list[str],
    list[int],
    list[Quantity],
    set[str],
    set[int],
    set[float],
    set[bytes],
    set[datetime],
    set[Duration],
    set[uuid.UUID],
    set[Color],
    tuple[int, ...],
    dict[str, int],
    dict[str, Quantity],
    dict[str, datetime],
    dict[str, Any],
    Any,
    Record,
    list[Record],
    dict[str, list[Record]],
]
ODD: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    1.5,
    1.0,
    -0.0,
    2**31,
    2**63 - 1,
    -(2**63),
    2**63,
    1e19,
    1e30,
    1e308,
    5e-324,
    "",
    "a",
    "A",
    " ",
    "0",
    "1",
    "-1",
    "1.0",
    "1e3",
    "true",
    "null",
    "x" * 300,
    "ü",
    "\u0000",
    "\ufffd",
    "2020-01-01",
    "2020-01-01T00:00:00Z",
    "2020-01-01t00:00:00z",
    "2020-01-01T00:00:00z",
    "2020-01-01T23:59:59.123456789Z",
    "2020-01-01T23:59:59,5Z",
    "2020-01-01T23:59:59x5Z",
    "2020-01-01T00:00:00+24:00",
    "2020-01-01T00:00:00+99:99",
    "2020-01-01T00:00:00-00:00",
    "0000-01-01",
    "0000-01-01T00:00:00Z",
    "9999-12-31",
    "9999-12-31T23:59:59-01:00",
    "0001-01-01T00:00:00+01:00",
    "2020-01-01T00:00:00ZtX",
    "2020-02-30",
    "10000-01-01",
    "2020-01-01T24:00:00Z",
    "2020-01-01T23:59:60Z",
    "2020-01-01T00:00:00.1Z",
    "2020-01-01T00:00:00.123456Z",
    "1h",
    "1d",
    "2w",
    "1 hour",
    "1H",
    "PT1H",
    "P1D",
    "1h30m",
    "1.5h",
    "-1h",
    "+1h",
    "1h 30m",
    "3000000h",
    "2562047h47m16.854775807s",
    "1 parsec 2h",
    "1e3s",
    "1us",
    "1µs",
    "1μs",
    "1 day",
    "1ns",
    "0.1ns",
    "9223372036854775808ns",
    "99999999999999999999h",
    "YQ==",
    "YQ",
    "YQ===",
    "YR==",
    "Y-_=",
    "YQ==\n",
    "YWJj",
    "=",
    "  ",
    "ＹＱ==",
    "123e4567-e89b-12d3-a456-426614174000",
    "123E4567E89B12D3A456426614174000",
    "123e4567-e89b12d3-a456-426614174000",
    "{123e4567-e89b-12d3-a456-426614174000}",
    "urn:uuid:123e4567-e89b-12d3-a456-426614174000",
    "00000000-0000-0000-0000-000000000000",
    "1Gi",
    "1000m",
    "1e1000",
    "1e99",
    "1n",
    "0.1n",
    "Ki",
    "n",
    "e3",
    "+1",
    "5.",
    ".",
    " 1",
    "1 ",
    "1_0",
    "１",
    "1e-99",
    "-1e99",
    "9" * 400,
    "9" * 2000,
    "0." + "1" * 2000,
    "1E",
    "1Ei",
    "1e",
    "1ki",
    "-",
    "+",
    "1.2.3",
    "e-12",
    "Ei",
    "1e3.5",
    "10000000000000000000000Ei",
]


def odd_values() -> Iterator[Any]:
    yield from ODD
    for value in ODD:
        yield [value]
        yield [value, value]
        yield {"k": value}
        yield {"a": value}
        yield [{"a": value}]
        yield {"k": [{"a": value}]}
    yield from ([], {}, [1, 1.0], ["1", "1.0"], ["1h", "60m"], ["YQ==", "YR=="], ["1000m", "1"])
    yield ["2020-01-01T00:00:00Z", "2020-01-01T00:00:00.0Z"]
    yield ["123e4567-e89b-12d3-a456-426614174000", "123E4567-e89b-12d3-a456-426614174000"]


def class_of(annotation: Any) -> type[sp.Model]:
    members = {"__annotations__": {"f": annotation}, "__module__": __name__}
    result: type[sp.Model] = type(sp.Model)("Holder", (sp.Model,), members)
    return result


def schema_for(annotation: Any) -> Any:
    return structural.load({"type": "object", "properties": {"f": schema_of_type(annotation)}})


def stored(schema: Any, value: Any) -> dict[str, Any] | None:
    """The object with the field ``value`` as an API server stores it, or None if it refuses the value."""
    document = {"f": value}
    whole_numbers(document)
    if validate(schema, document):
        return None
    prune(schema, document)
    return document


@pytest.mark.parametrize("annotation", TYPES, ids=str)
def test_a_class_reads_what_its_schema_accepts(annotation: Any) -> None:
    kind, schema = class_of(annotation), schema_for(annotation)
    unreadable = []
    for value in odd_values():
        document = stored(schema, value)
        try:
            if document is not None:
                from_wire(kind, document)
        except DecodeError as problem:
            unreadable.append((value, str(problem)))
    assert unreadable == []


def texts(annotation: Any) -> st.SearchStrategy[Any]:
    """Texts near the forms that the field's schema accepts."""
    schema = schema_of_type(annotation)
    forms = {
        "date-time": r"[0-9]{4}-(0[1-9]|1[0-2])-[0-3][0-9][Tt][0-2][0-9]:[0-6][0-9]:[0-6][0-9](.[0-9]{1,12})?"
        r"(Z|z|[+-][0-9]{2}:[0-9]{2})([tT]x)?",
        "date": r"[0-9]{4}-[01][0-9]-[0-3][0-9]",
        "uuid": r"[0-9a-fA-F]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}",
        "byte": r"([A-Za-z0-9+/]{4}){0,3}([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?",
        "duration": r"[-+]?([0-9]{1,9}(\.[0-9]{0,12})?(ns|us|ms|s|m|h|d)){1,3}",
    }
    pattern = forms.get(schema.get("format", "")) or schema["pattern"]
    return st.from_regex(pattern, fullmatch=True)


@pytest.mark.parametrize("annotation", [datetime, MicroTime, date, uuid.UUID, bytes, Duration, Quantity])
def test_a_class_reads_every_text_that_its_schema_accepts(annotation: Any) -> None:
    kind, schema = class_of(annotation), schema_for(annotation)

    @settings(max_examples=150, deadline=None)
    @given(texts(annotation))
    def check(text: str) -> None:
        document = stored(schema, text)
        if document is not None:
            from_wire(kind, document)

    check()


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (datetime, "2020-01-01T23:59:59x5Z", "2020-01-01T23:59:59.500000Z"),
        (datetime, "2020-01-01T00:00:00+99:99", "2019-12-27T19:21:00Z"),
        (datetime, "0000-06-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        (date, "0000-02-03", "0001-02-03"),
        (uuid.UUID, "123e4567-e89b12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
        (Duration, "3000000h", "2562047h47m16.854775s"),
        (int, 1.0, 1),
    ],
)
def test_odd_values_have_the_nearest_meaning(annotation: Any, text: Any, value: Any) -> None:
    assert to_wire(from_wire(class_of(annotation), {"f": text})) == {"f": value}


@pytest.mark.parametrize("text", ["1d", "2w", "1 hour", "1H", "PT1H", "1e3s", "h", ""])
def test_a_definition_refuses_durations_that_go_does_not_read(text: str) -> None:
    assert stored(schema_for(Duration), text) is None
