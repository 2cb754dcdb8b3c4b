"""Times in the forms that Go's ``time.Parse`` reads with the layout of RFC 3339."""

from __future__ import annotations

import pytest

from setpoint.meta.time_format import format_time, nearest_time, parse_time


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2020-01-01T1:00:00Z", "2020-01-01T01:00:00Z"),
        ("2020-01-01T23:59:59,123Z", "2020-01-01T23:59:59Z"),
        ("2020-01-01T00:00:00.1234567890123Z", "2020-01-01T00:00:00Z"),
        ("2020-01-01T00:00:00+24:00", "2019-12-31T00:00:00Z"),
        ("2020-01-01T00:00:00-23:60", "2020-01-02T00:00:00Z"),
        ("2020-01-01T0:00:00.5+01:60", "2019-12-31T22:00:00Z"),
        ("2020-01-01T00:00:00-00:00", "2020-01-01T00:00:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59Z"),
    ],
)
def test_times_are_those_of_go(text: str, utc: str) -> None:
    assert format_time(parse_time(text)) == utc


@pytest.mark.parametrize(
    "text",
    [
        "2020-01-01t00:00:00Z",
        "2020-01-01T00:00:00z",
        "2020-01-01T00:00:00 Z",
        "9999-12-31T23:59:549Z",
        "2020-01-01T24:00:00Z",
        "2020-01-01T23:59:60Z",
        "2020-01-01T00:00:00.Z",
        "2020-01-01T00:00:00+25:00",
        "2020-01-01T00:00:00+0100",
        "2020-01-01T00:00Z",
        "2020-01-01",
        "2020-02-30T00:00:00Z",
        "2020-W01-1T00:00:00Z",
        "20200101T000000Z",
        "٢020-01-01T00:00:00Z",
        "",
    ],
)
def test_other_forms_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_time(text)


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("2020-01-01t00:00:00z", "2020-01-01T00:00:00.000000Z"),
        ("0000-02-29T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
        ("0001-01-01T00:00:00+99:00", "0001-01-01T00:00:00.000000Z"),
        ("9999-12-31T00:00:00-99:00", "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_times_that_only_servers_accept_are_the_nearest(text: str, nearest: str) -> None:
    assert nearest_time(text) == nearest


@pytest.mark.parametrize(
    "text", ["2020-02-30T00:00:00Z", "9999-12-31T24:00:00Z", "0000-13-01T00:00:00Z", "2020-01-01T00:00:60z", "soon"]
)
def test_what_is_not_a_time_does_not_become_one(text: str) -> None:
    assert nearest_time(text) == text
