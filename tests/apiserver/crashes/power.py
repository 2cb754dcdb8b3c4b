"""A model of what a disk holds after a loss of power: all that was synced, and any part of what was not."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

BLOCK = 512
"""A block is written whole or not at all; those of one write are kept or dropped one by one."""


class Call(NamedTuple):
    """A system call: a creation (O), a write (W), a change of size (T), a sync (S; of the directory if ``name`` is
    empty), a removal (U), or an acknowledgement (A).
    """

    operation: str
    name: str
    offset: int
    data: bytes


def calls_of(log: Path) -> Iterator[Call]:
    """The calls that were recorded, without those on files that carry no data: the lock and the index of the log."""
    data = log.read_bytes()
    at = 0
    while at < len(data):
        operation, length, size, offset = struct.unpack_from("<cIIq", data, at)
        at += 17
        name = data[at : at + length].decode()
        at += length + size
        if not name.endswith(("-shm", ".lock", ".lock-journal")):
            yield Call(operation.decode(), name, offset, data[at - size : at])


class _File:
    """``synced`` is certain to be there; ``pending`` are changes since."""

    def __init__(self) -> None:
        self.synced = bytearray()
        self.pending: list[tuple[int, bytes | None]] = []

    def sync(self) -> None:
        for change in self.pending:
            _apply(self.synced, change)
        self.pending.clear()


class Disk:
    """The files of one directory. Names are synced with the directory, contents with the file."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}
        self._named: dict[str, _File] = {}
        self._pending: list[tuple[str, _File | None]] = []

    def do(self, call: Call) -> None:
        match call.operation:
            case "W":
                file = self._opened(call.name)
                for start in _blocks(call.offset, len(call.data)):
                    begin, end = max(start, call.offset), min(start + BLOCK, call.offset + len(call.data))
                    file.pending.append((begin, call.data[begin - call.offset : end - call.offset]))
            case "O":
                self._opened(call.name)
            case "T":
                self._opened(call.name).pending.append((call.offset, None))
            case "S" if not call.name:
                for name, entry in self._pending:
                    _enter(self._named, name, entry)
                self._pending.clear()
            case "S":
                self._opened(call.name).sync()
            case "U":
                if self._files.pop(call.name, None) is not None:
                    self._pending.append((call.name, None))
            case other:
                raise AssertionError(f"a call that is not modelled: {other}")

    def after_loss(self, random: Random) -> dict[str, bytes]:
        """The files after a loss of power."""
        keep = random.choice((0.0, 0.03, 0.2, 0.5, 0.8, 0.97, 1.0))
        named = dict(self._named)
        for name, entry in self._pending:
            if random.random() < keep:
                _enter(named, name, entry)
        results = {}
        for name, file in named.items():
            data = bytearray(file.synced)
            first = random.randrange(len(file.pending) + 1) if random.random() < 0.3 else 0
            for change in file.pending[first:]:
                if random.random() < keep:
                    _apply(data, change)
            results[name] = bytes(data)
        return results

    def _opened(self, name: str) -> _File:
        file = self._files.get(name)
        if file is None:
            file = self._files[name] = _File()
            self._pending.append((name, file))
        return file


def _blocks(offset: int, size: int) -> range:
    return range(offset // BLOCK * BLOCK, offset + size, BLOCK)


def _apply(data: bytearray, change: tuple[int, bytes | None]) -> None:
    offset, block = change
    if block is None:
        del data[offset:]
        data.extend(bytes(offset - len(data)))
        return
    data.extend(bytes(max(0, offset + len(block) - len(data))))
    data[offset : offset + len(block)] = block


def _enter(names: dict[str, _File], name: str, entry: _File | None) -> None:
    if entry is None:
        names.pop(name, None)
    else:
        names[name] = entry
