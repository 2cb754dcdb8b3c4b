"""The SQLite file of a data directory: it is opened, locked, checked, and upgraded to the current format."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Final

from setpoint.apiserver.storage.interface import StorageError
from setpoint.apiserver.storage.pages import PAGE
from setpoint.apiserver.storage.rows import Row, fact_checksum, sealed, wrong

__all__ = ["FORMAT", "INSERT", "DamagedError", "connect", "create", "facts", "is_damage", "lock", "rows", "write_facts"]

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


class DamagedError(Exception):
    """The file's contents are not what was written."""


def lock(directory: Path) -> sqlite3.Connection:
    """Locks the directory for this process until the connection is closed or the process ends.

    The lock is on a separate file, because the database may have to be read and replaced.

    Raises:
        StorageError: another process holds the lock, or the directory can't be used.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        held = sqlite3.connect(directory / "setpoint.lock", isolation_level=None, timeout=0)
    except OSError as problem:
        raise StorageError(f"data directory {directory} can't be used: {problem.strerror}") from problem
    except sqlite3.Error as problem:
        raise StorageError(f"data directory {directory} can't be used: {problem}") from problem
    try:
        held.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as problem:
        held.close()
        if _code(problem) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise StorageError(f"data directory {directory} is in use by another server") from None
        raise StorageError(f"data directory {directory} can't be used: {problem}") from problem
    return held


def connect(path: Path, *, power_safe: bool) -> sqlite3.Connection:
    """Opens the database, or creates it if it does not exist. No other process may use it while it is open.

    Raises:
        DamagedError: the contents are not what was written.
        StorageError: the file can't be used, or was created by a later version of setpoint.
    """
    fresh = not path.exists() or not path.stat().st_size
    try:
        if not fresh:
            path.open("r+b").close()  # what SQLite says of a file that it may not write is "disk I/O error"
        connection = sqlite3.connect(path, isolation_level=None, timeout=0)
    except OSError as problem:
        why = f"{path.name}: {problem.strerror}"
        raise StorageError(f"data directory {path.parent} can't be used: {why}") from problem
    except sqlite3.Error as problem:
        raise StorageError(f"data directory {path.parent} can't be used: {problem}") from problem
    try:
        _set_up(connection, path, fresh=fresh, power_safe=power_safe)
    except BaseException as problem:
        connection.close()
        if isinstance(problem, sqlite3.Error):
            raise _sorted(problem, path) from problem
        raise
    return connection


def create(connection: sqlite3.Connection) -> None:
    """Creates the tables."""
    connection.execute(f"PRAGMA page_size={PAGE}")
    connection.execute("BEGIN")
    connection.execute(_VERSIONS)
    connection.execute(_FACTS)
    write_facts(connection, {"format": FORMAT})
    connection.execute(f"PRAGMA user_version={FORMAT}")
    connection.execute("COMMIT")


def rows(connection: sqlite3.Connection, path: Path) -> list[Row]:
    """All stored versions of objects, in the order of their revisions.

    Raises:
        DamagedError: a row is not what was written.
    """
    try:
        found = [Row(*row) for row in connection.execute("SELECT * FROM versions ORDER BY revision")]
    except sqlite3.Error as problem:
        raise _sorted(problem, path) from problem
    for row in found:
        if why := wrong(row):
            raise DamagedError(f"{row.what} at revision {row.revision}: {why}")
    return found


def facts(connection: sqlite3.Connection) -> dict[str, int]:
    """The named integers that are stored in a separate table; their checksums are verified. Raises DamagedError."""
    made: dict[str, int] = {}
    for name, value, checksum in connection.execute("SELECT name, value, checksum FROM facts"):
        if checksum != fact_checksum(name, value):
            raise DamagedError(f"what is noted as {name} has a wrong checksum")
        made[name] = value
    return made


def write_facts(connection: sqlite3.Connection, noted: dict[str, int]) -> None:
    """Writes facts, within the caller's transaction."""
    made = [(name, value, fact_checksum(name, value)) for name, value in noted.items()]
    connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", made)


def is_damage(problem: sqlite3.Error, path: Path) -> bool:
    """Whether an error means that the file is damaged, rather than that it can't be reached or written."""
    code = _code(problem)
    if code is None or code & 0xFF in _DAMAGE or code == _SHORT_READ:
        return True
    # the file may be written, or it would not have been opened: it is its header that says otherwise
    return code & 0xFF == sqlite3.SQLITE_READONLY and os.access(path.parent, os.W_OK)


def _code(problem: sqlite3.Error) -> int | None:
    return getattr(problem, "sqlite_errorcode", None)


def _sorted(problem: sqlite3.Error, path: Path) -> DamagedError | StorageError:
    if is_damage(problem, path):
        return DamagedError(str(problem))
    if (_code(problem) or 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StorageError(f"data directory {path.parent} is in use by another server")
    return StorageError(f"data directory {path.parent} can't be used: {problem}")


def _set_up(connection: sqlite3.Connection, path: Path, *, fresh: bool, power_safe: bool) -> None:
    connection.execute("PRAGMA locking_mode=EXCLUSIVE")
    connection.execute("PRAGMA secure_delete=ON")  # what was removed must not be found again by `salvage`
    if fresh:
        connection.execute(f"PRAGMA page_size={PAGE}")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={'FULL' if power_safe else 'NORMAL'}")
    if fresh:
        create(connection)
        return
    (verdict,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    tables = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall())
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    noted: int | None = None
    try:
        noted = facts(connection).get("format") if tables.get("facts") == _FACTS else None
    except DamagedError:
        if version <= FORMAT:
            raise
    if version > FORMAT and noted != FORMAT:
        raise StorageError(
            f"data directory {path.parent} is of format {version}; this setpoint knows formats up to {FORMAT}"
        )
    if verdict != "ok":
        raise DamagedError(" ".join(verdict.split()))
    if tables.get("versions") == _OLD and noted is None:
        _upgrade(connection, tables)
    elif tables.get("versions") != _VERSIONS or noted != FORMAT or version != FORMAT:
        raise DamagedError("its tables are not those that were made")
    connection.execute("DELETE FROM versions WHERE 0")  # fails if it can't be written


def _upgrade(connection: sqlite3.Connection, tables: dict[str, str]) -> None:
    """Adds the checksums that format 1 lacks."""
    if "facts" not in tables:
        raise DamagedError("its tables are not those that were made")
    found = [Row(*row) for row in connection.execute("SELECT *, NULL FROM versions ORDER BY revision")]
    noted = dict(connection.execute("SELECT name, value FROM facts"))
    for row in found:
        if why := wrong(row):
            raise DamagedError(f"{row.what} at revision {row.revision}: {why}")
    connection.execute("BEGIN")
    connection.execute("DROP TABLE versions")
    connection.execute("DROP TABLE facts")
    connection.execute(_VERSIONS)
    connection.execute(_FACTS)
    made = [sealed(row.revision, row.resource, row.namespace, row.name, bool(row.deleted), row.value) for row in found]
    connection.executemany(INSERT, made)
    write_facts(connection, {**noted, "format": FORMAT})
    connection.execute(f"PRAGMA user_version={FORMAT}")
    connection.execute("COMMIT")
