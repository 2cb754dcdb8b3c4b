"""Storage in a directory: objects and their recent history survive the process."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from setpoint.apiserver.storage import database
from setpoint.apiserver.storage.interface import Change, Record, StorageError
from setpoint.apiserver.storage.memory import MAX_BYTES, MAX_EVENTS, MemoryStorage
from setpoint.apiserver.storage.rows import Row, sealed

_BATCH: Final = 256
_DELETE: Final = "DELETE FROM versions WHERE revision = ?"


class SqliteStorage(MemoryStorage):
    """A storage that reads from memory and writes every change to SQLite before it is visible.

    One table holds the versions of all objects; a write appends one row. Old versions that have left the history are
    removed in batches. When the storage is opened, the rows are read once, in order, which restores objects and
    history: a client can resume its watch from the point at which the server died.

    *Guarantees*: an acknowledged write survives the process being killed at any moment, and either all or none of the
    writes of one request are stored. With ``power_safe`` (SQLite's ``synchronous=FULL``), acknowledged writes survive
    a loss of power too, at the cost of one fsync per write. Without it (``synchronous=NORMAL``), a loss of power may
    cost the last acknowledged writes: the requests that are left are whole, and none is missing before one that is
    there. Revisions that clients remember from lost writes are refused (410) rather than confused with new ones.
    SQLite recovers the file after either; nothing else reads it.

    A database is checked when it is opened: by SQLite (``PRAGMA quick_check``), and each row by its checksum. One that
    fails is refused and left alone. `back_up` copies the database of a running server.

    *Caveats*: all objects are in memory. SQLite is called in the event loop's thread: a write takes about ten
    microseconds without fsync, which is less than the cost of passing it to another thread.

    Raises:
        StorageError: ``directory`` is used by another process, can't be read or written, was created by a later version
            of setpoint, or has a damaged database.
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
        self._path = self._directory / database.NAME
        self._obsolete: list[tuple[int]] = []
        self._horizon = 0
        self._closed = False
        self._lock = database.lock(self._directory)
        try:
            self._connection = database.connect(self._path, power_safe=power_safe)
            try:
                values = database.facts(self._connection, self._path)
                self._horizon = self._floor = values.get("horizon", self._floor)
                self._revision = max(self._revision, values.get("revision", 0))
                self._load(database.rows(self._connection, self._path))
            except BaseException:
                self._connection.close()
                raise
        except BaseException:
            self._lock.close()
            raise

    def close(self) -> None:
        """Flushes and unlocks the database. Later writes raise `StorageError`.

        Raises:
            StorageError: old versions could not be removed; the database is unlocked all the same.
        """
        if self._closed:
            return
        self._closed = True
        try:
            self._clean()
        finally:
            self._connection.close()
            self._lock.close()

    def _write(self, changes: Sequence[tuple[str, Change]]) -> None:
        if len(self._obsolete) >= _BATCH:
            self._clean()
        rows = [
            sealed(
                change.revision, resource, change.record.namespace, change.record.name, change.type == "DELETED",
                change.record.value,
            )
            for resource, change in changes
        ]  # fmt: skip
        try:
            if len(rows) == 1:
                self._connection.execute(database.INSERT, rows[0])
            else:
                self._connection.execute("BEGIN")
                self._connection.executemany(database.INSERT, rows)
                self._connection.execute("COMMIT")
        except sqlite3.Error as problem:
            raise self._failed(problem) from problem

    def _failed(self, problem: sqlite3.Error) -> StorageError:
        """Rolls back a failed write, so later writes are not part of its transaction, and returns the error to
        raise.
        """
        if not self._closed and self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        return StorageError(f"{self._directory}: can't write: {problem}")

    def _trimmed(self, change: Change) -> None:
        self._horizon = change.revision
        if change.previous is not None:
            self._obsolete.append((change.previous.revision,))
        if change.type == "DELETED":
            self._obsolete.append((change.revision,))

    def _clean(self) -> None:
        """Removes versions that have left the history, in a separate transaction, so a failure affects nothing else."""
        if not self._obsolete:
            return
        try:
            self._connection.execute("BEGIN")
            database.write_facts(self._connection, {"horizon": self._horizon, "revision": self._revision})
            self._connection.executemany(_DELETE, self._obsolete)
            self._connection.execute("COMMIT")
        except sqlite3.Error as problem:
            raise self._failed(problem) from problem
        self._obsolete.clear()

    def _load(self, rows: Sequence[Row]) -> None:
        horizon = self._horizon
        for revision, resource, namespace, name, deleted, value, _ in rows:
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
                change = Change(type_, record, previous)
                collection.note(change)
                self._remember(collection, change)
            elif revision <= horizon and previous is not None:
                self._obsolete.append((previous.revision,))
