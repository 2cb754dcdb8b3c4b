"""Ports for programs that must be told theirs before they listen."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator


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
