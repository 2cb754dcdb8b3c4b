"""A reader of SQLite's file format that finds the remaining rows of a damaged file without SQLite.

Source: https://www.sqlite.org/fileformat2.html
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from setpoint.apiserver.storage.rows import Row

__all__ = ["Found", "Log", "rows_of"]

PAGE: Final = 4096
"""The size of a page in bytes, which is SQLite's default."""
_LEAF: Final = 0x0D
_FRAME: Final = 24
_HEADER: Final = 32
_MAGIC: Final = (0x377F0682, 0x377F0683)
_OTHERS: Final = (2, 3, 5)
"""The numbers of columns in the tables that do not hold objects: the table of facts, in the current format and in
format 1, and SQLite's own table.
"""
_FOREIGN: Final = Row(0, "", "", "", 0, b"", None)


class Found(NamedTuple):
    """A location at which a row is expected. ``row`` is None if nothing can be read there; ``intact`` says whether all
    its bytes were found, not whether they are correct.
    """

    page: int
    row: Row | None
    intact: bool


class Log:
    """A write-ahead log.

    ``pages`` are the newest pages with valid checksums. ``doubtful`` are pages with a wrong checksum that belong to
    this log and not to an earlier use of its file. ``torn`` says whether there are doubtful pages, or whether the log's
    header is damaged.
    """

    def __init__(self, data: bytes) -> None:
        self.pages: dict[int, bytes] = {}
        self.doubtful: list[tuple[int, bytes]] = []
        self.torn = False
        if len(data) < _HEADER + _FRAME + PAGE:
            return
        magic, _, size = struct.unpack_from(">III", data)
        order = ">" if magic == _MAGIC[1] else "<"
        head = struct.unpack_from(">II", data, 24)
        sane = magic in _MAGIC and size == PAGE and head == _sums(data[:24], (0, 0), order)
        salts = data[16:24] if sane else data[_HEADER + 8 : _HEADER + 16]
        self.torn = not sane
        starts = range(_HEADER, len(data) - _FRAME - PAGE + 1, _FRAME + PAGE)
        last = max((start for start in starts if data[start + 8 : start + 16] == salts), default=0)
        frames: list[tuple[int, int, bytes, bool]] = []
        before = head
        for start in starts:
            if start > last:
                break  # left by an earlier use of the file
            number, committed = struct.unpack_from(">II", data, start)
            said = struct.unpack_from(">II", data, start + 16)
            page = data[start + _FRAME : start + _FRAME + PAGE]
            ours = data[start + 8 : start + 16] == salts
            good = ours and said == _sums(page, _sums(data[start : start + 8], before, order), order)
            frames.append((number, committed, page, good))
            before = said
        self._take(frames)

    def _take(self, frames: list[tuple[int, int, bytes, bool]]) -> None:
        """Takes the frames up to the last commit; later frames never took effect, unless a commit's frame
        is damaged.
        """
        last = max((index for index, frame in enumerate(frames) if frame[1] or not frame[3]), default=-1)
        for number, _, page, good in frames[: last + 1]:
            if good:
                self.pages[number] = page
            else:
                self.torn = True
                self.doubtful.append((number, page))


def rows_of(data: bytes, log: Log) -> Iterator[Found]:
    """Every row in the database and its log, in arbitrary order; a row may occur more than once."""
    count = len(data) // PAGE + 1  # of a file that was cut off, the last page is a part
    pages = {
        number: data[(number - 1) * PAGE : number * PAGE].ljust(PAGE, b"\0")
        for number in range(1, count + 1)
        if len(data) > (number - 1) * PAGE
    }
    pages.update(log.pages)
    for number, page in pages.items():
        yield from _leaf(number, page, pages)
    for number, page in log.doubtful:
        yield from _leaf(number, page, pages)


