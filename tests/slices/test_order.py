"""Many texts are sorted as `sorted` does it, in slices."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.slices.test_slicer import always, slices

from setpoint.slices import Slicer, in_order

pytest.importorskip("greenlet", reason="without it, work is done in one slice")


@given(st.lists(st.text()))
def test_a_few_texts_are_in_the_order_of_sorted(texts: list[str]) -> None:
    assert in_order(texts) == sorted(texts)


@pytest.mark.parametrize("count", [4096, 4097, 8192, 12_289, 50_000])
def test_many_texts_are_in_the_order_of_sorted_and_sorted_in_slices(count: int) -> None:
    texts = [f"k{n % 7000}" for n in range(count)]
    random.Random(count).shuffle(texts)
    work = Slicer().start(lambda: in_order(texts), always)
    assert slices(work) > count // 4096 - 1
    assert work.result == sorted(texts)


def test_what_is_sorted_stays_as_it_is() -> None:
    texts = [str(n) for n in range(10_000)]
    before = list(texts)
    in_order(texts)
    assert texts == before
