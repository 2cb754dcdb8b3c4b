"""Data directories that are damaged, full, read-only or of others: what is whole is served, what is not is named."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from setpoint.apiserver.storage import Compacted, SqliteStorage, StorageError

Key = tuple[str, str, str]
Images = dict[str, bytes]
"""Of a data directory: its files."""


def document(key: Key, revision: int, size: int) -> bytes:
    metadata = {"namespace": key[1], "name": key[2], "resourceVersion": str(revision)}
    return json.dumps({"metadata": metadata, "data": {"x": "é" * size}}).encode()


class Written:
    """A directory with some history: ``versions`` are all that was ever written, ``newest`` what there is at last."""

    def __init__(self, directory: Path) -> None:
        random = Random(7)
        self.versions: dict[Key, list[bytes]] = {}
        self.newest: dict[Key, bytes] = {}
        storage = SqliteStorage(directory, max_events=200)
        for index in range(900):
            key = ("configmaps", "", f"n{index}") if index < 90 else self._any(random)
            size = random.choice((100, 150, 300, 2000, 9000)) if index % 7 == 0 else 150
            known = storage.get(*key)
            if known is not None and random.random() < 0.1:
                storage.delete(*key, lambda revision, key=key: document(key, revision, 1), expected=known.revision)
                del self.newest[key]
                continue
            record = storage.put(
                *key, lambda revision, key=key, size=size: document(key, revision, size),
                expected=known.revision if known else 0,
            )  # fmt: skip
            self.versions.setdefault(key, []).append(record.value)
            self.newest[key] = record.value
        self.killed = images(directory)
        storage.close()
        self.closed = images(directory)

    def _any(self, random: Random) -> Key:
        return ("configmaps", "", f"n{random.randrange(90)}")


def images(directory: Path) -> Images:
    names = ("setpoint.db", "setpoint.db-wal")
    return {name: (directory / name).read_bytes() for name in names if (directory / name).exists()}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return Written(tmp_path_factory.mktemp("written"))


def restored(directory: Path, files: Images) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    for name, data in files.items():
        (directory / name).write_bytes(data)


def served(storage: SqliteStorage) -> dict[Key, bytes]:
    return {("configmaps", record.namespace, record.name): record.value for record in storage.scan("configmaps")}


def check(directory: Path, written: Written, at_most: int) -> None:
    """Opens a damaged directory: all but a few objects are there, nothing is made up, and what is missing is told."""
    before = images(directory)
    storage = SqliteStorage(directory)
    found = served(storage)
    made_up = [key for key, value in found.items() if value not in written.versions.get(key, ())]
    assert not made_up
    other = {key for key in found.keys() | written.newest.keys() if found.get(key) != written.newest.get(key)}
    assert len(other) <= at_most
    if other:
        assert storage.damage
    if storage.damage:
        assert (directory / "setpoint.db.damaged-1").exists()
        if "setpoint.db-wal" in before:
            assert (directory / "setpoint.db.damaged-1-wal").read_bytes() == before["setpoint.db-wal"]
    storage.put("configmaps", "", "later", lambda revision: document(("", "", "later"), revision, 1), expected=0)
    storage.close()
    again = SqliteStorage(directory)
    found["configmaps", "", "later"] = served(again)["configmaps", "", "later"]
    assert served(again) == found
    assert len(again.damage) <= 1
    again.close()


AT_ONCE = 40
"""Rows that a damaged span of 64 bytes can hit: it lies on two pages at most, and twenty of the smallest fill one."""


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    place=st.tuples(st.sampled_from(["closed", "killed"]), st.floats(0, 1, exclude_max=True)),
    noise=st.binary(min_size=1, max_size=64).filter(any),
    in_log=st.booleans(),
)
@example(("closed", 0.0), b"\xff", False)
@example(("killed", 0.0), b"\xff", True)
def test_any_damaged_bytes_cost_only_the_rows_that_they_are_in(
    tmp_path: Path, written: Written, place: tuple[str, float], noise: bytes, in_log: bool
) -> None:
    files = dict(written.closed if place[0] == "closed" else written.killed)
    name = "setpoint.db-wal" if in_log and "setpoint.db-wal" in files else "setpoint.db"
    data = bytearray(files[name])
    start = int(place[1] * len(data))
    for index, byte in enumerate(noise[: len(data) - start]):
        data[start + index] ^= byte
    files[name] = bytes(data)
    restored(tmp_path / "data", files)
    check(tmp_path / "data", written, AT_ONCE)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(offset=st.integers(0, 99) | st.integers(4096, 4096 + 64), bit=st.integers(0, 7))
@example(18, 2)
@example(60, 0)
@example(63, 7)
@example(59, 1)
def test_a_damaged_header_costs_nothing(tmp_path: Path, written: Written, offset: int, bit: int) -> None:
    files = dict(written.closed)
    data = bytearray(files["setpoint.db"])
    data[offset] ^= 1 << bit
    files["setpoint.db"] = bytes(data)
    restored(tmp_path / "data", files)
    check(tmp_path / "data", written, 0 if offset < 100 else AT_ONCE)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(part=st.floats(0.2, 0.999))
def test_a_file_that_was_cut_off_serves_what_is_left(tmp_path: Path, written: Written, part: float) -> None:
    data = written.closed["setpoint.db"]
    cut = data[: int(len(data) * part)]
    restored(tmp_path / "data", {"setpoint.db": cut})
    lost = int(len(written.newest) * (1 - part) + AT_ONCE)
    check(tmp_path / "data", written, len(written.newest) if part < 0.5 else lost + len(written.newest) // 3)


@pytest.mark.parametrize("database", [{"setpoint.db": b""}, {}], ids=["empty", "missing"])
def test_a_log_without_its_database_is_served_from(tmp_path: Path, written: Written, database: Images) -> None:
    restored(tmp_path / "data", {"setpoint.db-wal": written.killed["setpoint.db-wal"], **database})
    storage = SqliteStorage(tmp_path / "data")
    assert any("all but its write-ahead log is gone" in item.why for item in storage.damage)
    assert served(storage)
    storage.close()
    again = SqliteStorage(tmp_path / "data")
    assert [item.what for item in again.damage] == ["setpoint.db.damaged-1"]
    assert served(again)
    again.close()


def test_a_log_with_nothing_in_it_is_to_be_moved_away_too(tmp_path: Path) -> None:
    restored(tmp_path / "data", {"setpoint.db-wal": b"x" * 5000})
    with pytest.raises(StorageError, match=r"Move it and setpoint\.db-wal away"):
        SqliteStorage(tmp_path / "data")


def test_a_damaged_row_is_named_and_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    storage = SqliteStorage(tmp_path)
    for name in ("good", "bad", "better"):
        key = ("configmaps", "team", name)
        storage.put(*key, lambda revision, key=key: document(key, revision, 1), expected=0)
    storage.close()
    file = tmp_path / "setpoint.db"
    data = file.read_bytes()
    damaged = data.replace(b'"name": "bad"', b'"name": "b?d"')
    file.write_bytes(damaged)
    again = SqliteStorage(tmp_path)
    assert [record.name for record in again.scan("configmaps")] == ["better", "good"]
    (named,) = [item for item in again.damage if item.what == "configmaps team/bad"]
    assert "it is not served" in named.why
    assert str(named) in caplog.text
    assert (tmp_path / "setpoint.db.damaged-1").read_bytes() == damaged
    again.close()
    later = SqliteStorage(tmp_path)
    assert [item.what for item in later.damage] == ["setpoint.db.damaged-1"]
    later.close()


def test_watches_of_before_a_damage_begin_anew(tmp_path: Path, written: Written) -> None:
    files = dict(written.closed)
    files["setpoint.db"] = b"\xff" + files["setpoint.db"][1:]
    restored(tmp_path / "data", files)
    storage = SqliteStorage(tmp_path / "data")
    with pytest.raises(Compacted):
        storage.subscribe("configmaps", storage.revision - 1, lambda: None)
    storage.subscribe("configmaps", storage.revision, lambda: None)
    storage.close()


def test_a_damage_that_nothing_survives_is_refused_and_left_alone(tmp_path: Path, written: Written) -> None:
    data = bytes(byte ^ 0x55 for byte in written.closed["setpoint.db"])
    restored(tmp_path / "data", {"setpoint.db": data})
    with pytest.raises(StorageError, match=r"nothing in it can be read\. Move it away"):
        SqliteStorage(tmp_path / "data")
    assert images(tmp_path / "data") == {"setpoint.db": data}


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
    """That had objects, too, which were nested so deeply that the server died of them at every start."""
    damaged = damage is not None
    connection = sqlite3.connect(tmp_path / "setpoint.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.executescript(FORMAT_1)
    keys = [("configmaps", "team", name) for name in ("a", "b", "c")]
    for revision, key in enumerate(keys, 5):
        value = document(key, revision, 1)
        connection.execute("INSERT INTO versions VALUES (?, ?, ?, ?, 0, ?)", (revision, *key, value))
    if damaged:
        connection.execute("UPDATE versions SET value = ? WHERE name = 'b'", (damage,))
    connection.close()
    storage = SqliteStorage(tmp_path)
    assert [record.name for record in storage.scan("configmaps")] == (["a", "c"] if damaged else ["a", "b", "c"])
    assert storage.revision == (7 if damaged else 9)
    assert any(item.what == "configmaps team/b" for item in storage.damage) == damaged
    storage.close()
    SqliteStorage(tmp_path).close()


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
    again = SqliteStorage(tmp_path)
    assert len(again.scan("configmaps")) == 11
    assert not again.damage
    again.close()


def put_both(storage: SqliteStorage) -> None:
    with storage.transaction():
        put(storage, "small", 1)
        put(storage, "large", 50_000)


def put(storage: SqliteStorage, name: str, size: int) -> None:
    key = ("configmaps", "team", name)
    storage.put(*key, lambda revision: document(key, revision, size), expected=0)


def test_a_disk_too_full_to_replace_a_damaged_file_leaves_it_alone(
    tmp_path: Path, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"setpoint.db": b"\xff" + written.closed["setpoint.db"][1:]}
    restored(tmp_path / "data", files)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copy2", full)
        with pytest.raises(StorageError, match=r"is damaged .*No space left on device"):
            SqliteStorage(tmp_path / "data")
    assert images(tmp_path / "data") == files
    SqliteStorage(tmp_path / "data").close()


OPEN = """
import sys
from setpoint.apiserver.storage import Compacted, SqliteStorage, StorageError
try:
    SqliteStorage(sys.argv[1])
except StorageError as problem:
    print(problem)
"""


def test_a_directory_has_one_process_at_a_time(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path)
    put(storage, "one", 1)
    told = subprocess.run([sys.executable, "-c", OPEN, str(tmp_path)], capture_output=True, text=True, check=True)
    assert told.stdout == f"data directory {tmp_path} is in use by another server\n"
    put(storage, "two", 1)
    storage.close()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions of Unix")
@pytest.mark.parametrize("file_only", [False, True])
def test_a_directory_that_is_read_only_is_named(written: Written, file_only: bool) -> None:
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made) / "data"
        restored(directory, written.closed)
        (directory / "setpoint.db").chmod(0o444)
        directory.chmod(0o777 if file_only else 0o555)
        Path(made).chmod(0o755)
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
        assert images(directory) == written.closed
