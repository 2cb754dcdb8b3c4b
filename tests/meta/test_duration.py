"""Durations as Go writes and reads them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import setpoint as sp
from setpoint.crd import CustomResource, crd_for
from setpoint.meta import DecodeError, Duration, Model, decode, encode
from setpoint.meta.duration import DURATION_PATTERN, parse_nanoseconds


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (timedelta(0), "0s"),
        (timedelta(hours=1), "1h0m0s"),
        (timedelta(minutes=90), "1h30m0s"),
        (timedelta(minutes=1, seconds=1.5), "1m1.5s"),
        (timedelta(days=30), "720h0m0s"),
        (timedelta(milliseconds=100), "100ms"),
        (timedelta(microseconds=1500), "1.5ms"),
        (timedelta(microseconds=1), "1µs"),
        (timedelta(seconds=-1), "-1s"),
        (timedelta(seconds=1, microseconds=1), "1.000001s"),
    ],
)
def test_it_is_written_as_go_writes_it(span: timedelta, text: str) -> None:
    assert str(Duration.of(span)) == text
    assert Duration.parse(text) == span


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("90m", timedelta(minutes=90)),
        ("1h15m30.918s", timedelta(hours=1, minutes=15, seconds=30.918)),
        ("+5s", timedelta(seconds=5)),
        ("0", timedelta(0)),
        ("-1.5h", -timedelta(minutes=90)),
        (".5s", timedelta(seconds=0.5)),
        ("1us", timedelta(microseconds=1)),
        ("1400ns", timedelta(microseconds=1)),
        ("1m1m", timedelta(minutes=2)),
    ],
)
def test_whatever_go_reads_is_read(text: str, span: timedelta) -> None:
    assert Duration.parse(text) == span


@pytest.mark.parametrize("text", ["", "1", "h", "1 h", "1d", "PT1H", "--1s", "1e3s", "1h-5m", "9999999h", "٣s", "."])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        Duration.parse(text)


@given(st.timedeltas(timedelta(days=-10_000), timedelta(days=10_000)))
def test_every_span_comes_back(span: timedelta) -> None:
    assert Duration.parse(str(Duration.of(span))) == span
    assert eval(repr(Duration.of(span))) == span


class BackupSpec(Model):
    every: Duration = Duration(hours=1)
    keep: Duration | None = None


DURATION = {"type": "string", "format": "duration", "pattern": DURATION_PATTERN}


class Backup(CustomResource, group="example.com", version="v1"):
    spec: BackupSpec = BackupSpec()


def test_a_field_is_a_timedelta_here_and_a_duration_there() -> None:
    backup = decode(Backup, b'{"metadata": {}, "spec": {"every": "90m"}}')
    assert backup.spec.every == timedelta(minutes=90)
    assert backup.spec.every / 2 == timedelta(minutes=45)
    assert b'"every":"1h30m0s"' in encode(backup)
    backup.spec.keep = sp.Duration.of(backup.spec.every * 2)
    assert b'"keep":"3h0m0s"' in encode(backup)
    with pytest.raises(DecodeError, match=r"'PT1H' is not a duration"):
        decode(Backup, b'{"metadata": {}, "spec": {"every": "PT1H"}}')
    properties = crd_for(Backup)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert properties["every"] == {**DURATION, "default": "1h0m0s"}
    assert properties["keep"] == DURATION


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("2562047h47m16.854775807s", 2**63 - 1),
        ("-2562047h47m16.854775808s", -(2**63)),
        ("9223372036854775807ns", 2**63 - 1),
        ("1.9ns", 1),
        ("-.5us", -500),
        ("1m1h", 3660 * 10**9),
    ],
)
def test_durations_have_as_many_nanoseconds_as_in_go(text: str, nanoseconds: int) -> None:
    assert parse_nanoseconds(text) == nanoseconds


@pytest.mark.parametrize(
    "text", ["2562047h47m16.854775808s", "9223372036854775808ns", "-9223372036854775809ns", "2562048h"]
)
def test_durations_beyond_64_bits_are_refused_as_by_go(text: str) -> None:
    with pytest.raises(ValueError, match="longer than a duration can be"):
        parse_nanoseconds(text)


@pytest.mark.parametrize("text", ["2562047h47m16.854775807s", "-2562047h47m16.854775808s"])
def test_the_greatest_durations_are_written_so_that_go_reads_them(text: str) -> None:
    assert parse_nanoseconds(str(Duration.parse(text)))
