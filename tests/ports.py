"""Ports for programs that must be told theirs before they listen, and ports at which no program can be reached."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

_RANGE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_RESET: Final = struct.pack("ii", 1, 0)
"""The value of SO_LINGER with which a closed connection leaves nothing behind."""


@contextlib.contextmanager
def reserved_port() -> Iterator[int]:
    """A free port of 127.0.0.1 that only a program that is told it can take meanwhile.

    A port that was merely free a moment ago can be taken by any outgoing connection of the machine before the program
    listens. The kernel gives a bound port neither to connections nor to sockets that ask for any port, but lets a
    server bind it again as long as both sockets have SO_REUSEADDR and this one does not listen (socket(7)).
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def hold_unreachable_ports() -> list[socket.socket]:
    """Sockets that keep the kernel from giving out, as a free port, one at which a listening server is not reached.

    A firewall, or the sandbox that a machine runs in, may refuse connections to single ports of 127.0.0.1. Of hundreds
    of servers at free ports one would then be refused its first client now and then. Looking at the 28,000 ports of
    Linux takes a second; elsewhere none is looked at.
    """
    if not _RANGE.exists():
        return []
    first, last = map(int, _RANGE.read_text(encoding="utf-8").split())
    return _held(port for port in range(first, last + 1) if _is_unreachable(port))


def _held(ports: Iterable[int]) -> list[socket.socket]:
    holders = []
    for port in ports:
        holder = socket.socket()
        holders.append(holder)
        with contextlib.suppress(OSError):  # taken by another program meanwhile
            holder.bind(("127.0.0.1", port))
    return holders


def _is_unreachable(port: int) -> bool:
    with socket.socket() as server, socket.socket() as client:
        try:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(("127.0.0.1", port))
            server.listen(1)
        except OSError:
            return False  # another program has it
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        return client.connect_ex(("127.0.0.1", port)) != 0
