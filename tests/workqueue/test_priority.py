"""Priorities, and that nothing starves."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.workqueue import LOW_PRIORITY, WorkQueue
from setpoint.workqueue.ready_list import ReadyList, _Line

from .test_queue import taken

STRICT = 10**9
"""An ageing that never comes."""


def test_higher_priorities_first_equal_ones_in_order() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for key, priority in [("a", 0), ("low", LOW_PRIORITY), ("b", 0), ("high", 5), ("high2", 5), ("c", 0)]:
        queue.add(key, priority=priority)
    assert taken(queue) == ["high", "high2", "a", "b", "c", "low"]


def test_a_key_retains_the_highest_priority() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo", priority=1)
    queue.add("foo", priority=2)
    assert queue.priority("foo") == 2
    queue.add("foo", priority=1)
    assert queue.priority("foo") == 2
    assert taken(queue) == ["foo"]
    assert queue.priority("foo") == 2, "what it was handed out with"
    queue.done("foo")
    assert queue.priority("foo") is None


def test_a_key_moves_to_the_front_when_its_priority_increases() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for key in ("foo", "bar", "baz"):
        queue.add(key)
    queue.add("baz", priority=1)
    assert len(queue) == 3
    assert taken(queue) == ["baz", "foo", "bar"]


def test_a_raised_key_stands_last_in_its_new_line() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo", priority=0)
    queue.add("bar", priority=1)
    queue.add("foo", priority=1)
    assert len(queue) == 2
    assert taken(queue) == ["bar", "foo"]


def test_a_first_sync_is_overtaken_by_a_change() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for number in range(5):
        queue.add(f"synced-{number}", priority=LOW_PRIORITY)
    queue.add("synced-3")
    queue.add("changed")
    assert taken(queue) == ["synced-3", "changed", "synced-0", "synced-1", "synced-2", "synced-4"]


def test_a_key_returned_to_its_old_line_does_not_get_its_old_place_back() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for key in ("foo", "bar"):
        queue.add(key)
    queue.add("foo", priority=1)
    with pytest.raises(StopIteration, match="foo"):
        queue.get().send(None)
    queue.done("foo")
    queue.add("foo")
    assert taken(queue) == ["bar", "foo"]


def test_a_key_raised_out_of_the_same_line_many_times_stands_in_it_once() -> None:
    queue: WorkQueue[str] = WorkQueue()
    backlog = [f"backlog-{number}" for number in range(20)]
    for key in backlog[:10]:
        queue.add(key)
    for _ in range(4):
        queue.add("foo")
        queue.add("foo", priority=1)
        with pytest.raises(StopIteration, match="foo"):
            queue.get().send(None)
        queue.done("foo")
    for key in backlog[10:]:
        queue.add(key)
    queue.add("foo")
    assert taken(queue) == [*backlog, "foo"]
    assert queue._ready.plain


def test_a_dirty_key_comes_back_with_the_highest_priority_of_its_new_adds() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("foo", priority=9)
    assert taken(queue) == ["foo"]
    queue.add("foo", priority=LOW_PRIORITY)
    assert queue.priority("foo") == LOW_PRIORITY
    queue.add("foo", priority=2)
    queue.add("foo", priority=1)
    queue.add("bar", priority=3)
    queue.add("baz", priority=1)
    queue.done("foo")
    assert taken(queue) == ["bar", "foo", "baz"]


def test_without_ageing_high_items_come_before_low_ones_every_time() -> None:
    queue: WorkQueue[str] = WorkQueue(ageing=STRICT)
    priorities = [10, 5, 0, -5, -10]
    for number in range(1000):
        for priority in priorities:
            queue.add(f"{priority}/{number}", priority=priority)
    assert taken(queue) == [f"{priority}/{number}" for priority in priorities for number in range(1000)]


def test_one_hand_out_in_ten_goes_to_a_lower_priority() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for number in range(100):
        queue.add(f"high-{number}")
        queue.add(f"low-{number}", priority=LOW_PRIORITY)
    order = taken(queue)
    assert [place for place, key in enumerate(order[:110]) if key.startswith("low")] == list(range(9, 110, 10))
    assert [key for key in order if key.startswith("low")] == [f"low-{number}" for number in range(100)]
    assert [key for key in order if key.startswith("high")] == [f"high-{number}" for number in range(100)]


def test_lower_priorities_take_turns() -> None:
    ready: ReadyList[tuple[int, int]] = ReadyList(ageing=2)
    for priority in (3, 2, 1, 0, -1):
        for number in range(10):
            ready.push((priority, number), priority)
    assert [ready.pop()[0] for _ in range(12)] == [3, -1, 3, 2, 3, 1, 3, 0, 3, -1, 3, 2]


def test_nothing_starves_under_endless_urgent_work() -> None:
    queue: WorkQueue[str] = WorkQueue(ageing=10)
    for number in range(20):
        queue.add(f"low-{number}", priority=LOW_PRIORITY)
        queue.add(f"lower-{number}", priority=2 * LOW_PRIORITY)
    queue.add("urgent", priority=1)
    handed_out: dict[str, int] = {}
    for turn in range(1, 10 * 20 * 2 + 1):
        queue.add(f"urgent-{turn}", priority=1)
        with pytest.raises(StopIteration) as returned:
            queue.get().send(None)
        handed_out[returned.value.value] = turn
        queue.done(returned.value.value)
    for number in range(20):
        assert handed_out[f"low-{number}"] <= 10 * (number + 1) * 2
        assert handed_out[f"lower-{number}"] <= 10 * (number + 1) * 2


def test_urgent_work_keeps_nine_tenths_whatever_waits_below() -> None:
    queue: WorkQueue[str] = WorkQueue()
    for number in range(10_000):
        queue.add(f"sync-{number}", priority=LOW_PRIORITY)
    for number in range(900):
        queue.add(f"change-{number}")
    first = [key for key in taken(queue)[:1000] if key.startswith("change")]
    assert len(first) == 900


def test_ageing_has_a_least_value() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        WorkQueue[str](ageing=1)


@pytest.mark.parametrize("backlog", [0, 1000])
def test_raising_again_and_again_keeps_memory_bounded(backlog: int) -> None:
    queue: WorkQueue[str] = WorkQueue()
    for number in range(backlog):
        queue.add(f"backlog-{number}")
    for turn in range(10_000):
        queue.add("foo", priority=turn % 100)
        queue.add("bar", priority=1000 + turn)
        queue.add("never first")
    lines = queue._ready._lines
    assert len(lines) <= 4
    assert sum(len(line.keys) for line in lines.values()) <= 2 * len(queue)
    assert sum(len(line.void) for line in lines.values()) <= len(queue)
    assert sorted(taken(queue)) == sorted(["foo", "bar", "never first", *[f"backlog-{n}" for n in range(backlog)]])
    assert queue._ready.plain


def test_a_key_that_was_raised_twice_is_there_once() -> None:
    ready: ReadyList[str] = ReadyList(STRICT)
    for key in "abcd":
        ready.push(key, 0)
    ready.move("a", 0, 1)
    assert ready.pop() == "a"
    ready.push("a", 0)
    for key in "efgh":
        ready.push(key, 0)
    ready.move("h", 0, 1)
    assert list(ready) == list("hbcdaefg"), "the first of two was raised, the second was not"
    assert [ready.pop() for _ in range(8)] == list("hbcdaefg")


def test_a_key_that_was_raised_from_the_same_line_again_and_again_is_there_once() -> None:
    ready: ReadyList[str] = ReadyList(STRICT)
    for key in "abcdefg":
        ready.push(key, 0)
    for _ in range(2):
        ready.move("a", 0, 1)
        assert ready.pop() == "a"
        ready.push("a", 0)
    assert list(ready) == list("bcdefga")
    assert [ready.pop() for _ in range(7)] == list("bcdefga")


def test_a_line_is_swept_when_what_left_it_outnumbers_what_stands_there() -> None:
    ready: ReadyList[str] = ReadyList(STRICT)
    for key in "abcd":
        ready.push(key, 0)
    ready.move("a", 0, 1)
    ready.move("b", 0, 1)
    assert list(ready.fifo) == list("abcd"), "two and two"
    ready.move("c", 0, 1)
    assert list(ready.fifo) == ["d"]


class Model:
    """The list's rule, said as simply and slowly as can be."""

    def __init__(self, ageing: int) -> None:
        self.ageing = ageing
        self.lines: dict[int, list[int]] = {}
        self.passed = 0
        self.turn = 0

    def push(self, key: int, priority: int) -> None:
        self.lines.setdefault(priority, []).append(key)

    def move(self, key: int, old: int, new: int) -> None:
        self.take(key, old)
        self.push(key, new)

    def take(self, key: int, priority: int) -> int:
        self.lines[priority].remove(key)
        if not self.lines[priority]:
            del self.lines[priority]
        return key

    def pop(self) -> int:
        highest = priority = max(self.lines)
        lower = [other for other in self.lines if other != highest]
        if lower:
            self.passed += 1
            if self.passed == self.ageing:
                self.passed = 0
                self.turn = priority = max([other for other in lower if other < self.turn], default=max(lower))
        return self.take(self.lines[priority][0], priority)


