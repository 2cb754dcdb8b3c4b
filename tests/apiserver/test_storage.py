"""Storage keeps its promises: one counter, compare and swap, readable history, whatever the implementation."""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from setpoint.apiserver.storage import Compacted, Conflict, MemoryStorage, Record, SqliteStorage, Storage, StorageError
from setpoint.apiserver.storage.database import write_facts

NAMES = st.sampled_from(["a", "a-b", "b", "c.d"])
SPACES = st.sampled_from(["", "one", "one-more", "two"])
RESOURCES = st.sampled_from(["pods", "leases"])
Key = tuple[str, str, str]


def encoded(content: str) -> Callable[[int], bytes]:
    return lambda revision: f"{content}@{revision}".encode()


def order(key: tuple[str, str]) -> tuple[str, str]:
    return (key[0] + "/", key[1])


class Machine(RuleBasedStateMachine):
    """Every step on a storage and on a dictionary; the past of the dictionary is kept whole."""

    storage: Storage

    def make(self) -> Storage:
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.model: dict[Key, tuple[int, bytes]] = {}
        self.history: dict[int, dict[Key, tuple[int, bytes]]] = {}
        self.writes: list[tuple[int, str, Key, bytes]] = []
        self.compacted = 0
        self.count = itertools.count()

    @initialize()
    def begin(self) -> None:
        self.storage = self.make()
        self.history[self.storage.revision] = {}

    def remember(self, type_: str, key: Key, value: bytes) -> None:
        assert self.storage.revision > max(self.history)
        self.history[self.storage.revision] = dict(self.model)
        self.writes.append((self.storage.revision, type_, key, value))

    @rule(resource=RESOURCES, namespace=SPACES, name=NAMES)
    def write(self, resource: str, namespace: str, name: str) -> None:
        key = (resource, namespace, name)
        expected = self.model.get(key, (0, b""))[0]
        record = self.storage.put(*key, encoded(f"v{next(self.count)}"), expected=expected)
        assert record.value.endswith(f"@{record.revision}".encode())
        self.model[key] = (record.revision, record.value)
        self.remember("MODIFIED" if expected else "ADDED", key, record.value)

    @rule(resource=RESOURCES, namespace=SPACES, name=NAMES, off=st.integers(-2, 2).filter(bool))
    def write_on_a_wrong_assumption(self, resource: str, namespace: str, name: str, off: int) -> None:
        key = (resource, namespace, name)
        before = self.storage.revision
        expected = self.model.get(key, (0, b""))[0] + off
        with pytest.raises(Conflict) as caught:
            self.storage.put(*key, encoded("never"), expected=expected)
        current = caught.value.current
        assert (current.revision if current else 0) == self.model.get(key, (0, b""))[0]
        assert self.storage.revision == before

    @rule(resource=RESOURCES, namespace=SPACES, name=NAMES)
    def delete(self, resource: str, namespace: str, name: str) -> None:
        key = (resource, namespace, name)
        if key not in self.model:
            with pytest.raises(Conflict):
                self.storage.delete(*key, encoded("never"), expected=0)
            return
        revision, _ = self.model.pop(key)
        record = self.storage.delete(*key, encoded("last"), expected=revision)
        self.remember("DELETED", key, record.value)

    @rule(back=st.integers(0, 5))
    def compact(self, back: int) -> None:
        revision = max(0, self.storage.revision - back)
        self.storage.compact(revision)
        self.compacted = max(self.compacted, revision)

    @precondition(lambda self: self.writes)
    @rule(resource=RESOURCES, data=st.data())
    def read_the_past(self, resource: str, data: Any) -> None:
        at = data.draw(st.sampled_from(sorted(self.history)[-8:]))
        try:
            records = self.storage.scan(resource, at=at)
        except Compacted:
            assert at < self.compacted
            return
        wanted = {(ns, n): v for (r, ns, n), v in self.history[at].items() if r == resource}
        assert [(r.namespace, r.name) for r in records] == sorted(wanted, key=order)
        assert all((r.revision, r.value) == wanted[r.namespace, r.name] for r in records)

    @precondition(lambda self: self.writes)
    @rule(
        resource=RESOURCES,
        namespace=SPACES | st.none(),
        start=st.sampled_from(["", "one/b", "one-more/a\0"]),
        data=st.data(),
    )
    def read_a_page(self, resource: str, namespace: str | None, start: str, data: Any) -> None:
        at = data.draw(st.none() | st.sampled_from(sorted(self.history)[-8:]))
        try:
            records, count = self.storage.scan_from(start, resource, namespace, at=at)
        except Compacted:
            assert at is not None
            assert at < self.compacted
            return
        objects = self.model if at is None else self.history[at]
        wanted = {(ns, n): v for (r, ns, n), v in objects.items() if r == resource and namespace in (None, ns)}
        keys = [key for key in sorted(wanted, key=order) if "/".join(key) >= start]
        current_records = list(records)
        assert [(r.namespace, r.name) for r in current_records] == keys
        assert count == len(keys)
        assert all((r.revision, r.value) == wanted[r.namespace, r.name] for r in current_records)

    @precondition(lambda self: self.writes)
    @rule(resource=RESOURCES, namespace=SPACES, name=NAMES, data=st.data())
    def fail_after_a_look_at_the_past(self, resource: str, namespace: str, name: str, data: Any) -> None:
        at = data.draw(st.sampled_from(sorted(self.history)[-8:]))
        expected = self.model.get((resource, namespace, name), (0, b""))[0]
        with suppress(Compacted, ZeroDivisionError), self.storage.transaction():
            self.storage.put(resource, namespace, name, encoded("never"), expected=expected)
            self.storage.scan(resource, at=at)
            raise ZeroDivisionError

    @precondition(lambda self: self.writes)
    @rule(resource=RESOURCES, data=st.data())
    def replay(self, resource: str, data: Any) -> None:
        since = data.draw(st.sampled_from(sorted(self.history)[-8:]))
        try:
            reader = self.storage.subscribe(resource, since, lambda: None)
        except Compacted:
            assert since < self.compacted
            return
        seen = []
        while changes := reader.read(2):
            seen += [(c.revision, c.type, (c.record.namespace, c.record.name), c.record.value) for c in changes]
        reader.close()
        assert seen == [(r, t, k[1:], v) for r, t, k, v in self.writes if k[0] == resource and r > since]

    @invariant()
    def objects_are_what_the_model_says(self) -> None:
        if not hasattr(self, "storage"):
            return
        for resource in ("pods", "leases"):
            result = {(resource, r.namespace, r.name): (r.revision, r.value) for r in self.storage.scan(resource)}
            assert result == {key: value for key, value in self.model.items() if key[0] == resource}
            listed = [(r.namespace, r.name) for r in self.storage.scan(resource)]
            assert listed == sorted(listed, key=order)
            for space in ("", "one"):
                assert [r.name for r in self.storage.scan(resource, space)] == sorted(
                    n for r, ns, n in self.model if (r, ns) == (resource, space)
                )

    def teardown(self) -> None:
        if hasattr(self, "storage"):
            self.storage.close()


