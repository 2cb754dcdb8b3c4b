"""ConnectionLimit: the number of connections that a server has open."""

from __future__ import annotations

import sys
from typing import Final, Protocol

_MOST: Final = 4096
_MOST_NEW: Final = 1024
"""As many as one turn of the loop accepts: clients of a burst that are about to send something stay."""


class _Transport(Protocol):
    def abort(self) -> None: ...


class ConnectionLimit:
    """Keeps the connections of a server below ``most``; by default half of the files that the process may have open,
    and at most 4,096. At most 1,024 of them are new.

    A connection is new until the head of its first request has come; over TLS that includes the handshake. It is
    idle between two requests. Where there are too many connections, the one that has been new for the longest time
    makes room for a new one, or, if no other is new, the one that has been idle for the longest time; so clients
    that send a request are served however many others send nothing. If none is idle either, the new one is ended.
    """

    __slots__ = ("_active", "_idle", "_most", "_new")

    def __init__(self, most: int | None = None) -> None:
        self._most = _default() if most is None else most
        self._new: dict[_Transport, None] = {}
        self._idle: dict[_Transport, None] = {}
        self._active: set[_Transport] = set()

    def open(self, transport: _Transport) -> None:
        """Counts a connection, if it is not counted yet."""
        if transport in self._new or transport in self._idle or transport in self._active:
            return
        self._new[transport] = None
        if len(self._new) > _MOST_NEW or len(self._new) + len(self._idle) + len(self._active) > self._most:
            group = self._new if len(self._new) > 1 or not self._idle else self._idle
            oldest = next(iter(group))
            del group[oldest]
            oldest.abort()

    def activate(self, transport: _Transport) -> None:
        """Notes that the head of a request has come."""
        if transport in self._idle:
            del self._idle[transport]
        elif transport in self._new:
            del self._new[transport]
        else:
            return
        self._active.add(transport)

    def rest(self, transport: _Transport) -> None:
        """Notes that no request of the connection is under way."""
        if transport in self._active:
            self._active.remove(transport)
            self._idle[transport] = None

    def close(self, transport: _Transport) -> None:
        self._new.pop(transport, None)
        self._idle.pop(transport, None)
        self._active.discard(transport)


def _default() -> int:
    if sys.platform == "win32":
        return _MOST
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else max(1, min(_MOST, soft // 2))
