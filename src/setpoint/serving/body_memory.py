"""BodyMemory: the memory that the bodies of a server's requests may take together."""

from __future__ import annotations

from typing import Final, Protocol

LIMIT: Final = 32 * 1024 * 1024
"""The default size, in bytes."""
_STEP: Final = 64 * 1024


class _Holder(Protocol):
    def read_on(self) -> None: ...


class BodyMemory:
    """Counts the bytes of bodies from their arrival until their requests are answered.

    While more than ``size`` bytes are held, requests are read no further, except for the one that came first: so some
    request can always be finished, and at most ``size`` bytes and the longest body are held (and a read buffer of each
    connection). A request whose client is slow is cut by the deadline of its connection, not here.
    """

    __slots__ = ("_free", "_holders", "_waiting")

    def __init__(self, size: int = LIMIT) -> None:
        self._free = size
        self._holders: dict[_Holder, int] = {}
        self._waiting: dict[_Holder, None] = {}

    @property
    def used(self) -> int:
        """The number of bytes that are held."""
        return sum(self._holders.values())

    def take(self, holder: _Holder, size: int) -> bool:
        """Counts ``size`` more bytes, which have come. Returns whether the holder may read on; if it may not, its
        ``read_on`` is called when it may.
        """
        self._holders[holder] = self._holders.get(holder, 0) + size
        self._free -= size
        if self._free >= 0 or holder is next(iter(self._holders)):
            return True
        self._waiting[holder] = None
        return False

    def give_back(self, holder: _Holder) -> None:
        """Forgets the bytes of a holder, and lets others read on."""
        size = self._holders.pop(holder, 0)
        self._waiting.pop(holder, None)
        self._free += size
        steps = self._free // _STEP
        first = next(iter(self._holders), None)
        for waiting in [holder for index, holder in enumerate(self._waiting) if index < steps or holder is first]:
            del self._waiting[waiting]
            waiting.read_on()
