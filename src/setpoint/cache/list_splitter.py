"""Splits a ``…List`` document into its objects while the document is being received.

The end of an object is found by searching for text that looks like the beginning of the next one (the first key of the
first object). The text before it must be a single complete JSON document, which is checked, so a false match inside an
object costs time but never gives a wrong result. Where this search does not work, the brackets are counted instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from setpoint.cache.errors import WatchBroken
from setpoint.client.line_framer import MAX_LINE
from setpoint.meta import ListMeta, end_of_value
from setpoint.meta.json_document import excerpt

_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[{}\[\]]', re.DOTALL)
_FIRST_KEY = re.compile(rb'\{\s*"[^"\\]*"\s*:')
_SPACE = b" \t\r\n,"
_LOOKALIKES = 8
_SOON = 1 << 16
"""The size in bytes up to which an incomplete item is scanned again with every chunk."""
MAX_HEADER = 4 << 20
"""The maximum number of bytes before the first item of a list (kind, version and a continue token)."""
_whole = msgspec.json.Decoder(msgspec.Raw).decode


class Envelope(Struct, kw_only=True):
    """The fields of a list other than its items."""

    kind: str = ""
    api_version: str = field(name="apiVersion", default="")
    metadata: ListMeta = field(default_factory=ListMeta)
    items: msgspec.Raw | UnsetType = UNSET
    """Null or ``[]``, since the items are cut out; unset if the list had no such field."""


class ListSplitter:
    """Splits the bytes of a list into items as they arrive: `feed` returns the complete items, `finish` the last ones.

    An incomplete item is scanned again after its size has grown by an eighth, so an endless item that is sent byte by
    byte costs only a small multiple of its length. An item that is longer than any object can be is rejected.
    """

    def __init__(self, check: Callable[[Envelope], None] = lambda _: None) -> None:
        """``check`` is called with the fields of the list: with those before the items as soon as they are there, and
        with all of them at the end. It raises an exception for a list that is not the expected one.
        """
        self._check = check
        self._rest = b""
        self._more = bytearray()
        self._header: bytes | None = None
        self._separator: bytes | None = None
        self._patience = 1 << 20

    def feed(self, chunk: bytes) -> list[bytes]:
        """Accepts the next chunk; returns the items that are now complete. Small chunks are collected first.

        Raises:
            WatchBroken: an item, or the part before the items, is longer than any that a server sends.
        """
        if len(self._rest) >= _SOON:
            self._more += chunk
            if len(self._more) < len(self._rest) // 8:
                return []
            chunk = self._gathered()
        data = self._rest + chunk if self._rest else chunk
        if self._header is None:
            start = _start_of_items(data)
            if start < 0:
                if len(data) > MAX_HEADER:
                    raise WatchBroken(f"not a list: there are no items at the beginning: {excerpt(data)}")
                self._rest = data
                return []
            self._header, data = data[:start], data[start:]
            self._check(self._envelope(self._header + b"]}"))
        items: list[bytes] = []
        position = self._split(data, items)
        if len(data) - position > self._patience:
            position = self._scan(data, position, items)
            self._patience = max(2 * (len(data) - position), 1 << 20)
        self._rest = data[position:]
        if len(self._rest) > MAX_LINE:
            raise WatchBroken(f"an item of a list is longer than {MAX_LINE} bytes: {excerpt(self._rest)}")
        return items

    def _gathered(self) -> bytes:
        more, self._more = self._more, bytearray()
        return bytes(more)

    def finish(self) -> tuple[list[bytes], Envelope]:
        """The last items, and the fields of the list itself.

        Raises:
            WatchBroken: the list is not complete.
        """
        items: list[bytes] = []
        data, self._rest = self._rest + self._gathered(), b""
        if self._header is None:
            document = data
        else:
            position = _skip(data, self._scan(data, 0, items))
            if data[position : position + 1] != b"]":
                raise WatchBroken("the list ended in the middle of its items")
            document = self._header + data[position:]
        envelope = self._envelope(document)
        self._check(envelope)
        return items, envelope

    @staticmethod
    def _envelope(document: bytes) -> Envelope:
        try:
            return msgspec.json.decode(document, type=Envelope)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            raise WatchBroken(f"not a complete list: {problem}; it is {excerpt(document)}") from None

    def _split(self, data: bytes, items: list[bytes]) -> int:
        """Appends to ``items`` every item that is followed by text that looks like the beginning of another item;
        returns the position after the last appended item.
        """
        position = _skip(data, 0)
        if self._separator is None:
            first = _FIRST_KEY.match(data, position)
            if first is None:
                return position
            self._separator = b"}," + first.group()
        separator = self._separator
        while True:
            end = position
            for _ in range(_LOOKALIKES):
                end = data.find(separator, end) + 1
                if not end:
                    return position
                item = data[position:end]
                if _is_whole(item):
                    items.append(item)
                    position = end + 1
                    break
            else:
                end = end_of_value(data, position)
                if end < 0:
                    return position
                items.append(data[position:end])
                position = _skip(data, end)

    @staticmethod
    def _scan(data: bytes, position: int, items: list[bytes]) -> int:
        """Counts brackets to find the complete items from ``position`` on, and appends them to ``items``; returns the
        position after the last of them.
        """
        while True:
            position = _skip(data, position)
            if data[position : position + 1] != b"{":
                return position
            end = end_of_value(data, position)
            if end < 0:
                return position
            items.append(data[position:end])
            position = end


def _is_whole(item: bytes) -> bool:
    try:
        _whole(item)
    except msgspec.DecodeError:
        return False
    except RecursionError:
        return end_of_value(item, 0) == len(item)
    return True


def _skip(data: bytes, position: int) -> int:
    """The position after white space and commas."""
    length = len(data)
    while position < length and data[position] in _SPACE:
        position += 1
    return position


_ITEMS = re.compile(rb"\s*:\s*\[")


def _start_of_items(data: bytes) -> int:
    """The position of the first item or of the closing bracket; -1 if it has not been received yet."""
    depth = 0
    for token in _TOKEN.finditer(data):
        text = token.group()
        if text in (b"{", b"["):
            depth += 1
        elif text in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and text == b'"items"':
            bracket = _ITEMS.match(data, token.end())
            if bracket is not None:
                return bracket.end()
    return -1
