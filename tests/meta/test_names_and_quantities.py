"""Names, keys, quantities, conditions: the small vocabulary."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.meta import (
    Condition,
    GroupVersion,
    ObjectKey,
    Quantity,
    Resource,
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
        ("12E", "12E"), ("1n", "1n"), ("0.1n", "1n"), ("512", "512"), ("+5", "5"), ("5.", "5"), (".5", "500m"),
    ],
)  # fmt: skip
def test_quantities_have_a_canonical_form(text: str, canonical: str) -> None:
    assert str(Quantity(text)) == canonical


@pytest.mark.parametrize("text", ["", "1x", "Ki", "1 Gi", "1.2.3", "1e", "--1", "1\n", "1Gi\n", "٣", "１m"])
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


def test_times_need_an_offset() -> None:
    assert parse_time("2026-01-31T12:00:00Z") == datetime(2026, 1, 31, 12, tzinfo=UTC)
    with pytest.raises(ValueError, match="not an RFC 3339 time"):
        parse_time("2026-01-31T12:00:00")


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
