"""Names, keys, quantities, conditions: the small vocabulary."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.meta import (
    Condition,
    GroupVersion,
    MicroTime,
    ObjectKey,
    Quantity,
    Resource,
    format_micro_time,
    is_condition_true,
    parse_time,
    remove_condition,
    set_condition,
)
from setpoint.meta.names import (
    dns1035_label,
    dns1123_label,
    dns1123_subdomain,
    label_value,
    path_segment,
    qualified_name,
)


def test_keys_know_their_parts() -> None:
    key = ObjectKey.of("ns", "name")
    assert (key, key.namespace, key.name) == ("ns/name", "ns", "name")
    assert ObjectKey.of("", "node") == "node"
    assert (ObjectKey("node").namespace, ObjectKey("node").name) == ("", "node")
    assert {key: 1}["ns/name"] == 1


@pytest.mark.parametrize("name", ["a", "a-b", "0a", "a" * 63])
def test_labels_of_rfc_1123(name: str) -> None:
    assert dns1123_label(name) == []


@pytest.mark.parametrize("name", ["", "A", "-a", "a-", "a.b", "a_b", "a" * 64, "ä"])
def test_no_labels_of_rfc_1123(name: str) -> None:
    assert dns1123_label(name)


def test_other_names() -> None:
    assert dns1123_subdomain("a.b-c.d") == []
    assert dns1123_subdomain("a..b")
    assert dns1123_subdomain("a" * 254)
    assert dns1035_label("0a")
    assert qualified_name("example.com/My_Name.1") == []
    assert qualified_name("a/b/c")
    assert qualified_name("/name")
    assert qualified_name("example.com/")
    assert label_value("") == []
    assert label_value("a b")
    assert path_segment("..")
    assert path_segment("a/b")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1", "1"), ("1000m", "1"), ("1500m", "1500m"), ("0.5", "500m"), ("1024Ki", "1Mi"), ("1.5Gi", "1536Mi"),
        ("0.1Ki", "102400m"), ("100M", "100M"), ("1e3", "1e3"), ("0", "0"), ("-1.5", "-1500m"), ("1000k", "1M"),
        ("12E", "12E"), ("1n", "1n"), ("0.1n", "1n"), ("512", "512"), ("+5", "+5"), ("5.", "5."), (".5", "500m"),
    ],
)  # fmt: skip
def test_quantities_have_a_canonical_form(text: str, canonical: str) -> None:
    assert str(Quantity(text)) == canonical


@pytest.mark.parametrize("text", ["", "1x", "Ei", "1 Gi", "1.2.3", "1e", "--1", "٣", "１m"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        Quantity(text)


@given(st.decimals(min_value=-(10**9), max_value=10**9, places=3))
def test_the_canonical_form_keeps_the_amount(amount: Decimal) -> None:
    quantity = Quantity(amount)
    assert Quantity(str(quantity)) == quantity
    assert quantity.value == amount


def test_a_transition_time_moves_only_with_the_status() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    later = start + timedelta(hours=1)
    conditions: list[Condition] = []
    assert set_condition(conditions, Condition(type="Ready", status="False", reason="No"), now=start)
    assert not set_condition(conditions, Condition(type="Ready", status="False", reason="No"), now=later)
    assert set_condition(conditions, Condition(type="Ready", status="False", reason="Still"), now=later)
    assert conditions[0].last_transition_time == start
    assert set_condition(conditions, Condition(type="Ready", status="True", reason="Yes"), now=later)
    assert conditions[0].last_transition_time == later
    assert is_condition_true(conditions, "Ready")
    assert remove_condition(conditions, "Ready")
    assert not remove_condition(conditions, "Ready")


def test_resources_know_their_paths() -> None:
    pods = Resource(group="", version="v1", kind="Pod", plural="pods")
    assert pods.path(namespace="a", name="b", subresource="status") == "/api/v1/namespaces/a/pods/b/status"
    assert pods.path() == "/api/v1/pods"
    assert {pods: 1}[Resource(group="", version="v1", kind="Pod", plural="pods")] == 1
    crds = Resource(group="x.io", version="v1", kind="Crd", plural="crds", namespaced=False)
    assert crds.path(namespace="ignored", name="b") == "/apis/x.io/v1/crds/b"
    assert GroupVersion.parse("apps/v1") == ("apps", "v1")
    assert GroupVersion.parse("v1") == ("", "v1")
    with pytest.raises(ValueError, match="unexpected apiVersion"):
        GroupVersion.parse("a/b/c")


@pytest.mark.parametrize("fraction", ["", ".5", ",5", ".500000", ".5000009"])
@pytest.mark.parametrize(("offset", "hours"), [("Z", 0), ("+01:00", 1), ("-05:30", -5.5)])
def test_times_are_read_in_the_form_of_rfc_3339(fraction: str, offset: str, hours: float) -> None:
    moment = datetime(2026, 1, 31, 12, 0, 7, 500_000 if fraction else 0, timezone(timedelta(hours=hours)))
    assert parse_time(f"2026-01-31T12:00:07{fraction}{offset}") == moment


DATES = ["2026-01-31", "20260131", "2026-W05-6", "2026W056", "2026-W05", "2026W05"]
TIMES = ["12:00:00", "120000", "12:00", "1200", "12", "12:00:00.5", "120000.5"]
OFFSETS = ["Z", "+01:00", "", "z", "+01", "+0100", "+01:00:30", "+010030", "+01:00:30.5", "-01:00:30.000005"]
FORMS = [f"{date}{letter}{time}{zone}" for date in DATES for letter in "Tt _" for time in TIMES for zone in OFFSETS]


def test_other_forms_of_iso_8601_are_refused_as_by_go() -> None:
    taken = set()
    for text in [*FORMS, *DATES]:
        with contextlib.suppress(ValueError):
            parse_time(text)
            taken.add(text)
    assert taken == {f"2026-01-31T{time}{zone}" for time in ("12:00:00", "12:00:00.5") for zone in ("Z", "+01:00")}


@pytest.mark.parametrize("time", ["12:00:00", "12:00:00.Z", "12:00:00,+01:00", "12:00:00+01:61", "12:00:00-01:99"])
def test_fractions_without_digits_and_offsets_of_too_many_minutes_are_refused_as_by_go(time: str) -> None:
    with pytest.raises(ValueError, match="not an RFC 3339 time with an offset"):
        parse_time(f"2026-01-31T{time}")


@pytest.mark.parametrize("time", ["24:00:00Z", "24:00:00+01:00", "24:00:00.0Z"])
def test_a_day_has_hours_up_to_23(time: str) -> None:
    with pytest.raises(ValueError, match=r"RFC 3339|hour must be in 0\.\.23"):
        parse_time(f"2026-01-31T{time}")


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"])
def test_times_are_in_the_years_that_there_are(text: str) -> None:
    assert parse_time(f"{text[:19]}Z").year in (1, 9999)
    with pytest.raises(ValueError, match="is not in the years 1 to 9999 of UTC"):
        parse_time(text)


@pytest.mark.parametrize("year", [1, 1969, 2026, 2400, 9999])
def test_micro_times_keep_their_microseconds_in_any_year(year: int) -> None:
    moment = datetime(year, 6, 1, 12, 0, 0, 123_457, timezone(timedelta(hours=5, minutes=45)))
    assert MicroTime.of(moment) == moment
    assert MicroTime.of(moment.replace(tzinfo=None)) == moment.replace(tzinfo=UTC)
    assert format_micro_time(MicroTime.of(moment)) == f"{year:04}-06-01T06:15:00.123457Z"


@pytest.mark.parametrize(
    ("one", "other", "total", "left"),
    [
        ("1", "500m", "1500m", "500m"),
        ("1Gi", "512Mi", "1536Mi", "512Mi"),
        ("0", "1Gi", "1Gi", "-1Gi"),
        ("2k", "0", "2k", "2k"),
        ("1e3", "1", "1001", "999"),
    ],
)
def test_quantities_are_added_and_subtracted_exactly(one: str, other: str, total: str, left: str) -> None:
    assert str(Quantity(one) + Quantity(other)) == total
    assert str(Quantity(one) - Quantity(other)) == left


@pytest.mark.parametrize("operation", [operator.lt, operator.ge, operator.add, operator.sub])
def test_a_quantity_and_a_text_have_no_order_and_no_sum(operation: Callable[[Any, Any], Any]) -> None:
    for left, right in ((Quantity("1G"), "2G"), ("2G", Quantity("1G")), (Quantity("1"), 1)):
        with pytest.raises(TypeError):
            operation(left, right)
