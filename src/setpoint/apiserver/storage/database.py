"""The SQLite file of a data directory: it is opened, locked, checked, and upgraded to the current format.

SQLite alone reads and recovers the file. This module checks only what SQLite can't know: that the tables are those of
this format, and that each row is what was written.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from setpoint.apiserver.storage.interface import StorageError
from setpoint.apiserver.storage.rows import Row, fact_checksum, sealed, wrong, wrong_in_format_1

NAME: Final = "setpoint.db"
"""The name of the file in its directory."""
FORMAT: Final = 2
INSERT: Final = "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?)"
_OLD: Final = """CREATE TABLE versions (
    revision INTEGER PRIMARY KEY,
    resource TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    deleted INTEGER NOT NULL,
    value BLOB NOT NULL
)"""
_VERSIONS: Final = f"{_OLD[:-2]},\n    checksum INTEGER\n)"
_FACTS: Final = "CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL, checksum INTEGER)"
_DAMAGE: Final = frozenset(
    {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_TOOBIG}
)
_SHORT_READ: Final = 522
_LOG_HEAD: Final = 32
_PATIENCE: Final = 5.0
"""Seconds to wait for a program that opens or closes the same database, such as one that copies it."""


class DamagedError(StorageError):
    """The contents of a database are not what was written."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path} is damaged ({reason}): start with another --data-dir, empty or with a copy from --backup "
            f"as {NAME}, or extract what is left with SQLite's command .recover"
        )
        self.reason = reason


def lock(directory: Path) -> sqlite3.Connection:
    """Locks the directory, which is created if it does not exist, for this process until the connection is closed or
    the process ends.

    The lock is on a separate file, so the database can be copied while a server uses it.

    Raises:
        StorageError: another process holds the lock, or the directory can't be used.
    """
    try:
        _make(directory)
        lock = sqlite3.connect(directory / "setpoint.lock", isolation_level=None, timeout=0)
    except OSError as problem:
        raise StorageError(f"data directory {directory} can't be used: {problem.strerror}") from problem
    except sqlite3.Error as problem:
        raise StorageError(f"data directory {directory} can't be used: {problem}") from problem
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as problem:
        lock.close()
        if _code(problem) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise StorageError(f"data directory {directory} is in use by another server") from None
        raise StorageError(f"data directory {directory} can't be used: {problem}") from problem
    return lock


def connect(path: Path, *, power_safe: bool) -> sqlite3.Connection:
    """Opens the database, or creates it, readable by its owner alone, if it does not exist. The caller holds the
    directory's lock.

    Raises:
        DamagedError: the contents are not what was written.
        StorageError: the file can't be used, or was created by a later version of setpoint.
    """
    size = path.stat().st_size if path.exists() else 0
    log = path.with_name(f"{path.name}-wal")
    if not size and log.exists() and log.stat().st_size > _LOG_HEAD:  # SQLite would delete the log
        raise DamagedError(path, "it is missing or empty, although its write-ahead log is not")
    try:
        if size:
            path.open("r+b").close()  # what SQLite says of a file that it may not write is "disk I/O error"
        else:
            path.touch(mode=0o600)  # Secrets are in it; SQLite gives its log the same mode
        connection = sqlite3.connect(path, isolation_level=None, timeout=_PATIENCE)
    except OSError as problem:
        reason = f"{path.name}: {problem.strerror}"
        raise StorageError(f"data directory {path.parent} can't be used: {reason}") from problem
    except sqlite3.Error as problem:
        raise StorageError(f"data directory {path.parent} can't be used: {problem}") from problem
    try:
        _set_up(connection, path, power_safe=power_safe)
    except BaseException as problem:
        connection.close()
        if isinstance(problem, sqlite3.Error):
            raise _sorted(problem, path) from problem
        raise
    return connection


def rows(connection: sqlite3.Connection, path: Path) -> list[Row]:
    """All stored versions of objects, in the order of their revisions.

    Raises:
        DamagedError: a row is not what was written.
    """
    try:
        stored = [Row(*row) for row in connection.execute("SELECT * FROM versions ORDER BY revision")]
    except sqlite3.Error as problem:
        raise _sorted(problem, path) from problem
    _verify(stored, path, wrong)
    return stored


