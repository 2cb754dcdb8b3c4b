"""The writes during which storages are interrupted, and what a storage may hold afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

from setpoint.apiserver.storage import Change, Compacted, MemoryStorage, SqliteStorage, Storage

Objects = dict[tuple[str, str], tuple[int, bytes]]
"""Namespace and name of each object, its revision and its value."""
RESOURCES = ("configmaps", "leases")
TRANSACTIONS = 400
LOG_PAGES = 30
"""SQLite begins its log anew after so many pages, in place of 1,000, so a short workload does it often."""
HISTORY = 60
_RESTARTS = (140, 290)


class Expected(NamedTuple):
    """After each number of transactions, the objects, the last revision, and how many changes there were."""

    objects: list[dict[str, Objects]]
    revisions: list[int]
    changes: dict[str, list[Change]]


def work(directory: Path, *, power_safe: bool, acknowledge: Callable[[], None]) -> None:
    """Runs the workload. The storage is closed and opened again twice in between."""
    steps = _transactions()
    for begin, end in zip((0, *_RESTARTS), (*_RESTARTS, TRANSACTIONS), strict=True):
        storage = opened(directory, power_safe=power_safe)
        storage._connection.execute(f"PRAGMA wal_autocheckpoint={LOG_PAGES}")
        for _ in range(begin, end):
            next(steps)(storage)
            acknowledge()
        storage.close()


def expected() -> Expected:
    """The states of a storage that is never interrupted."""
    storage = MemoryStorage()  # with all of its history
    states: list[dict[str, Objects]] = [objects(storage)]
    revisions = [storage.revision]
    for step in _transactions():
        step(storage)
        states.append(objects(storage))
        revisions.append(storage.revision)
    changes = {name: storage.subscribe(name, 1, lambda: None).read(100_000) for name in RESOURCES}
    return Expected(states, revisions, changes)


def objects(storage: Storage) -> dict[str, Objects]:
    return {
        name: {(record.namespace, record.name): (record.revision, record.value) for record in storage.scan(name)}
        for name in RESOURCES
    }


def opened(directory: Path, *, power_safe: bool = False) -> SqliteStorage:
    return SqliteStorage(directory, power_safe=power_safe, max_events=HISTORY)


def check(directory: Path, expectation: Expected, least: int, most: int) -> int:
    """Opens what an interruption has left: it is the state after some number of whole transactions from ``least`` to
    ``most``, which is returned. Its history is that of those transactions, and it can be written and opened again.
    """
    storage = opened(directory)
    try:
        current_objects = objects(storage)
        done = [number for number in range(least, most + 1) if expectation.objects[number] == current_objects]
        assert done, (
            f"not the state after {least} to {most} transactions: {_difference(expectation, current_objects, least)}"
        )
        assert storage.revision >= expectation.revisions[done[0]]
        for name in RESOURCES:
            _check_history(storage, name, expectation, expectation.revisions[done[0]])
        storage.put("configmaps", "", "later", lambda _: b"later", expected=0)
        current_objects = objects(storage)
    finally:
        storage.close()
    again = opened(directory)
    try:
        assert objects(again) == current_objects
    finally:
        again.close()
    return done[0]


def _difference(expectation: Expected, values: dict[str, Objects], number: int) -> str:
    wanted = expectation.objects[number]
    keys = [(name, *key) for name in RESOURCES for key in wanted[name].keys() | values[name].keys()]
    other = [key for key in keys if wanted[key[0]].get(key[1:]) != values[key[0]].get(key[1:])]
    return f"{len(other)} objects differ from the former: {sorted(other)[:5]}"


def _check_history(storage: Storage, name: str, expectation: Expected, last: int) -> None:
    try:
        since = 1
        reader = storage.subscribe(name, since, lambda: None)
    except Compacted as problem:
        since = problem.oldest
        reader = storage.subscribe(name, since, lambda: None)
    got = [(change.type, change.revision, change.record.name) for change in reader.read(100_000)]
    changes = expectation.changes[name]
    assert got == [(c.type, c.revision, c.record.name) for c in changes if since < c.revision <= last]
    reader.close()


def _transactions() -> Iterator[Callable[[Storage], None]]:
    """The same at each call."""
    random = Random(11)
    for _ in range(TRANSACTIONS):
        seeds = [random.random() for _ in range(random.choice((1, 1, 1, 2, 4)))]
        yield partial(_transact, seeds=seeds)


def _transact(storage: Storage, *, seeds: list[float]) -> None:
    with storage.transaction():
        for seed in seeds:
            _change(storage, Random(seed))


def _change(storage: Storage, random: Random) -> None:
    key = (random.choice(RESOURCES), random.choice(("one", "two")), f"n{random.randrange(20)}")
    current = storage.get(*key)
    if current is not None and random.random() < 0.2:
        storage.delete(*key, lambda revision: b"gone at %d" % revision, expected=current.revision)
        return
    value = random.randbytes(random.choice((80, 200, 200, 700, 5000, 9000)))
    storage.put(*key, lambda _: value, expected=current.revision if current else 0)
