"""Storage in a directory: objects and their recent history survive the process."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from setpoint.apiserver.storage import database
from setpoint.apiserver.storage.database import DamagedError
from setpoint.apiserver.storage.interface import Change, Damage, Record, StorageError
from setpoint.apiserver.storage.memory import MAX_BYTES, MAX_EVENTS, MemoryStorage
from setpoint.apiserver.storage.pages import Log
from setpoint.apiserver.storage.rows import Row, sealed
from setpoint.apiserver.storage.salvage import kept_aside, salvage

__all__ = ["SqliteStorage"]

_log = logging.getLogger(__name__)
_BATCH: Final = 256
_DELETE: Final = "DELETE FROM versions WHERE revision = ?"


class SqliteStorage(MemoryStorage):
    """A storage that reads from memory and writes every change to SQLite before it is visible.

    One table holds the versions of all objects; a write appends one row. Old versions that have left the history are
    removed in batches. When the storage is opened, the rows are read once, in order, which restores objects and
    history: a client can resume its watch from the point at which the server died.

    *Guarantees*: an acknowledged write survives the process being killed at any moment, and either all or none of the
    writes of one request are stored. With ``power_safe``, acknowledged writes survive a loss of power too, at the cost
    of one fsync per write; without it, the last writes before a loss of power may be missing, but no write is torn or
    out of order, and revisions that clients remember from the missing writes are refused (410) rather than confused
    with new ones.

    All intact data in a damaged file is served: every row has a checksum, and if one is wrong, or SQLite finds the file
    malformed or truncated, the storage searches the pages for rows one by one and puts them into a new file. `damage`
    and the log name lost rows; the damaged file is kept next to the new one. Existing watches then have to start again,
    and an object whose newest version is lost is served in its newest remaining version.

    *Caveats*: all objects are in memory. SQLite is called in the event loop's thread: a write takes about ten
    microseconds without fsync, which is less than the cost of passing it to another thread.

    Raises:
        StorageError: ``directory`` is used by another process, can't be read or written, was created by a later version
            of setpoint, or is so damaged that nothing in it can be read.
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
        self._path = self._directory / "setpoint.db"
        self._obsolete: list[tuple[int]] = []
        self._horizon = 0
        self._closed = False
        self._lock = database.lock(self._directory)
        try:
            self._damage: list[Damage] = kept_aside(self._path)
            self._connection, rows = self._open(power_safe)
            try:
                self._load(rows)
            except BaseException:
                self._connection.close()
                raise
        except BaseException:
            self._lock.close()
            raise

    @property
    def damage(self) -> Sequence[Damage]:
        return self._damage

    def _open(self, power_safe: bool) -> tuple[sqlite3.Connection, list[Row]]:
        """The database and all its rows; a salvaged database if the original is damaged."""
        log = self._left_log()
        size = self._path.stat().st_size if self._path.exists() else None
        if size == 0 and not log:
            _log.warning("%s is empty: there are no objects in it", self._path)
        try:
            if log and Log(log).torn:  # which SQLite takes for the log's end
                raise DamagedError("its write-ahead log has a wrong checksum")
            if log and not size:
                raise DamagedError("all but its write-ahead log is gone")
            return self._read(power_safe)
        except DamagedError as problem:
            found = salvage(self._path, log, str(problem))
        for item in found:
            _log.error("%s", item)
        self._damage += found
        try:
            return self._read(power_safe)
        except DamagedError as problem:
            raise StorageError(f"data directory {self._directory} can't be used: {problem}") from None

    def _left_log(self) -> bytes:
        """The write-ahead log that a killed process left; empty if there is none."""
        try:
            return self._path.with_name(f"{self._path.name}-wal").read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as problem:
            raise StorageError(f"data directory {self._directory} can't be used: {problem.strerror}") from problem

    def _read(self, power_safe: bool) -> tuple[sqlite3.Connection, list[Row]]:
        """Opens the database and reads its rows. Raises DamagedError."""
        connection = database.connect(self._path, power_safe=power_safe)
        try:
            noted = database.facts(connection)
            rows = database.rows(connection, self._path)
        except BaseException:
            connection.close()
            raise
        self._horizon = self._floor = noted.get("horizon", self._floor)
        self._revision = max(self._revision, noted.get("revision", 0))
        return connection, rows

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
