"""Copies the database of a data directory, also while a server uses it."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from setpoint.apiserver.storage import database
from setpoint.apiserver.storage.database import DamagedError
from setpoint.apiserver.storage.interface import StorageError

_PATIENCE: Final = 60.0
"""Seconds to wait for a server that opens or closes the database."""


def back_up(directory: Path, file: Path) -> None:
    """Writes a copy of the database in ``directory`` to ``file``, which only its owner can read; a server may use the
    directory meanwhile.

    *Guarantees*: the copy has the objects and their history as they were at one revision: every write that was
    acknowledged before the call, and each request whole. It is checked as a server checks it at its start, is durable,
    and replaces an older ``file`` in one step, so at any moment, also after a crash, ``file`` is a whole copy or what
    it was before. A killed process may leave a directory ``.setpoint-backup-*`` beside it, which can be deleted.

    Raises:
        DamagedError: the database is damaged; ``file`` is left as it was.
        StorageError: there is no database, or the copy can't be written.
    """
    source = directory / database.NAME
    if not source.is_file():
        raise StorageError(f"data directory {directory} has no {database.NAME} to copy")
    if reason := _refusal(file, source):
        raise StorageError(f"{source} can't be copied to {file}: {reason}")
    try:
        beside = Path(mkdtemp(prefix=".setpoint-backup-", dir=file.parent))
    except OSError as problem:
        raise StorageError(f"{source} can't be copied to {file}: {problem.strerror}: {file.parent}") from problem
    try:
        copy = beside / database.NAME
        _copy(source, copy)
        _check(copy, source)
        copy.chmod(0o600)
        database.sync(copy)
        copy.replace(file)
        database.sync(file.parent)
    except OSError as problem:
        raise StorageError(f"{source} can't be copied to {file}: {problem.strerror}") from problem
    except sqlite3.Error as problem:
        if getattr(problem, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise DamagedError(source, str(problem)) from problem
        raise StorageError(f"{source} can't be copied to {file}: {problem}") from problem
    finally:
        shutil.rmtree(beside)


def _refusal(file: Path, source: Path) -> str:
    if file.is_dir():
        return "it is a directory; name the file of the copy"
    if file.exists() and not file.is_file():  # a device or a pipe, which a file would replace
        return "it is not a regular file"
    if file.exists() and file.samefile(source):
        return "it is the database itself"
    log = file.with_name(f"{file.name}-wal")
    if log.exists():  # whose writes SQLite would apply to the copy
        return f"{log} belongs to a database there that is in use, or was not closed"
    return ""


def _copy(source: Path, copy: Path) -> None:
    from_ = sqlite3.connect(f"{source.resolve().as_uri()}?mode=rw", uri=True, timeout=_PATIENCE)
    try:
        to = sqlite3.connect(copy)
        try:
            from_.backup(to)
        finally:
            to.close()
    finally:
        from_.close()


def _check(copy: Path, source: Path) -> None:
    """Opens the copy as a server does, and makes it a single file. Raises StorageError."""
    try:
        connection = database.connect(copy, power_safe=True)
        try:
            database.facts(connection, copy)
            database.rows(connection, copy)
            connection.execute("PRAGMA journal_mode=DELETE")
        finally:
            connection.close()
    except DamagedError as problem:
        raise DamagedError(source, problem.reason) from None
