"""Bodies of all requests together take no more memory than their limit, and every one is read sooner or later."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.serving.body_memory import BodyMemory

SIZE = 1_000_000
STEP = 65_536


class Body:
    """A body that is read step by step while it may be."""

    def __init__(self, memory: BodyMemory, size: int) -> None:
        self.memory = memory
        self.left = size
        self.reading = True

    def read_on(self) -> None:
        assert not self.reading
        self.reading = True

    def read(self) -> None:
        size = min(STEP, self.left)
        self.left -= size
        self.reading = self.memory.take(self, size)


@settings(max_examples=200, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 3 * SIZE), min_size=1, max_size=12),
    picks=st.lists(st.integers(0, 11), max_size=300),
)
def test_the_limit_is_kept_and_every_body_is_read(sizes: list[int], picks: list[int]) -> None:
    memory = BodyMemory(SIZE)
    bodies = [Body(memory, size) for size in sizes]
    turns = iter(picks)
    while bodies:
        reading = [body for body in bodies if body.reading]
        assert reading
        body = reading[next(turns, 0) % len(reading)]
        body.read()
        assert memory.used <= SIZE + max(sizes) + len(sizes) * STEP
        if body.left == 0:
            bodies.remove(body)
            memory.give_back(body)
    assert memory.used == 0


def test_a_body_that_waits_and_is_given_up_is_not_read_on() -> None:
    memory = BodyMemory(SIZE)
    first, second, third = Body(memory, SIZE), Body(memory, SIZE), Body(memory, SIZE)
    assert memory.take(first, SIZE)
    second.reading = memory.take(second, 10)
    third.reading = memory.take(third, 10)
    assert not second.reading
    memory.give_back(second)
    assert not second.reading
    memory.give_back(first)
    assert third.reading
    assert not second.reading
