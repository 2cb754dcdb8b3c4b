"""Data directories that are damaged, full, read-only, of others or of earlier versions, and copies of them."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from setpoint.apiserver.storage import SqliteStorage, StorageError, back_up

Images = dict[str, bytes]
"""The files of a data directory."""
WAYS_ON = (
    r"start with another --data-dir, empty or with a copy from --backup as setpoint\.db, "
    r"or extract what is left with SQLite's command \.recover$"
)


def document(name: str, revision: int, size: int) -> bytes:
    metadata = {"namespace": "team", "name": name, "resourceVersion": str(revision)}
    return json.dumps({"metadata": metadata, "data": {"x": "é" * size}}).encode()


def put(storage: SqliteStorage, name: str, size: int = 1) -> None:
    current = storage.get("configmaps", "team", name)
    storage.put(
        "configmaps", "team", name, lambda revision: document(name, revision, size),
        expected=current.revision if current else 0,
    )  # fmt: skip


def served(directory: Path) -> dict[str, bytes]:
    storage = SqliteStorage(directory)
    by_name = {record.name: record.value for record in storage.scan("configmaps")}
    storage.close()
    return by_name


def images(directory: Path) -> Images:
    names = ("setpoint.db", "setpoint.db-wal")
    return {name: (directory / name).read_bytes() for name in names if (directory / name).exists()}


def restored(directory: Path, files: Images) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    for name, data in files.items():
        (directory / name).write_bytes(data)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Images:
    """A directory as a killed process leaves it."""
    directory = tmp_path_factory.mktemp("killed")
    storage = SqliteStorage(directory, max_events=200)
    for index in range(600):
        put(storage, f"n{index % 90}", (100, 150, 300, 2000, 9000)[index % 5])
    files = images(directory)
    storage.close()
    return files


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory, killed: Images) -> Images:
    directory = tmp_path_factory.mktemp("closed") / "data"
    restored(directory, killed)
    SqliteStorage(directory).close()
    return images(directory)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), noise=st.binary(min_size=1, max_size=64).filter(any))
@example(0.0, b"\xff")
def test_damaged_bytes_are_served_as_they_were_or_refused(
    tmp_path: Path, closed: Images, place: float, noise: bytes
) -> None:
    """Some bytes of a file have no meaning, such as those of free pages."""
    restored(tmp_path / "data", closed)
    whole = served(tmp_path / "data")
    data = bytearray(closed["setpoint.db"])
    start = int(place * len(data))
    for index, byte in enumerate(noise[: len(data) - start]):
        data[start + index] ^= byte
    restored(tmp_path / "data", {"setpoint.db": bytes(data)})
    try:
        result = served(tmp_path / "data")
    except StorageError:
        return
    assert result == whole


def exchanged(data: bytes) -> bytes:
    """The database with two rows of a page in each other's place: all are there, but are not found by their keys."""
    pages = range(4096, len(data), 4096)
    page = next(page for page in pages if data[page] == 13 and data[page + 4] > 1)  # a leaf of a table, with more rows
    first, second = page + 8, page + 10  # the places of its rows, two bytes each, follow its head
    return data[:first] + data[second : second + 2] + data[first : first + 2] + data[second + 2 :]


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (lambda data: b"\xff" + data[1:], "file is not a database"),
        (lambda data: data[: len(data) // 2], "malformed|short"),
        (lambda data: bytes(byte ^ 0x55 for byte in data), "file is not a database"),
        (lambda data: data[:18] + b"\x09" + data[19:], "read-?only"),
        (lambda data: data.replace(b"CREATE TABLE facts", b"CREATE TABLE faces"), "malformed|tables"),
        (lambda data: data.replace(b'"name": "n17"', b'"name": "n?7"'), "configmaps team/n17 at revision .* checksum"),
        (exchanged, "out of order"),
    ],
    ids=["header", "cut off", "noise", "read-only header", "other tables", "a row", "order of rows"],
)
def test_a_damaged_database_is_refused_with_the_ways_on_and_left_alone(
    tmp_path: Path, closed: Images, harm: Callable[[bytes], bytes], why: str
) -> None:
    files = {"setpoint.db": harm(closed["setpoint.db"])}
    assert files != closed
    restored(tmp_path / "data", files)
    with pytest.raises(StorageError, match=rf"{tmp_path}/data/setpoint\.db is damaged \(.*({why}).*\): {WAYS_ON}"):
        SqliteStorage(tmp_path / "data")
    assert images(tmp_path / "data")["setpoint.db"] == files["setpoint.db"]


