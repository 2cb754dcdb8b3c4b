from __future__ import annotations

import gc
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from types import SimpleNamespace
from typing import Any
from weakref import ref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.apiserver.requests.type_errors import type_errors
from setpoint.patch import strategic
from setpoint.schema import ErrorType, FieldError, copy_json, json_equal, nested_over
from setpoint.schema.node import ANYTHING
from setpoint.slices import Slicer, Work, pace, slicer, spend

pytest.importorskip("greenlet", reason="without it, work is done in one slice")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=2), inner, max_size=5),
    max_leaves=30,
)


def slices(work: Work[Any]) -> int:
    count = 1
    while not work.go():
        count += 1
    return count


def always() -> bool:
    return True


def total(items: range) -> int:
    return sum(pace(items))


def test_work_on_many_items_is_done_in_slices_that_follow_from_their_number() -> None:
    work = Slicer().start(lambda: total(range(100_000)), always)
    count = slices(work)
    assert work.result == sum(range(100_000))
    assert 20 < count < 30
    assert count == slices(Slicer().start(lambda: total(range(100_000)), always))


def test_many_small_values_are_counted_as_one_large_one_is() -> None:
    work = Slicer().start(lambda: [list(pace((1, 2, 3))) for _ in range(50_000)], always)
    assert slices(work) > 20


def test_little_work_is_done_in_one_slice() -> None:
    assert slices(Slicer().start(lambda: total(range(1000)), always)) == 1


def test_bytes_for_c_code_count() -> None:
    def work() -> None:
        for _ in range(10):
            spend(1 << 20)

    assert slices(Slicer().start(work, always)) == 11


def test_c_code_that_takes_longer_than_a_slice_has_a_slice_of_its_own() -> None:
    def work() -> None:
        total(range(100))
        spend(1 << 22)
        total(range(100))

    assert slices(Slicer().start(work, always)) == 3


def test_work_that_must_not_pause_goes_on() -> None:
    assert slices(Slicer().start(lambda: total(range(100_000)), lambda: False)) == 1


def test_outside_of_a_slicer_items_are_themselves() -> None:
    items = list(range(100_000))
    assert pace(items) is items
    spend(1 << 30)


def test_what_work_raises_is_raised_where_it_was_begun() -> None:
    def work() -> None:
        total(range(100_000))
        raise KeyError("x")

    with pytest.raises(KeyError, match="x"):
        slices(Slicer().start(work, always))


def test_work_that_is_given_up_runs_its_finally_blocks_and_nothing_else() -> None:
    told = []

    def work() -> None:
        try:
            spend(1 << 20)
            told.append("on")
        finally:
            told.append("end")

    doing = Slicer().start(work, always)
    assert not doing.go()
    doing.close()
    assert told == ["end"]
    doing.close()


def test_between_two_slices_and_after_the_last_no_worker_counts_as_one_at_work() -> None:
    def refuse() -> None:
        spend(1 << 20)
        assert slicer._at_work
        raise KeyError("x")

    doing, given_up = (Slicer().start(refuse, always) for _ in range(2))
    for work in (doing, given_up):
        assert not work.go()
        assert not slicer._at_work
    given_up.close()
    with pytest.raises(KeyError):
        doing.go()
    assert not slicer._at_work


def test_works_take_turns_and_each_gives_its_own() -> None:
    slicer = Slicer()
    works = [slicer.start(lambda n=n: total(range(20_000 + n)), always) for n in range(6)]
    left = list(works)
    while left:
        left = [work for work in left if not work.go()]
    assert [work.result for work in works] == [sum(range(20_000 + n)) for n in range(6)]


def test_work_sees_and_sets_the_context_variables_of_its_task() -> None:
    seen: ContextVar[str] = ContextVar("seen")

    def work() -> str:
        before = seen.get()
        spend(1 << 20)
        seen.set("after")
        return before

    def task() -> tuple[str, str]:
        seen.set("before")
        doing = Slicer().start(work, always)
        while not doing.go():
            pass
        return doing.result, seen.get()

    assert copy_context().run(task) == ("before", "after")


@settings(max_examples=60, deadline=None)
@given(JSON, JSON)
def test_in_slices_the_same_comes_out(value: Any, other: Any) -> None:
    def both(work: Callable[[], Any]) -> tuple[Any, Any]:
        doing = Slicer().start(work, always)
        slices(doing)
        return work(), doing.result

    many = [value] * 2000
    plain, sliced = both(lambda: copy_json(many))
    assert plain == sliced == many
    for work in (lambda: json_equal(many, [other] * 2000), lambda: nested_over(many, 4)):
        plain, sliced = both(work)
        assert plain == sliced


class Server:
    """Anything large that work refers to."""

    def answer(self) -> Server:
        return self

    def refuse(self) -> None:
        raise ValueError(self)


@pytest.mark.parametrize("paused", [False, True])
def test_nothing_of_work_that_is_done_or_failed_is_kept(paused: bool) -> None:
    slicer = Slicer()
    known = ContextVar[Any]("known", default=None)

    def use(server: Server) -> None:
        def refuse() -> None:
            if paused:
                total(range(10_000))
            server.refuse()

        known.set(server)
        with pytest.raises(ValueError, match="Server"):
            slices(slicer.start(refuse, always))
        assert slices(slicer.start(server.answer, always)) == 1

    def used() -> ref[Server]:
        server = Server()
        copy_context().run(use, server)
        return ref(server)

    freed = used()
    gc.collect()
    assert freed() is None


def test_a_slicer_that_is_not_used_any_more_ends_its_workers() -> None:
    slicer = Slicer()
    total_of_few = slicer.start(lambda: total(range(10)), always)
    assert total_of_few.go()
    (worker,) = slicer._idle
    freed = ref(worker)
    del slicer, total_of_few, worker
    gc.collect()
    assert freed() is None


def test_a_patch_of_many_new_items_is_merged_in_slices() -> None:
    patch = {"data": [{"name": "a", "uid": "b"}] * 20_000}
    work = Slicer().start(lambda: strategic.apply(ANYTHING, {}, patch), always)
    assert slices(work) >= 10
    assert work.result == patch


def test_errors_of_many_items_are_told_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = [FieldError(ErrorType.REQUIRED, "spec.a", "", "")] * 20_000
    monkeypatch.setattr("setpoint.apiserver.requests.type_errors.validate", lambda *_: missing)
    served: Any = SimpleNamespace(custom=True)
    work = Slicer().start(lambda: type_errors(served, {"metadata": {}}), always)
    assert slices(work) >= 10
    assert work.result == ("", missing)
