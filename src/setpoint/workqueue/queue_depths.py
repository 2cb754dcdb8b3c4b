"""The states of a key in a work queue."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)

READY: Final = 1
"""The key waits to be handed out. Combined with PROCESSING, it waits to be handed out again after `done` ("dirty")."""

DELAYED: Final = 2
"""The key becomes ready at the end of its delay. Combined with PROCESSING, it becomes dirty if its delay ends before
`done`.
"""

PROCESSING: Final = 4
"""A worker has the key."""

STATE_NAMES: Final = {
    READY: "ready",
    DELAYED: "delayed",
    PROCESSING: "processing",
    PROCESSING | READY: "processing+dirty",
    PROCESSING | DELAYED: "processing+delayed",
}


class Depths(NamedTuple):
    """The number of keys in each state; ``dirty`` keys also count as ``processing``."""

    ready: int
    delayed: int
    processing: int
    dirty: int
