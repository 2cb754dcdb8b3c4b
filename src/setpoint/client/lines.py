"""Newline framing for watch streams."""

from __future__ import annotations

__all__ = ["LineFramer", "LineTooLong"]

MAX_LINE = 64 << 20
"""Bytes of one line after which a stream counts as broken. An object of a real server has at most about 3 MiB."""


class LineTooLong(ValueError):
    """A line is longer than the framer's limit: this is no watch stream."""


class LineFramer:
    """Cuts chunks of any size into lines.

    Every byte is copied once or twice however the chunks fall: a line spread over many chunks is collected in a list
    and joined when its end arrives, so a huge line in tiny pieces does not cost the square of its length.
    """

    __slots__ = ("_limit", "_parts", "_pending")

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._parts: list[bytes] = []
        self._pending = 0
        self._limit = limit

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that ``chunk`` completes, without their newlines; empty lines are left out.

        Raises:
            LineTooLong: a line is longer than the limit.
        """
        if b"\n" not in chunk:
            if chunk:
                self._pending += len(chunk)
                if self._pending > self._limit:
                    raise LineTooLong(f"a line of the stream is longer than {self._limit} bytes")
                self._parts.append(chunk)
            return []
        lines = chunk.split(b"\n")
        if self._parts:
            self._parts.append(lines[0])
            lines[0] = b"".join(self._parts)
            self._parts.clear()
        rest = lines.pop()
        self._pending = len(rest)
        if rest:
            self._parts.append(rest)
        return [line for line in lines if line]

    def rest(self) -> bytes:
        """What came after the last newline; the framer is empty afterwards."""
        rest = b"".join(self._parts)
        self._parts.clear()
        self._pending = 0
        return rest