@given(
    ageing=st.integers(2, 5),
    steps=st.lists(st.tuples(st.sampled_from(["add", "add", "pop"]), st.integers(0, 12), st.integers(-2, 3))),
)
@settings(max_examples=300, deadline=None)
def test_the_list_does_as_its_model(ageing: int, steps: list[tuple[str, int, int]]) -> None:
    ready: ReadyList[int] = ReadyList(ageing)
    model = Model(ageing)
    priorities: dict[int, int] = {}
    for step, key, priority in steps:
        if step == "pop":
            if priorities:
                popped = ready.pop()
                assert popped == model.pop()
                del priorities[popped]
            else:
                with pytest.raises(IndexError):
                    ready.pop()
        elif key not in priorities:
            ready.push(key, priority)
            model.push(key, priority)
            priorities[key] = priority
        elif priority > priorities[key]:
            ready.move(key, priorities[key], priority)
            model.move(key, priorities[key], priority)
            priorities[key] = priority
        assert list(ready) == [key for priority in sorted(model.lines, reverse=True) for key in model.lines[priority]]


def test_a_key_that_left_a_line_and_comes_again_is_at_its_end() -> None:
    line: _Line[str] = _Line()
    line.keys.extend("aaabbbb")
    line.bury("a")
    line.bury("a")
    assert len(line) == 5
    assert line.popleft() == "a"
    line.keys.append("a")
    assert (len(line), line.void, list(line.living())) == (5, {}, ["b", "b", "b", "b", "a"])
    assert [line.popleft() for _ in range(5)] == ["b", "b", "b", "b", "a"]
