"""The states a key can be in."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, TypeVar

K = TypeVar("K", bound=Hashable)

READY: Final = 1
"""To be handed out; together with PROCESSING: to be handed out again after `done` ("dirty")."""

DELAYED: Final = 2
"""To become ready later; together with PROCESSING: or dirty, should it still be in processing by then."""

PROCESSING: Final = 4
"""In the hands of a worker."""

STATE_NAMES: Final = {
    READY: "ready",
    DELAYED: "delayed",
    PROCESSING: "processing",
    PROCESSING | READY: "processing+dirty",
    PROCESSING | DELAYED: "processing+delayed",
}
