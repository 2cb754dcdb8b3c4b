"""Copies the intact rows of a damaged database into a new one; the damaged file is kept."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from setpoint.apiserver.storage.database import INSERT, create, write_facts
from setpoint.apiserver.storage.interface import Damage, StorageError
from setpoint.apiserver.storage.pages import Found, Log, rows_of
from setpoint.apiserver.storage.rows import Row, sealed, wrong

__all__ = ["kept_aside", "salvage"]

Key = tuple[str, str, str]


def salvage(path: Path, log: bytes, why: str) -> list[Damage]:
    """Replaces the database at ``path`` with a new one that has all objects whose rows are intact; returns the damage
    that was found.

    ``log`` is the write-ahead log as it was before the database was opened. If the newest version of an object is lost,
    the new database has its newest intact version. The history is lost, so watchers have to list again. The new file
    replaces the damaged one in a single step; the damaged file and its log are kept next to the new file.

    Raises:
        StorageError: nothing in the file can be read, or the new file can't be written; the damaged file stays.
    """
    try:
        if not path.exists():
            path.touch()  # a missing file is handled and kept like an empty one
        data = path.read_bytes()
    except OSError as problem:
        raise StorageError(f"{path} can't be used: {problem.strerror}") from problem
    whole, broken = _sort(rows_of(data, Log(log)))
    if not whole:
        files = f"it and {path.name}-wal" if log else "it"
        raise StorageError(
            f"data directory {path.parent} can't be used: {path.name} is damaged ({why}) and nothing in it can be "
            f"read. Move {files} away to start with no objects"
        )
    left = _newest(whole.values())
    aside = _free_name(path)
    try:
        _write(path.with_name(f"{path.name}.new"), left.values(), max(whole))
        shutil.copy2(path, aside)
        beside = path.with_name(f"{path.name}-wal")
        if log:
            aside.with_name(f"{aside.name}-wal").write_bytes(log)
        beside.unlink(missing_ok=True)
        os.replace(path.with_name(f"{path.name}.new"), path)
    except (OSError, sqlite3.Error) as problem:
        raise StorageError(
            f"data directory {path.parent} can't be used: {path.name} is damaged ({why}), and a new one can't be "
            f"written: {problem}"
        ) from problem
    return _told(path, aside, why, broken, left)


def kept_aside(path: Path) -> list[Damage]:
    """A `Damage` for each damaged database that `salvage` has kept in the directory, including those of earlier
    runs.
    """
    names = sorted(
        found.name for found in path.parent.glob(f"{path.name}.damaged-*") if not found.name.endswith("-wal")
    )
    return [Damage(name, "a damaged database that was replaced; delete it when it is of no use") for name in names]


def _sort(found: Iterable[Found]) -> tuple[dict[int, Row], list[Found]]:
    whole: dict[int, Row] = {}
    broken: list[Found] = []
    for item in found:
        if item.row is not None and item.intact and not wrong(item.row):
            whole[item.row.revision] = item.row
        else:
            broken.append(item)
    names = {row.what for row in whole.values()}
    kept: list[Found] = []
    for item in broken:
        row = item.row
        if row is not None and row.revision in whole:
            continue  # a copy of it is whole
        if row is not None and row.what not in names and not row.what.isprintable():
            row = None
        if (made := Found(item.page, row, False)) not in kept:
            kept.append(made)
    return whole, kept


def _newest(rows: Iterable[Row]) -> dict[Key, Row]:
    made: dict[Key, Row] = {}
    for row in sorted(rows):
        key = (row.resource, row.namespace, row.name)
        if row.deleted:
            made.pop(key, None)
        else:
            made[key] = row
    return made


def _write(path: Path, rows: Iterable[Row], revision: int) -> None:
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        create(connection)
        connection.execute("BEGIN")
        made = [sealed(*row[:4], bool(row.deleted), row.value) for row in rows]
        connection.executemany(INSERT, made)
        write_facts(connection, {"horizon": revision, "revision": revision})
        connection.execute("COMMIT")
    finally:
        connection.close()


def _free_name(path: Path) -> Path:
    number = 1
    while (name := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    return name


def _told(path: Path, aside: Path, why: str, broken: list[Found], left: dict[Key, Row]) -> list[Damage]:
    kept = f"The damaged file is kept as {aside}"
    told = [Damage(str(path), f"it is damaged ({why}); {len(left)} objects in it are whole and are served. {kept}")]
    named = {(row.resource, row.namespace, row.name): row for _, row, _ in broken if row is not None}
    for key, row in sorted(named.items()):
        there = left.get(key)
        now = "it is not served" if there is None else f"it is served as it was at revision {there.revision}"
        told.append(Damage(row.what, f"a version of it can't be read; {now}. {kept}"))
    for page in sorted({page for page, row, _ in broken if row is None}):
        told.append(Damage(f"page {page} of {path.name}", f"it has rows that can't be read. {kept}"))
    return told