class MemoryMachine(Machine):
    def make(self) -> Storage:
        return MemoryStorage()


class SqliteMachine(Machine):
    def make(self) -> Storage:
        self.directory = tempfile.TemporaryDirectory()
        return SqliteStorage(self.directory.name)

    @rule()
    def restart(self) -> None:
        revision = self.storage.revision
        self.storage.close()
        self.storage = SqliteStorage(self.directory.name)
        assert self.storage.revision == revision

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "directory"):
            self.directory.cleanup()


TestMemory = MemoryMachine.TestCase
TestMemory.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
TestSqlite = SqliteMachine.TestCase
TestSqlite.settings = settings(max_examples=12, stateful_step_count=30, deadline=None)


@pytest.fixture(params=["memory", "sqlite"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    bounds = {"max_events": 100, "max_bytes": 10_000}
    result: Storage = MemoryStorage(**bounds) if request.param == "memory" else SqliteStorage(tmp_path, **bounds)
    yield result
    result.close()


def fill(storage: Storage, count: int, resource: str = "pods", content: str = "x") -> None:
    for index in range(count):
        storage.put(resource, "ns", f"{resource}-{index}", encoded(content), expected=0)


def test_history_is_bounded_by_number(storage: Storage) -> None:
    first = storage.revision
    fill(storage, 150)
    with pytest.raises(Compacted) as caught:
        storage.subscribe("pods", first, lambda: None)
    assert caught.value.oldest == storage.revision - 100
    assert len(storage.subscribe("pods", caught.value.oldest, lambda: None).read()) == 100


def test_history_is_bounded_by_bytes(storage: Storage) -> None:
    first = storage.revision
    fill(storage, 15, content="x" * 1000)
    with pytest.raises(Compacted):
        storage.subscribe("pods", first, lambda: None)
    assert len(storage.scan("pods")) == 15


def test_a_noisy_resource_does_not_expire_a_quiet_ones_readers(storage: Storage) -> None:
    start = storage.revision
    storage.put("leases", "ns", "quiet", encoded("x"), expected=0)
    since = storage.revision
    fill(storage, 150)
    assert storage.subscribe("leases", since, lambda: None).read() == []
    with pytest.raises(Compacted):
        storage.subscribe("leases", start, lambda: None)


def test_a_reader_that_falls_out_of_the_history_is_told(storage: Storage) -> None:
    reader = storage.subscribe("pods", storage.revision, lambda: None)
    fill(storage, 10)
    assert len(reader.read(4)) == 4
    fill(storage, 150, content="y", resource="leases")
    with pytest.raises(Compacted):
        reader.read()


def test_readers_are_woken_by_their_resource_only(storage: Storage) -> None:
    woken: list[str] = []
    reader = storage.subscribe("pods", storage.revision, lambda: woken.append("pods"))
    fill(storage, 1, "leases")
    assert woken == []
    fill(storage, 1, "pods")
    assert woken == ["pods"]
    reader.close()
    fill(storage, 1, "others")
    storage.put("pods", "ns", "late", encoded("x"), expected=0)
    assert woken == ["pods"]


def test_revisions_between_two_lives_are_unknown(storage: Storage) -> None:
    fill(storage, 3)
    before = storage.revision
    storage.advance(before + 1000)
    fill(storage, 1, "leases")
    with pytest.raises(Compacted):
        storage.subscribe("pods", before + 10, lambda: None)
    with pytest.raises(Compacted):
        storage.scan("pods", at=before + 10)
    assert storage.subscribe("pods", before, lambda: None).read() == []
    assert storage.subscribe("leases", before + 1000, lambda: None).read() != []


def test_a_forgotten_past_stays_forgotten_after_a_restart(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path)
    old = storage.put("pods", "ns", "one", encoded("old"), expected=0).revision
    storage.put("pods", "ns", "one", encoded("new"), expected=old)
    storage.compact(storage.revision)
    with pytest.raises(Compacted):
        storage.scan("pods", at=old)
    storage.close()
    again = SqliteStorage(tmp_path)
    with pytest.raises(Compacted):
        again.scan("pods", at=old)
    assert [record.value for record in again.scan("pods", at=again.revision)] == [f"new@{old + 1}".encode()]
    again.close()


class Counting(dict[str, Record]):
    reads = 0

    def __getitem__(self, key: str) -> Record:
        self.reads += 1
        return super().__getitem__(key)


def test_the_pages_of_a_list_read_each_object_once_whatever_is_written_meanwhile() -> None:
    storage = MemoryStorage()
    fill(storage, 2000)
    revision = storage.revision
    wanted = [record.name for record in storage.scan("pods")]
    collection = storage._collections["pods"]
    counting = collection.records = Counting(collection.records)
    results: list[str] = []
    pasts = set()
    while len(results) < 2000:
        start = f"ns/{results[-1]}\0" if results else ""
        records, count = storage.scan_from(start, "pods", "ns", at=revision)
        assert count == 2000 - len(results)
        results += [record.name for record in itertools.islice(records, 50)]
        fill(storage, 1, f"new-{len(results)}")
        current = storage.get("pods", "ns", wanted[-len(results)])
        assert current is not None
        storage.delete("pods", "ns", current.name, encoded("gone"), expected=current.revision)
        pasts.add(collection.past(revision))
    assert results == wanted
    assert len(pasts) == 1
    assert counting.reads <= 2000


def test_a_list_and_a_watch_know_the_same_past(storage: Storage) -> None:
    start = storage.revision
    fill(storage, 1, "leases")
    fill(storage, 3)
    storage.compact(storage.revision)
    for resource in ("leases", "pods", "never-written"):
        for revision in (start, start + 1, start + 2):
            with pytest.raises(Compacted):
                storage.subscribe(resource, revision, lambda: None)
            with pytest.raises(Compacted):
                storage.scan(resource, at=revision)
        assert storage.subscribe(resource, storage.revision, lambda: None).read() == []


def test_a_reader_from_a_future_revision_gets_what_follows_it_at_once(storage: Storage) -> None:
    since = storage.revision + 3
    reader = storage.subscribe("pods", since, lambda: None)
    fill(storage, 5)
    assert [change.revision for change in reader.read(2)] == [since + 1, since + 2]
    assert reader.read(2) == []


def test_a_reader_from_a_future_revision_misses_nothing_of_the_history_before_it(storage: Storage) -> None:
    since = storage.revision + 3
    reader = storage.subscribe("pods", since, lambda: None)
    fill(storage, 103)
    assert [change.revision for change in reader.read(2)] == [since + 1, since + 2]


def test_a_write_that_fails_to_encode_changes_nothing(storage: Storage) -> None:
    def broken(revision: int) -> bytes:
        raise ValueError("too big")

    before = storage.revision
    with pytest.raises(ValueError, match="too big"):
        storage.put("pods", "ns", "a", broken, expected=0)
    assert storage.revision == before
    assert storage.get("pods", "ns", "a") is None


def test_a_directory_has_one_server_at_a_time(tmp_path: Path) -> None:
    first = SqliteStorage(tmp_path)
    with pytest.raises(StorageError, match="in use by another server"):
        SqliteStorage(tmp_path)
    first.close()
    SqliteStorage(tmp_path).close()


def test_a_directory_that_can_not_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=f"data directory {tmp_path / 'file'} can't be used"):
        SqliteStorage(tmp_path / "file")


def test_writing_to_a_closed_storage_says_so(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path)
    storage.close()
    storage.close()
    with pytest.raises(StorageError, match="can't write"):
        fill(storage, 1)
    assert storage.scan("pods") == []


def test_a_later_format_is_refused_and_left_alone(tmp_path: Path) -> None:
    import sqlite3

    SqliteStorage(tmp_path).close()
    with sqlite3.connect(tmp_path / "setpoint.db") as connection:
        write_facts(connection, {"format": 99})
        connection.execute("PRAGMA user_version=99")
    connection.close()
    before = (tmp_path / "setpoint.db").read_bytes()
    with pytest.raises(StorageError, match="format 99"):
        SqliteStorage(tmp_path)
    assert (tmp_path / "setpoint.db").read_bytes() == before


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "setpoint.db").write_bytes(b"not a database, " * 100)
    with pytest.raises(StorageError, match="file is not a database"):
        SqliteStorage(tmp_path)


