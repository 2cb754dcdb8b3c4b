"""Partitions divide all keys, evenly and in every process alike."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setpoint.manager.key_partition import WHOLE, Partition
from setpoint.meta import ObjectKey

names = st.text(min_size=1, max_size=40)


@given(st.integers(1, 64), names, names)
def test_every_key_is_in_exactly_one_partition(count: int, controller: str, key: str) -> None:
    owners = [index for index in range(count) if Partition(index, count).owns(controller, ObjectKey(key))]

    assert owners == [Partition(0, count).of(controller, key)]


def test_the_only_partition_has_every_key() -> None:
    assert WHOLE.owns("any", ObjectKey("default/any"))


@pytest.mark.parametrize("count", [2, 3, 4, 7, 8, 16])
@pytest.mark.parametrize(
    "pattern", ["default/sample-{}", "ns-{}/same", "default/{:04x}", "team-{:03}/app", "default/web-{}-0", "a/{0}{0}"]
)
def test_names_that_differ_in_a_number_are_spread_evenly(count: int, pattern: str) -> None:
    counter = Counter(Partition(0, count).of("configmap", pattern.format(number)) for number in range(16_000))

    assert len(counter) == count
    assert max(counter.values()) < 1.15 * 16_000 / count
    assert min(counter.values()) > 0.85 * 16_000 / count


def test_the_partition_of_a_key_is_the_same_in_every_process_and_version() -> None:
    places = [Partition(0, 5).of("mykind", f"default/sample-{number}") for number in range(8)]

    assert places == [1, 1, 3, 3, 0, 2, 2, 4]
