"""Storage in a directory: objects and their recent history outlive the process."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from setpoint.apiserver.storage.interface import Change, Record, StorageError
from setpoint.apiserver.storage.memory import MAX_BYTES, MAX_EVENTS, MemoryStorage

__all__ = ["SqliteStorage"]

FORMAT = 1
_BATCH = 256
_SCHEMA = """
CREATE TABLE IF NOT EXISTS versions (
    revision INTEGER PRIMARY KEY,
    resource TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    deleted INTEGER NOT NULL,
    value BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
"""


class SqliteStorage(MemoryStorage):
    """Everything is read from memory, and every write goes to SQLite before anybody sees it.

    One table holds every version of every object; a write appends one row. Versions that left the history are removed
    in batches. On opening the rows are read once, in order, which restores objects and history: a client may resume
    its watch from where it was when the server died.

    *Guarantees*: a write that was acknowledged survives the process being killed at any moment. With ``power_safe`` it
    survives the loss of power too, for the price of one fsync a write; without, the last moments before a loss of power
    may be missing, never torn or out of order, and what clients remember of them is refused (410) rather than mixed up.

    *Caveats*: all objects are in memory. SQLite is called in the event loop's thread: a write takes some ten
    microseconds without fsync, which is less than passing it to another thread would cost.

    Raises:
        StorageError: another process uses ``directory``, or what is there can't be read.
    """

    def __init__(
        self,
        directory: str | Path,
        *,
        power_safe: bool = False,
        max_events: int = MAX_EVENTS,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(max_events=max_events, max_bytes=max_bytes)
        self._directory = Path(directory)
        self._obsolete: list[tuple[int]] = []
        self._horizon = 0
        self._closed = False
        self._connection = _connect(self._directory, power_safe)
        try:
            self._load()
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Flushes and unlocks. Writing afterwards raises `StorageError`.

        Raises:
            StorageError: what left the history could not be removed; it is unlocked all the same.
        """
        if self._closed:
            return
        self._closed = True
        try:
            self._clean()
        finally:
            self._connection.close()

    def _write(self, resource: str, change: Change) -> None:
        if len(self._obsolete) >= _BATCH:
            self._clean()
        record = change.record
        row = (record.revision, resource, record.namespace, record.name, change.type == "DELETED", record.value)
        try:
            self._connection.execute("INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?)", row)
        except sqlite3.Error as problem:
            raise StorageError(f"{self._directory}: can't write: {problem}") from problem

    def _trimmed(self, change: Change) -> None:
        self._horizon = change.revision
        if change.previous is not None:
            self._obsolete.append((change.previous.revision,))
        if change.type == "DELETED":
            self._obsolete.append((change.revision,))

    def _clean(self) -> None:
        """Removes what left the history. Done before a write, so that its failure is that of nothing else."""
        if not self._obsolete:
            return
        facts = [("horizon", self._horizon), ("revision", self._revision)]
        try:
            self._connection.execute("BEGIN")
            self._connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts)
            self._connection.executemany("DELETE FROM versions WHERE revision = ?", self._obsolete)
            self._connection.execute("COMMIT")
        except sqlite3.Error as problem:
            if self._connection.in_transaction:  # else what is written next would be part of it, and never committed
                self._connection.execute("ROLLBACK")
            raise StorageError(f"{self._directory}: can't write: {problem}") from problem
        self._obsolete.clear()

    def _load(self) -> None:
        facts: dict[str, int] = dict(self._connection.execute("SELECT name, value FROM facts"))
        horizon = self._horizon = self._floor = facts.get("horizon", self._floor)
        self._revision = max(self._revision, facts.get("revision", 0))
        rows = self._connection.execute(
            "SELECT revision, resource, namespace, name, deleted, value FROM versions ORDER BY revision"
        )
        for revision, resource, namespace, name, deleted, value in rows:
            collection = self._collection(resource)
            previous = self.get(resource, namespace, name)
            record = Record(namespace, name, revision, value)
            if deleted:
                if previous is not None:
                    collection.remove(namespace, name)
            else:
                collection.set(record)
            self._revision = max(self._revision, revision)
            if revision > horizon and not (deleted and previous is None):
                type_: Any = "DELETED" if deleted else "MODIFIED" if previous else "ADDED"
                self._remember(collection, Change(type_, record, previous))
            elif revision <= horizon and previous is not None:
                self._obsolete.append((previous.revision,))


def _connect(directory: Path, power_safe: bool) -> sqlite3.Connection:
    path = directory / "setpoint.db"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, isolation_level=None, timeout=0)
    except OSError as problem:
        raise StorageError(f"data directory {directory} can't be used: {problem.strerror}") from problem
    except sqlite3.Error as problem:
        raise StorageError(f"{path} can't be used: {problem}") from problem
    try:
        _set_up(connection, directory, power_safe)
    except BaseException:
        connection.close()
        raise
    return connection


def _set_up(connection: sqlite3.Connection, directory: Path, power_safe: bool) -> None:
    try:
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")  # held until the connection is closed, or the process ends
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("BEGIN EXCLUSIVE")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        connection.execute("COMMIT")
        if version > FORMAT:
            raise StorageError(
                f"data directory {directory} is of format {version}; this setpoint knows formats up to {FORMAT}"
            )
        connection.execute(f"PRAGMA synchronous={'FULL' if power_safe else 'NORMAL'}")
        connection.executescript(_SCHEMA)
        connection.execute(f"PRAGMA user_version={FORMAT}")
    except sqlite3.OperationalError as problem:
        if "locked" in str(problem):
            raise StorageError(f"data directory {directory} is in use by another server") from None
        raise StorageError(f"data directory {directory} can't be used: {problem}") from problem
    except sqlite3.Error as problem:
        raise StorageError(f"data directory {directory} can't be used: {problem}") from problem