def test_versions_that_left_the_history_leave_the_disk(tmp_path: Path) -> None:
    import sqlite3

    storage = SqliteStorage(tmp_path, max_events=10)
    for index in range(300):
        current = storage.get("pods", "ns", "one")
        storage.put("pods", "ns", "one", encoded(str(index)), expected=current.revision if current else 0)
    storage.close()
    connection = sqlite3.connect(tmp_path / "setpoint.db")
    assert connection.execute("SELECT count(*) FROM versions").fetchone()[0] <= 12
    connection.close()
    again = SqliteStorage(tmp_path, max_events=10)
    assert [record.value for record in again.scan("pods")] == [f"299@{storage.revision}".encode()]
    again.close()


KILLED = """
import sys
from setpoint.apiserver.storage import SqliteStorage
storage = SqliteStorage(sys.argv[1])
index = 0
while True:
    record = storage.put("pods", "ns", f"p{index}", lambda revision: b"x" * 500, expected=0)
    if index % 3 == 2:
        storage.delete("pods", "ns", f"p{index}", lambda revision: b"gone", expected=record.revision)
    print(index, storage.revision, flush=True)
    index += 1
"""


def test_what_was_acknowledged_survives_sigkill(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line.split()[0]) >= 200:
                process.kill()
                break
        *_, last = [text for text in (line, *process.stdout) if text.endswith("\n")]
    acknowledged, revision = map(int, last.split())
    storage = SqliteStorage(tmp_path)
    assert storage.revision >= revision
    there = {record.name for record in storage.scan("pods")}
    assert {f"p{index}" for index in range(acknowledged + 1) if index % 3 != 2} <= there
    assert not {f"p{index}" for index in range(acknowledged + 1) if index % 3 == 2} & there
    changes = storage.subscribe("pods", 1, lambda: None).read(100_000)
    assert [change.revision for change in changes] == list(range(2, storage.revision + 1))
    storage.close()


