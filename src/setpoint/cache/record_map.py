"""Records: the part of a store that its snapshots and unfinished lists use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from setpoint.cache.index import Index
from setpoint.cache.indexes import Values
from setpoint.cache.object_parser import Item
from setpoint.cache.object_record import Record
from setpoint.cache.store_change import Change
from setpoint.meta import Selector
from setpoint.meta.object_head import Head


class Records(Protocol):
    """The records of a store by key; see `setpoint.cache.store.Store`."""

    last_sync_resource_version: str

    def record(self, key: str) -> Record | None: ...

    def document(self, record: Record) -> bytes: ...

    def head_of(self, record: Record) -> Head: ...

    def keys(self) -> Iterable[str]: ...

    def namespace(self, namespace: str) -> Iterable[str]: ...

    def indexed(self, name: str, value: str) -> Iterable[str]: ...

    def labelled(self, selector: Selector) -> Iterable[str] | None: ...

    def index(self, name: str) -> Index: ...

    def index_values_of(self, index: Index, record: Record) -> tuple[str, ...]: ...

    @property
    def index_epoch(self) -> int: ...

    def seal(self, item: Item) -> tuple[Record, int, int, Values]: ...

    def replace(self, fresh: dict[str, Record], epoch: int) -> Iterator[Change]: ...
