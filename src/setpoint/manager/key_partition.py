"""Partition: the keys of one process in a group of processes that divide all keys by a hash."""

from __future__ import annotations

from typing import Final
from zlib import crc32

import msgspec

from setpoint.meta import ObjectKey


class Partition(msgspec.Struct, frozen=True):
    """The partition with number ``index`` out of ``count``: a `setpoint.controller.environment.Share` that never
    changes.

    Every key of every controller is in exactly one of the partitions ``0`` to ``count - 1``: the same one in all
    processes.
    """

    index: int = 0
    count: int = 1

    @property
    def empty(self) -> bool:
        return False

    def owns(self, controller: str, key: ObjectKey) -> bool:
        return self.of(controller, key) == self.index

    def of(self, controller: str, key: str) -> int:
        """The index of the partition that has the key."""
        if self.count == 1:
            return 0
        # Every event of every process asks this, so the hash is the quickest one at hand. The odd factor mixes its
        # bits, because checksums of names that differ in one place differ by a pattern.
        mixed = crc32(f"{controller}/{key}".encode()) * 0x9E3779B1 & 0xFFFFFFFF
        return mixed * self.count >> 32


WHOLE: Final = Partition()
"""The only partition when keys are not divided: it has all keys."""
