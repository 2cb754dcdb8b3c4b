"""Bodies of all requests together take no more memory than their room, and every one is read sooner or later."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from setpoint.serving.body_memory import Room

SIZE = 1_000_000
STEP = 65_536


class Body:
    """A body that is read step by step while it may be."""

    def __init__(self, room: Room, size: int) -> None:
        self.room = room
        self.left = size
        self.reading = True

    def read_on(self) -> None:
        assert not self.reading
        self.reading = True

    def read(self) -> None:
        size = min(STEP, self.left)
        self.left -= size
        self.reading = self.room.take(self, size)


@settings(max_examples=200, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 3 * SIZE), min_size=1, max_size=12),
    picks=st.lists(st.integers(0, 11), max_size=300),
)
def test_the_room_is_kept_and_every_body_is_read(sizes: list[int], picks: list[int]) -> None:
    room = Room(SIZE)
    bodies = [Body(room, size) for size in sizes]
    turns = iter(picks)
    while bodies:
        reading = [body for body in bodies if body.reading]
        assert reading
        body = reading[next(turns, 0) % len(reading)]
        body.read()
        assert room.held <= SIZE + max(sizes) + len(sizes) * STEP
        if body.left == 0:
            bodies.remove(body)
            room.give_back(body)
    assert room.held == 0


def test_a_body_that_waits_and_is_given_up_is_not_read_on() -> None:
    room = Room(SIZE)
    first, second, third = Body(room, SIZE), Body(room, SIZE), Body(room, SIZE)
    assert room.take(first, SIZE)
    second.reading = room.take(second, 10)
    third.reading = room.take(third, 10)
    assert not second.reading
    room.give_back(second)
    assert not second.reading
    room.give_back(first)
    assert third.reading
    assert not second.reading