def leave(storage: SqliteStorage) -> None:
    """As a process that is killed does."""
    storage._connection.close()
    storage._lock.close()


def rewrite(storage: Storage, count: int) -> None:
    """Makes versions that leave the history."""
    for _ in range(count):
        expected = storage.get("pods", "default", "one")
        storage.put("pods", "default", "one", encoded("x"), expected=expected.revision if expected else 0)


def test_a_clean_up_that_fails_takes_no_later_write_with_it(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path, max_events=10)
    rewrite(storage, 100)
    connection = storage._connection
    connection.execute("CREATE TRIGGER broken BEFORE DELETE ON versions BEGIN SELECT RAISE(FAIL, 'broken disk'); END")
    with pytest.raises(StorageError, match="broken disk"):
        storage._clean()
    connection.execute("DROP TRIGGER broken")
    last = storage.put("pods", "default", "last", encoded("x"), expected=0).revision
    leave(storage)
    reopened = SqliteStorage(tmp_path, max_events=10)
    assert reopened.get("pods", "default", "last") is not None
    assert reopened.revision == last
    reopened.close()


def test_closing_unlocks_the_directory_even_if_it_can_not_be_tidied(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path, max_events=10)
    rewrite(storage, 100)
    storage._connection.execute(
        "CREATE TRIGGER broken BEFORE DELETE ON versions BEGIN SELECT RAISE(FAIL, 'broken disk'); END"
    )
    with pytest.raises(StorageError, match="broken disk"):
        storage.close()
    leave(SqliteStorage(tmp_path))
