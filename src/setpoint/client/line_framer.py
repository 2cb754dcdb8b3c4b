"""Splits watch streams into lines."""

from __future__ import annotations

MAX_LINE = 16 << 20
"""The maximum size of a line, in bytes; a longer line breaks the stream. Real servers send objects of at most about 3
MiB.
"""


class LineTooLong(ValueError):
    """A line is longer than the framer's limit, so the input is not a watch stream."""


class LineFramer:
    """Splits chunks of any size into lines.

    However small the chunks are, each byte is copied only a few times, because the parts of a line are collected in a
    single buffer. The buffer takes little more memory than the bytes of the line, even if they arrive one by one.
    """

    __slots__ = ("_limit", "_rest")

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._rest = bytearray()
        self._limit = limit

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that ``chunk`` completes, without their newlines. Empty lines are left out.

        Raises:
            LineTooLong: a line is longer than the limit, even if its end has not arrived yet.
        """
        end = chunk.find(b"\n")  # searches many bytes at once; split() looks at each, which costs a tenth of an event
        if end < 0:
            self._rest += chunk
            self._check(len(self._rest))
            return []
        lines = []
        start = 0
        if self._rest:
            self._rest += chunk[:end]
            self._check(len(self._rest))
            lines.append(bytes(self._rest))
            self._rest = bytearray()
            start, end = end + 1, chunk.find(b"\n", end + 1)
        while end >= 0:
            if end > start:
                self._check(end - start)
                lines.append(chunk[start:end])
            start, end = end + 1, chunk.find(b"\n", end + 1)
        if start < len(chunk):
            self._check(len(chunk) - start)
            self._rest += chunk[start:]
        return lines

    def _check(self, length: int) -> None:
        if length > self._limit:
            raise LineTooLong(f"a line of the stream is longer than {self._limit} bytes")

    def rest(self) -> bytes:
        """The input after the last newline. The framer is empty afterwards."""
        rest = bytes(self._rest)
        self._rest = bytearray()
        return rest