def facts(connection: sqlite3.Connection, path: Path) -> dict[str, int]:
    """The named integers that are stored in a separate table; their checksums are verified. Raises DamagedError."""
    values: dict[str, int] = {}
    try:
        stored = connection.execute("SELECT name, value, checksum FROM facts").fetchall()
    except sqlite3.Error as problem:
        raise _sorted(problem, path) from problem
    for name, value, checksum in stored:
        if checksum != fact_checksum(name, value):
            raise DamagedError(path, f"the fact {name} has a wrong checksum")
        values[name] = value
    return values


def write_facts(connection: sqlite3.Connection, values: dict[str, int]) -> None:
    """Writes facts, within the caller's transaction."""
    stored = [(name, value, fact_checksum(name, value)) for name, value in values.items()]
    connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", stored)


def _make(directory: Path) -> None:
    """Creates the directory with its parents, and makes their entries durable."""
    if directory.is_dir():
        return
    _make(directory.parent)
    directory.mkdir(exist_ok=True)
    sync(directory.parent)


def sync(path: Path) -> None:
    """Makes the content of a file, or the entries of a directory, durable. Windows opens no directories; NTFS writes
    their entries to its journal.
    """
    if sys.platform == "win32" and path.is_dir():
        return
    opened = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _code(problem: sqlite3.Error) -> int | None:
    return getattr(problem, "sqlite_errorcode", None)


def _sorted(problem: sqlite3.Error, path: Path) -> StorageError:
    code = _code(problem)
    if code is None or code & 0xFF in _DAMAGE or code == _SHORT_READ:
        return DamagedError(path, str(problem))
    if code & 0xFF == sqlite3.SQLITE_READONLY and os.access(path.parent, os.W_OK):
        # the file may be written, or it would not have been opened: it is its header that says otherwise
        return DamagedError(path, str(problem))
    if code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StorageError(f"data directory {path.parent} is in use by another program")
    return StorageError(f"data directory {path.parent} can't be used: {problem}")


def _set_up(connection: sqlite3.Connection, path: Path, *, power_safe: bool) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={'FULL' if power_safe else 'NORMAL'}")
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise DamagedError(path, " ".join(verdict.split()))
    tables = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall())
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > FORMAT:
        raise StorageError(
            f"data directory {path.parent} is of format {version}; this setpoint knows formats up to {FORMAT}"
        )
    if not tables:  # a process that is killed while it creates the database leaves one without tables
        _create(connection)
    elif tables.get("versions") == _OLD and "facts" in tables:
        _upgrade(connection, path)
    elif tables.get("versions") != _VERSIONS or tables.get("facts") != _FACTS or version != FORMAT:
        raise DamagedError(path, "its tables differ from those of this format")
    connection.execute("DELETE FROM versions WHERE 0")  # fails if it can't be written


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN")
    connection.execute(_VERSIONS)
    connection.execute(_FACTS)
    connection.execute(f"PRAGMA user_version={FORMAT}")
    connection.execute("COMMIT")


def _verify(stored: list[Row], path: Path, wrong: Callable[[Row], str]) -> None:
    for row in stored:
        if reason := wrong(row):
            raise DamagedError(path, f"{row.subject} at revision {row.revision}: {reason}")


def _upgrade(connection: sqlite3.Connection, path: Path) -> None:
    """Adds the checksums that format 1 lacks."""
    stored = [Row(*row) for row in connection.execute("SELECT *, NULL FROM versions ORDER BY revision")]
    values = dict(connection.execute("SELECT name, value FROM facts"))
    _verify(stored, path, wrong_in_format_1)
    connection.execute("BEGIN")
    connection.execute("DROP TABLE versions")
    connection.execute("DROP TABLE facts")
    connection.execute(_VERSIONS)
    connection.execute(_FACTS)
    sealed_rows = [
        sealed(row.revision, row.resource, row.namespace, row.name, bool(row.deleted), row.value) for row in stored
    ]
    connection.executemany(INSERT, sealed_rows)
    write_facts(connection, values)
    connection.execute(f"PRAGMA user_version={FORMAT}")
    connection.execute("COMMIT")