@pytest.mark.parametrize(
    "change", ["checksum = NULL", "value = 5", "value = 'text'", "name = 'other'", "revision = 9999"]
)
def test_a_row_that_is_another_than_was_stored_is_named(tmp_path: Path, change: str) -> None:
    storage = SqliteStorage(tmp_path)
    put(storage, "one")
    storage.close()
    connection = sqlite3.connect(tmp_path / "setpoint.db")
    with connection:
        connection.execute(f"UPDATE versions SET {change}")
    connection.close()
    with pytest.raises(StorageError, match=rf"configmaps team/\w+ at revision \d+: its (value|checksum) .*{WAYS_ON}"):
        SqliteStorage(tmp_path)


@pytest.mark.parametrize("database", [{"setpoint.db": b""}, {}], ids=["empty", "missing"])
def test_a_log_without_its_database_is_not_deleted(tmp_path: Path, killed: Images, database: Images) -> None:
    files = {"setpoint.db-wal": killed["setpoint.db-wal"], **database}
    restored(tmp_path / "data", files)
    with pytest.raises(StorageError, match=f"missing or empty, although its write-ahead log is not.*{WAYS_ON}"):
        SqliteStorage(tmp_path / "data")
    assert images(tmp_path / "data") == files


def test_a_process_that_is_killed_while_it_creates_the_database_leaves_one_that_can_be_used(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "setpoint.db")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.close()
    assert (tmp_path / "setpoint.db").stat().st_size
    assert served(tmp_path) == {}


def test_what_recover_extracts_can_be_served(tmp_path: Path, closed: Images) -> None:
    """As the documentation says it."""
    shell = shutil.which("sqlite3")
    if shell is None or subprocess.run([shell, ":memory:", ".recover"], capture_output=True, check=False).stderr:
        pytest.skip("SQLite's shell (sqlite3) is not installed, or was built without .recover, as Debian's is")
    restored(tmp_path / "data", closed)
    whole = served(tmp_path / "data")
    data = bytearray(closed["setpoint.db"])
    start = data.index(b'"name": "n17"') // 4096 * 4096
    data[start : start + 8] = b"\xff" * 8  # of a page with rows
    restored(tmp_path / "data", {"setpoint.db": bytes(data)})
    with pytest.raises(StorageError, match="is damaged"):
        SqliteStorage(tmp_path / "data")
    (tmp_path / "new").mkdir()
    command = f"{shell} data/setpoint.db '.recover --ignore-freelist' | {shell} new/setpoint.db"
    subprocess.run(command, shell=True, check=True, cwd=tmp_path, capture_output=True)
    result = served(tmp_path / "new")
    assert len(result) > len(whole) // 2
    assert result.keys() <= whole.keys()


FORMAT_1 = """
CREATE TABLE IF NOT EXISTS versions (
    revision INTEGER PRIMARY KEY,
    resource TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    deleted INTEGER NOT NULL,
    value BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
INSERT INTO facts VALUES ('horizon', 3), ('revision', 9);
PRAGMA user_version=1;
"""


@pytest.mark.parametrize("damage", [None, b'{"', b'{"metadata":{"name":"b"},"x":' + b"[" * 900 + b"]" * 900 + b"}"])
def test_directories_of_the_first_format_are_served(tmp_path: Path, damage: bytes | None) -> None:
    """Unless they have objects that can't be read, or are nested so deeply that a server would die of them."""
    connection = sqlite3.connect(tmp_path / "setpoint.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.executescript(FORMAT_1)
    for revision, name in enumerate(("a", "b", "c"), 5):
        value = document(name, revision, 1)
        connection.execute("INSERT INTO versions VALUES (?, 'configmaps', 'team', ?, 0, ?)", (revision, name, value))
    if damage is not None:
        connection.execute("UPDATE versions SET value = ? WHERE name = 'b'", (damage,))
    connection.close()
    if damage is not None:
        with pytest.raises(StorageError, match=f"configmaps team/b at revision 6: .*{WAYS_ON}"):
            SqliteStorage(tmp_path)
        return
    assert served(tmp_path).keys() == {"a", "b", "c"}
    storage = SqliteStorage(tmp_path)
    assert storage.revision == 9
    storage.close()


def test_a_full_disk_fails_the_write_and_nothing_else(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path)
    for index in range(10):
        put(storage, f"n{index}", 100)
    revision = storage.revision
    pages = storage._connection.execute("PRAGMA page_count").fetchone()[0]
    storage._connection.execute(f"PRAGMA max_page_count={pages}")  # SQLite then says what it says of a full disk
    with pytest.raises(StorageError, match="database or disk is full"):
        put(storage, "large", 50_000)
    with pytest.raises(StorageError, match="full"):
        put_both(storage)
    assert storage.revision == revision
    assert len(storage.scan("configmaps")) == 10
    storage._connection.execute("PRAGMA max_page_count=100000")
    put(storage, "large", 50_000)
    storage.close()
    assert len(served(tmp_path)) == 11


def put_both(storage: SqliteStorage) -> None:
    with storage.transaction():
        put(storage, "small", 1)
        put(storage, "large", 50_000)


OPEN = """
import sys
from setpoint.apiserver.storage import SqliteStorage, StorageError
try:
    SqliteStorage(sys.argv[1])
except StorageError as problem:
    print(problem)
"""


def test_a_directory_has_one_process_at_a_time(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path)
    put(storage, "one")
    process = subprocess.run([sys.executable, "-c", OPEN, str(tmp_path)], capture_output=True, text=True, check=True)
    assert process.stdout == f"data directory {tmp_path} is in use by another server\n"
    put(storage, "two")
    storage.close()


def test_other_users_can_not_read_the_objects_of_a_new_database(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path / "data")
    put(storage, "secret")
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "data").glob("setpoint.db*")}
    assert modes == dict.fromkeys(("setpoint.db", "setpoint.db-wal", "setpoint.db-shm"), 0o600)
    storage.close()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions of Unix")
