"""A tree of generated files, which can be written to a folder repeatedly without overwriting a person's changes."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

RECORD: Final = ".setpoint.json"
"""The file with the digests of the generated files, by which a later run finds the files that a person has changed."""


class TreeError(Exception):
    """A folder can't be written; the message names the file and the remedy."""


@dataclass(frozen=True)
class File:
    """A generated file. With ``once``, it belongs to the user as soon as it exists: it is neither
    updated nor removed, and is overwritten only with ``force``.
    """

    text: str
    once: bool = False
    is_executable: bool = False


@dataclass
class Written:
    """The result of `write`, as paths relative to the folder."""

    created: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    """The files that a person changed and that were overwritten because of ``force``."""
    modified: list[str] = field(default_factory=list)
    """The files that a person changed and that were left alone."""

    def lines(self) -> list[str]:
        """One line for each file that has changed, or that differs from what was generated."""
        words = (
            ("created", self.created),
            ("updated", self.updated),
            ("removed", self.removed),
            ("replaced (it had changes of yours)", self.replaced),
            ("kept (it has changes of yours; --force replaces it)", self.modified),
        )
        return [f"{word}: {path}" for word, paths in words for path in sorted(paths)]


def write(
    folder: Path,
    files: Mapping[str, File],
    *,
    force: bool = False,
    scope: str = "",
    facts: Mapping[str, dict[str, Any]] | None = None,
) -> Written:
    """Writes the files into the folder, which is created if it is missing.

    This function updates each file that is unchanged since an earlier run, or removes it if it is no longer generated,
    unless the file is marked ``once``. A file that a person has made or changed is left alone or, if ``force`` is set,
    overwritten. A second run with the same files changes nothing.

    ``scope`` names the command; files of other scopes are never removed. ``facts`` are stored in the record before any
    file is written.

    *After a crash* in the middle, each existing file is either old or new, never half-written, and the next run
    completes the work.

    Raises:
        TreeError: the folder or a file can't be read or written.
    """
    result = Written()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        record = recorded(folder)
        if facts:
            record |= facts
            _record_in(folder, record)
        scopes = record.setdefault("files", {})
        last_digests = dict(scopes.get(scope, {}))
        digests = {path: digest for path, digest in last_digests.items() if path not in files}
        for path, file in files.items():
            _write_one(folder, path, file, last_digests.get(path, ""), force, result)
            if path not in result.modified and not file.once:
                digests[path] = _digest(file.text.encode())
        for path in [path for path in digests if path not in files]:
            _remove_stale(folder, path, digests.pop(path), result)
        digests |= {path: last_digests[path] for path in result.modified if path in last_digests}
        scopes[scope] = digests
        _record_in(folder, record)
    except FileExistsError as problem:
        raise TreeError(f"{problem.filename}: a folder is needed there, but it is a file") from None
    except OSError as problem:
        raise TreeError(f"{problem.filename or folder}: {problem.strerror}") from None
    return result


def _write_one(folder: Path, path: str, file: File, last_digest: str, force: bool, result: Written) -> None:
    place = folder / path
    present = _bytes(place)
    if present == file.text.encode():
        return
    if present is None:
        result.created.append(path)
    elif not file.once and _digest(present) == last_digest:
        result.updated.append(path)
    elif force:
        result.replaced.append(path)
    else:
        result.modified.append(path)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    replace_file(place, file.text.encode(), is_executable=file.is_executable)


def _remove_stale(folder: Path, path: str, digest: str, result: Written) -> None:
    present = _bytes(folder / path)
    if present is not None and _digest(present) == digest:
        (folder / path).unlink()
        result.removed.append(path)


def replace_file(place: Path, content: bytes, *, is_executable: bool = False) -> None:
    """Writes a file as a whole: after a crash it is either old or new. Raises OSError."""
    beside = place.with_name(f".{place.name}.new")
    try:
        beside.write_bytes(content)
        if is_executable:
            beside.chmod(0o755)
        os.replace(beside, place)
    except BaseException:  # also Ctrl-C: it goes on to the caller, and no unfinished file stays
        with suppress(OSError):
            beside.unlink()
        raise


def _bytes(place: Path) -> bytes | None:
    try:
        return place.read_bytes()
    except FileNotFoundError:
        return None


def recorded(folder: Path) -> dict[str, dict[str, Any]]:
    """The content of the folder's record; empty if there is none.

    Raises:
        TreeError: the file is not a record.
        OSError: the file can't be read.
    """
    place = folder / RECORD
    present = _bytes(place)
    if present is None:
        return {}
    try:
        return msgspec.json.decode(present, type=dict[str, dict[str, Any]])
    except msgspec.DecodeError:
        raise TreeError(f"{place}: not a record of generated files; delete it, and use --force") from None


def _record_in(folder: Path, record: Mapping[str, Any]) -> None:
    """Writes the folder's record, in an order that does not depend on earlier runs."""
    files = {
        scope: dict(sorted(digests.items())) for scope, digests in sorted(record.get("files", {}).items()) if digests
    }
    text = json.dumps({**record, "files": files}, indent=2, sort_keys=True) + "\n"
    if _bytes(folder / RECORD) != text.encode():
        replace_file(folder / RECORD, text.encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
