"""TLS for one connection, with `ssl.SSLObject`, for servers whose requests are small.

asyncio's own implementation keeps a buffer of a quarter of a megabyte for each connection, and makes one needless call
to OpenSSL per request, which raises an exception; exchanges through it cost about a third more. The interface is the
same: a protocol sees a transport. A close waits for the peer's close_notify (RFC 8446, 6.1), but not longer than
`LINGER`.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from typing import Any, Final, cast

from setpoint.serving.connection_limit import ConnectionLimit

logger = logging.getLogger("setpoint.serving")

LINGER: Final = 1.0
"""Seconds to wait for the peer's close_notify. The peer's remaining input is read meanwhile: closing a connection with
unread input resets the connection, and the last answer may then be lost.
"""
_RECORD: Final = 16 * 1024


class TlsConnection(asyncio.Transport, asyncio.BufferedProtocol):
    """A TLS connection: a protocol for the socket's transport, and the transport for ``protocol``, which is connected
    after the handshake.

    Args:
        context: a server's context. The certificate that it has at the time of the handshake is presented.
        protocol: receives the decrypted data.
        handshake_timeout: how many seconds the handshake may take before the connection is cut off.
        scratch: the buffer for reading; the loop fills it and calls `buffer_updated` immediately, so all connections
            can share one.
        limit: counts the connection, if given. Until the first byte comes, a connection has no state of TLS.
    """

    _tls: ssl.SSLObject
    _incoming: ssl.MemoryBIO
    _outgoing: ssl.MemoryBIO

    __slots__ = (
        "_begun",
        "_closing",
        "_context",
        "_incoming",
        "_is_established",
        "_limit",
        "_loop",
        "_outgoing",
        "_paused",
        "_protocol",
        "_pumping",
        "_scratch",
        "_timer",
        "_tls",
        "_transport",
    )

    def __init__(
        self,
        context: ssl.SSLContext,
        protocol: asyncio.Protocol | asyncio.BufferedProtocol,
        handshake_timeout: float,
        scratch: memoryview,
        limit: ConnectionLimit | None = None,
    ) -> None:
        super().__init__()
        self._context = context
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._protocol = protocol
        self._scratch = scratch
        self._transport: asyncio.Transport | None = None
        self._timer = self._loop.call_later(handshake_timeout, self.abort)
        self._begun = False
        self._is_established = False
        self._closing = False
        self._paused = False
        self._pumping = False

    # -- called by asyncio ---------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if self._limit is not None:
            self._limit.open(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._closing = True
        self._timer.cancel()
        if self._limit is not None:
            self._limit.close(self)
        if self._is_established:
            self._protocol.connection_lost(exc)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._scratch

    def buffer_updated(self, nbytes: int) -> None:
        if not self._begun:
            self._begin()
        self._incoming.write(self._scratch[:nbytes])
        self._pump()

    def _begin(self) -> None:
        self._begun = True
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = self._context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    def pause_writing(self) -> None:
        if self._is_established:
            self._protocol.pause_writing()

    def resume_writing(self) -> None:
        if self._is_established:
            self._protocol.resume_writing()

    # -- called by the protocol ----------------------------------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Sends ``data``. After `close` it has no effect, as on every transport."""
        if self._closing or self._transport is None:
            return
        try:
            done = self._tls.write(data)  # a record
            while done < len(data):
                done += self._tls.write(memoryview(data)[done:])
        except ssl.SSLError as problem:
            self._fail(problem)
            return
        self._transport.write(self._outgoing.read())

    def close(self) -> None:
        """Sends close_notify after the written data, and closes when the peer's close_notify arrives or `LINGER` has
        passed.
        """
        if self._closing or self._transport is None:
            return
        self._closing = True
        self._timer.cancel()
        self._timer = self._loop.call_later(LINGER, self.abort)
        try:
            self._leave()
        except ssl.SSLError as problem:
            self._fail(problem)
        if self._paused:
            self.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """As asyncio's: ``ssl_object`` and ``sslcontext`` are those of this connection, all else is the socket's."""
        if name in ("ssl_object", "sslcontext"):
            return self._tls if name == "ssl_object" else self._context
        return default if self._transport is None else self._transport.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        """The number of encrypted bytes that are not sent yet."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def is_closing(self) -> bool:
        return self._closing

    def abort(self) -> None:
        """Closes the connection without close_notify."""
        if self._transport is not None:
            self._transport.abort()

    def pause_reading(self) -> None:
        self._paused = True
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._paused = False
        if self._transport is not None:
            self._transport.resume_reading()
        if not self._pumping:
            self._loop.call_soon(self._pump)

    # -- between the two -----------------------------------------------------------------------------------------------

    def _pump(self) -> None:
        """Decrypts as much of the received data as possible, and passes it on to the protocol."""
        if self._transport is None or self._pumping:
            return
        self._pumping = True
        try:
            if self._closing:
                self._leave()
            elif self._is_established or self._handshake():
                self._read()
        except ssl.SSLError as problem:
            self._fail(problem)
        finally:
            self._pumping = False

    def _handshake(self) -> bool:
        """Continues the handshake; returns whether it is complete."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return False
        self._flush()
        self._timer.cancel()
        self._is_established = True
        self._protocol.connection_made(self)
        return True

    def _read(self) -> None:
        while not (self._paused or self._closing):
            try:
                if not self._deliver():
                    self.close()
                    return
            except ssl.SSLWantReadError:
                break
            if not (self._incoming.pending or self._tls.pending()):
                break
        if self._outgoing.pending:  # an answer to an update of keys
            self._flush()

    def _deliver(self) -> bool:
        """Passes one read on to the protocol; returns False at the end of the data."""
        protocol = self._protocol
        if isinstance(protocol, asyncio.Protocol):
            data = self._tls.read(len(self._scratch))
            if data:
                protocol.data_received(data)
            return bool(data)
        buffer: Any = protocol.get_buffer(-1)
        count: Any = self._tls.read(len(buffer), buffer)  # a number, because there is a buffer
        if count:
            protocol.buffer_updated(count)
        return bool(count)

    def _leave(self) -> None:
        """Sends close_notify once, and closes when the peer's close_notify has arrived; data that arrives before it is
        dropped.
        """
        try:
            while self._tls.read(_RECORD):
                pass
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):  # no data now, or none ever
            pass
        try:
            self._tls.unwrap()
        except (ssl.SSLWantReadError, ssl.SSLSyscallError):  # the peer's is still to come
            self._flush()
            return
        self._flush()
        if self._transport is not None:
            self._transport.close()

    def _fail(self, problem: ssl.SSLError) -> None:
        """Closes the connection after sending OpenSSL's alert."""
        logger.debug("TLS failed: %s", problem)
        self._closing = True
        self._flush()
        if self._transport is not None:
            self._transport.close()

    def _flush(self) -> None:
        if self._outgoing.pending and self._transport is not None:
            self._transport.write(self._outgoing.read())
