"""The ports that tests get."""

from __future__ import annotations

import socket

import pytest
from tests import ports


def test_a_port_at_which_no_server_is_reached_is_given_to_no_test(monkeypatch: pytest.MonkeyPatch) -> None:
    with ports.reserved_port() as port:
        free = port
    monkeypatch.setattr(ports, "_is_unreachable", lambda number: number == free)
    holders = ports.hold_unreachable_ports()
    try:
        if holders:  # on Linux
            with socket.socket() as server, pytest.raises(OSError, match="in use"):
                server.bind(("127.0.0.1", free))
    finally:
        for holder in holders:
            holder.close()


def test_a_server_at_an_ordinary_port_is_reached() -> None:
    with ports.reserved_port() as port:
        assert not ports._is_unreachable(port)