def _leaf(number: int, page: bytes, pages: Mapping[int, bytes]) -> Iterator[Found]:
    """The rows of a page. Damage may turn a page of a different kind into a leaf page, or the reverse, so all pages are
    examined; bytes that only look like a row have a wrong checksum.
    """
    start = 100 if number == 1 else 0
    is_leaf = page[start] == _LEAF
    count = int.from_bytes(page[start + 3 : start + 5], "big")
    if count > PAGE // 6:
        if is_leaf:
            yield Found(number, None, False)
        return
    for index in range(count):
        place = start + 8 + 2 * index
        offset = int.from_bytes(page[place : place + 2], "big")
        found = _cell(number, page, offset, pages)
        if found is not None and (found.row is not None or is_leaf):
            yield found


def _cell(number: int, page: bytes, offset: int, pages: Mapping[int, bytes]) -> Found | None:
    """The row at an offset; None if it belongs to a different table."""
    try:
        size, offset = _varint(page, offset)
        revision, offset = _varint(page, offset)
    except IndexError:
        return Found(number, None, False)
    if size > 1 << 30:
        return Found(number, None, False)
    most, least = PAGE - 35, (PAGE - 12) * 32 // 255 - 23
    if size <= most:
        payload, whole = page[offset : offset + size], True
    else:
        local = least + (size - least) % (PAGE - 4)
        if local > most:
            local = least
        first = int.from_bytes(page[offset + local : offset + local + 4], "big")
        payload, whole = _overflowing(page[offset : offset + local], size, first, pages)
    row = _row(revision, payload)
    if row is _FOREIGN:
        return None
    return Found(number, row, whole and row is not None and len(payload) == size)


def _overflowing(start: bytes, size: int, following: int, pages: Mapping[int, bytes]) -> tuple[bytes, bool]:
    made = bytearray(start)
    seen: set[int] = set()
    while len(made) < size:
        page = pages.get(following)
        if page is None or following in seen:
            return bytes(made), False
        seen.add(following)
        made += page[4 : 4 + size - len(made)]
        following = int.from_bytes(page[:4], "big")
    return bytes(made), True


def _row(revision: int, payload: bytes) -> Row | None:
    """A record as a row of this database; `_FOREIGN` if it belongs to a different table, None if it can't be read."""
    try:
        head, at = _varint(payload, 0)
        kinds: list[int] = []
        while at < head:
            kind, at = _varint(payload, at)
            kinds.append(kind)
    except IndexError:
        return None
    if at != head:
        return None
    if len(kinds) in _OTHERS:
        return _FOREIGN
    if len(kinds) not in (6, 7) or kinds[0] != 0:
        return None
    texts: list[str] = []
    try:
        for kind in kinds[1:4]:
            if kind < 13 or kind % 2 == 0:
                return None
            length = (kind - 13) // 2
            texts.append(payload[at : at + length].decode())
            at += length
        deleted, at = _integer(kinds[4], payload, at)
        if kinds[5] < 12 or kinds[5] % 2:
            return None
        length = (kinds[5] - 12) // 2
        value = payload[at : at + length]
        checksum = _integer(kinds[6], payload, at + length)[0] if len(kinds) == 7 else None
    except (UnicodeDecodeError, ValueError):
        return None
    if deleted is None:
        return None
    return Row(revision, texts[0], texts[1], texts[2], deleted, value, checksum)


def _integer(kind: int, payload: bytes, at: int) -> tuple[int | None, int]:
    """The integer or NULL at ``at``, and the offset after it. Raises ValueError for any other value."""
    if kind == 0:
        return None, at
    if kind in (8, 9):
        return kind - 8, at
    if kind > 6:
        raise ValueError(kind)
    length = (1, 2, 3, 4, 6, 8)[kind - 1]
    return int.from_bytes(payload[at : at + length], "big", signed=True), at + length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The varint at ``at``, and the offset after it. Raises IndexError at the end of the data."""
    value = 0
    for index in range(9):
        byte = data[at + index]
        if index == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + index + 1
    raise AssertionError("unreachable")


def _sums(data: bytes, before: tuple[int, ...], order: str) -> tuple[int, int]:
    one, two = before
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for index in range(0, len(words), 2):
        one = (one + words[index] + two) & 0xFFFFFFFF
        two = (two + words[index + 1] + one) & 0xFFFFFFFF
    return one, two
