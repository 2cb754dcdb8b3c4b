"""Storages for the objects of an API server: in memory, or in a directory."""

from setpoint.apiserver.storage.backup import back_up
from setpoint.apiserver.storage.compaction import Compaction
from setpoint.apiserver.storage.interface import (
    Change,
    Compacted,
    Conflict,
    Damage,
    Record,
    Storage,
    StorageError,
    Subscription,
)
from setpoint.apiserver.storage.memory import MemoryStorage
from setpoint.apiserver.storage.sqlite import SqliteStorage

__all__ = [
    "Change",
    "Compacted",
    "Compaction",
    "Conflict",
    "Damage",
    "MemoryStorage",
    "Record",
    "SqliteStorage",
    "Storage",
    "StorageError",
    "Subscription",
    "back_up",
]
