"""The server's side of SPDY/3.1, limited to what Kubernetes' clients use: streams with headers and data, pings, resets.

The frames, their numbers and the dictionary of the headers are those of the specification, "SPDY Protocol - Draft
3.1". Flow control windows are not tracked, since those clients don't track them either.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

_WORDS: Final = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status|200 OK|version HTTP/1.1 url public set-cookie "
    "keep-alive origin"
)
_REST: Final = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative "
    "Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 "
    "Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec "
    "00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8"
    "charset=iso-8859-1,utf-,*,enq=0."
)


def _dictionary() -> bytes:
    """The compression dictionary: words, each preceded by its length, and then plain text."""
    listed: list[str] = []
    for number, part in enumerate(_WORDS.split("|")):
        listed += [part] if number == 1 else part.split()
    return b"".join(len(word).to_bytes(4, "big") + word.encode() for word in listed) + _REST.encode()


DICTIONARY: Final = _dictionary()
_VERSION: Final = 3
_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _SETTINGS, _PING, _GOAWAY, _HEADERS, _WINDOW_UPDATE = 1, 2, 3, 4, 6, 7, 8, 9
_FIN: Final = 1
_MOST_HEADERS: Final = 1 << 20


class SpdyError(ValueError):
    """The peer does not follow SPDY/3.1."""


class Headers(NamedTuple):
    """A SYN_STREAM or HEADERS frame, which begins a stream or adds headers to one."""

    stream: int
    headers: Mapping[str, str]
    is_last: bool


class Data(NamedTuple):
    """Bytes on a stream. ``is_last``: whether they are the last ones."""

    stream: int
    data: bytes
    is_last: bool


class Reset(NamedTuple):
    """A RST_STREAM frame, which ends a stream immediately."""

    stream: int


class Ping(NamedTuple):
    """A ping; the reply must carry the same number."""

    number: int


Event = Headers | Data | Reset | Ping


class Frames:
    """Reads and writes frames, without interpreting the streams."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    def feed(self, data: bytes) -> Iterator[Event]:
        """The events in the bytes received so far.

        Raises:
            SpdyError: the bytes are not SPDY/3.1.
        """
        self._buffer += data
        while len(self._buffer) >= 8:
            head = bytes(self._buffer[:8])
            length = int.from_bytes(head[5:8], "big")
            if len(self._buffer) < 8 + length:
                return
            body = bytes(self._buffer[8 : 8 + length])
            del self._buffer[: 8 + length]
            event = self._event(head, body)
            if event is not None:
                yield event

    def _event(self, head: bytes, body: bytes) -> Event | None:
        is_last = bool(head[4] & _FIN)
        if not head[0] & 0x80:
            return Data(_number(head[:4]), body, is_last)
        version, kind = int.from_bytes(head[:2], "big") & 0x7FFF, int.from_bytes(head[2:4], "big")
        if version != _VERSION:
            raise SpdyError(f"version {version} of SPDY is not supported")
        if kind in (_SYN_STREAM, _HEADERS):
            begins = 10 if kind == _SYN_STREAM else 4
            return Headers(_number(body[:4]), self._read_headers(body[begins:]), is_last)
        if kind == _RST_STREAM:
            return Reset(_number(body[:4]))
        if kind == _PING:
            return Ping(int.from_bytes(body[:4], "big"))
        return None  # settings, windows, replies and farewells ask for nothing

    def _read_headers(self, packed: bytes) -> dict[str, str]:
        try:
            plain = self._inflate.decompress(packed, _MOST_HEADERS)
        except zlib.error as problem:
            raise SpdyError(f"headers can't be read: {problem}") from None
        if self._inflate.unconsumed_tail:
            raise SpdyError(f"headers of more than {_MOST_HEADERS} bytes")
        headers, place = {}, 4
        for _ in range(int.from_bytes(plain[:4], "big")):
            texts = []
            for _ in range(2):
                length = int.from_bytes(plain[place : place + 4], "big")
                texts.append(plain[place + 4 : place + 4 + length].decode("utf-8", "replace"))
                place += 4 + length
            headers[texts[0].lower()] = texts[1]
            if place > len(plain):
                raise SpdyError("headers are cut off")
        return headers

    def reply(self, stream: int) -> bytes:
        """A frame that accepts a stream, without headers."""
        packed = self._deflate.compress(bytes(4)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        return self._control(_SYN_REPLY, stream.to_bytes(4, "big") + packed)

    def data(self, stream: int, data: bytes, *, is_last: bool = False) -> bytes:
        """A frame with bytes on a stream."""
        return stream.to_bytes(4, "big") + bytes((_FIN if is_last else 0,)) + len(data).to_bytes(3, "big") + data

    def ping(self, number: int) -> bytes:
        """The reply to a ping."""
        return self._control(_PING, number.to_bytes(4, "big"))

    @staticmethod
    def _control(kind: int, body: bytes) -> bytes:
        return (0x8000 | _VERSION).to_bytes(2, "big") + kind.to_bytes(2, "big") + len(body).to_bytes(4, "big") + body


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big") & 0x7FFFFFFF