@pytest.mark.parametrize("file_only", [False, True])
def test_a_directory_that_is_read_only_is_named(closed: Images, file_only: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "data"
        restored(directory, closed)
        (directory / "setpoint.db").chmod(0o444)
        directory.chmod(0o777 if file_only else 0o555)
        Path(folder).chmod(0o755)
        nobody = 65534 if os.geteuid() == 0 else os.geteuid()  # root may write everywhere
        before = os.geteuid()
        os.seteuid(nobody)
        try:
            with pytest.raises(
                StorageError, match=f"data directory {directory} can't be used: .*([Pp]ermission denied|unable)"
            ):
                SqliteStorage(directory)
        finally:
            os.seteuid(before)
        directory.chmod(0o755)
        assert images(directory) == closed


WRITE = """
import sys
from setpoint.apiserver.storage import SqliteStorage
storage = SqliteStorage(sys.argv[1], max_events=50)
number = 0
while True:
    number += 1
    with storage.transaction():
        for name in ("a", "b"):
            known = storage.get("configmaps", "team", name)
            storage.put(
                "configmaps", "team", name, lambda _: b"%d" % number * 2000, expected=known.revision if known else 0
            )
    print(number, flush=True)
"""


def test_a_copy_that_is_made_while_a_server_writes_is_whole_and_has_all_that_was_acknowledged(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with subprocess.Popen([sys.executable, "-c", WRITE, data], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            for number in range(10):
                acknowledged = int(process.stdout.readline())
                copy = tmp_path / "copies" / f"{number}" / "setpoint.db"
                copy.parent.mkdir(parents=True)
                back_up(data, copy)
                assert sorted(path.name for path in copy.parent.iterdir()) == ["setpoint.db"]
                assert copy.stat().st_mode & 0o777 == 0o600
                values = served(copy.parent)
                assert values["a"] == values["b"]
                assert int(values["a"][: len(values["a"]) // 2000]) >= acknowledged
            assert process.poll() is None
        finally:
            process.kill()


def test_a_copy_replaces_an_older_one(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path / "data")
    copy = tmp_path / "copies" / "setpoint.db"
    copy.parent.mkdir()
    for name in ("one", "two"):
        put(storage, name)
        back_up(tmp_path / "data", copy)
    put(storage, "three")
    storage.close()
    assert served(copy.parent).keys() == {"one", "two"}


def test_a_copy_that_fails_leaves_the_older_one(tmp_path: Path, closed: Images) -> None:
    restored(tmp_path / "data", closed)
    copy = tmp_path / "copy"
    back_up(tmp_path / "data", copy)
    before = copy.read_bytes()
    for harm in (b"\xff" + closed["setpoint.db"][1:], closed["setpoint.db"].replace(b'"n17"', b'"n?7"')):
        restored(tmp_path / "data", {"setpoint.db": harm})
        with pytest.raises(StorageError, match=rf"{tmp_path}/data/setpoint\.db is damaged .*{WAYS_ON}"):
            back_up(tmp_path / "data", copy)
        assert copy.read_bytes() == before
        assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "data"]


def test_a_copy_that_can_not_be_made_is_told(tmp_path: Path, closed: Images) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(StorageError, match=rf"data directory {tmp_path}/empty has no setpoint\.db to copy"):
        back_up(tmp_path / "empty", tmp_path / "copy")
    data = tmp_path / "data"
    restored(data, closed)
    other = tmp_path / "other"
    restored(other, {**closed, "setpoint.db-wal": b""})
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for file, why in (
        (tmp_path, "it is a directory"),
        (pipe, "it is not a regular file"),
        (data / "setpoint.db", "it is the database itself"),
        (other / "setpoint.db", f"{other}/setpoint.db-wal belongs to a database"),
        (tmp_path / "missing" / "copy", "No such file or directory"),
    ):
        with pytest.raises(StorageError, match=rf"{data}/setpoint\.db can't be copied to {file}: {why}"):
            back_up(data, file)
    assert images(data)["setpoint.db"] == closed["setpoint.db"]
    assert pipe.is_fifo()
