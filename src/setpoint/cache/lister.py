"""Lister: typed reads from a cache."""

from __future__ import annotations

import builtins
import logging
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar, overload

from setpoint.cache.errors import NotFoundInCache
from setpoint.cache.indexes import OWNER
from setpoint.cache.object_record import Record
from setpoint.cache.record_map import Readable
from setpoint.meta import DecodeError, LabelSelector, Object, ObjectKey, Resource, Selector, decode
from setpoint.meta.object_head import Head

K = TypeVar("K", bound=Object)
P = TypeVar("P")

logger = logging.getLogger("setpoint.cache")

_MAX_RECORDS = 1000
_AS_THEY_ARE: Mapping[str, str] = {}
AnySelector = str | Mapping[str, str] | LabelSelector | Selector | None


class Lister(Generic[K]):
    """Reads the objects of one kind from a cache.

    *Guarantees*: every returned object was decoded for this call, so the caller may change it. Each call sees a single
    state of the cache.

    *Caveats*

    - A cache lags slightly behind the server. It is incomplete until the informer has synced.
    - An object that can't be decoded does not make a list fail: it is left out, and the error is logged once for each
      state of the object. `heads` and `keys` include the object, and `get` raises its error.

    A list that is limited to a namespace, an owner, a value of an index, or a value of a label (for up to 32 labels)
    does not scan the cache. ``as_`` is a smaller struct to decode into; other fields are not decoded.
    """

    __slots__ = ("_decode", "_indexes", "_kind", "_readable", "_records", "_resource")

    def __init__(
        self,
        readable: Readable,
        kind: type[K],
        resource: Resource,
        *,
        indexes: Mapping[str, str] = _AS_THEY_ARE,
        decode: Callable[[type[Any], bytes], Any] = decode,
    ) -> None:
        self._decode = decode
        self._readable = readable
        self._indexes = indexes
        self._kind = kind
        self._resource = resource
        self._records: dict[str, Record] = {}

    @overload
    def get(self, key: str, namespace: str | None = None) -> K: ...
    @overload
    def get(self, key: str, namespace: str | None = None, *, as_: type[P]) -> P: ...

    def get(self, key: str, namespace: str | None = None, *, as_: type[Any] | None = None) -> Any:
        """The object with this key (``namespace/name``), or with this name if ``namespace`` is given.

        Raises:
            NotFoundInCache: the cache has no such object (a `KeyError`).
            DecodeError: the object does not fit the class, or is nested too deeply; the message names the object.
        """
        full = _key(key, namespace)
        record = self._readable.record(full)
        if record is None:
            raise NotFoundInCache(self._resource, full)
        return self._decode(as_ or self._kind, self._readable.document(record))

    @overload
    def try_get(self, key: str, namespace: str | None = None) -> K | None: ...
    @overload
    def try_get(self, key: str, namespace: str | None = None, *, as_: type[P]) -> P | None: ...

    def try_get(self, key: str, namespace: str | None = None, *, as_: type[Any] | None = None) -> Any:
        """Like `get`, but returns None if the object is missing."""
        record = self._readable.record(_key(key, namespace))
        return None if record is None else self._decode(as_ or self._kind, self._readable.document(record))

    def head(self, key: str, namespace: str | None = None) -> Head | None:
        """The metadata of an object, or None if the object is missing."""
        record = self._readable.record(_key(key, namespace))
        return None if record is None else self._readable.head_of(record)

    @overload
    def list(
        self,
        *,
        namespace: str | None = None,
        selector: AnySelector = None,
        index: tuple[str, str] | None = None,
    ) -> builtins.list[K]: ...
    @overload
    def list(
        self,
        *,
        namespace: str | None = None,
        selector: AnySelector = None,
        index: tuple[str, str] | None = None,
        as_: type[P],
    ) -> builtins.list[P]: ...

    def list(
        self,
        *,
        namespace: str | None = None,
        selector: AnySelector = None,
        index: tuple[str, str] | None = None,
        as_: type[Any] | None = None,
    ) -> builtins.list[Any]:
        """The objects that match all arguments, in the order in which they entered the cache or, with ``index``, in
        which they got that value. A ``selector`` that requires certain values of a label may change the order, but
        repeated calls return the same order as long as the cache does not change.

        ``index`` is a pair: the name of an index, and a value in it. ``selector`` matches labels. A ``namespace`` of
        None or ``""`` means all namespaces.

        Raises:
            KeyError: the index does not exist.
            SelectorError: the selector is not valid.
        """
        readable, kind = self._readable, as_ or self._kind
        objects = []
        for key in self._select(namespace, Selector.of(selector), index):
            record = readable.record(key)
            if record is not None:
                try:
                    objects.append(self._decode(kind, readable.document(record)))
                except DecodeError as problem:
                    self._left_out(key, record, problem)
        return objects

    def heads(
        self,
        *,
        namespace: str | None = None,
        selector: AnySelector = None,
        index: tuple[str, str] | None = None,
    ) -> builtins.list[Head]:
        """Like `list`, but returns only the metadata."""
        readable = self._readable
        records = (readable.record(key) for key in self._select(namespace, Selector.of(selector), index))
        return [readable.head_of(record) for record in records if record is not None]

    def keys(
        self,
        *,
        namespace: str | None = None,
        selector: AnySelector = None,
        index: tuple[str, str] | None = None,
    ) -> builtins.list[ObjectKey]:
        """Like `list`, but returns only the keys. No object is decompressed unless labels must be compared."""
        return [ObjectKey(key) for key in self._select(namespace, Selector.of(selector), index)]

    @overload
    def by_owner(self, uid: str) -> builtins.list[K]: ...
    @overload
    def by_owner(self, uid: str, *, as_: type[P]) -> builtins.list[P]: ...

    def by_owner(self, uid: str, *, as_: type[Any] | None = None) -> builtins.list[Any]:
        """The objects with an owner reference to ``uid``, whether or not that owner is the controller."""
        return self.list(index=(OWNER, uid), as_=as_ or self._kind)

    def __len__(self) -> int:
        return len(self._readable)

    def __contains__(self, key: object) -> bool:
        return key in self._readable

    def _left_out(self, key: str, record: Record, problem: DecodeError) -> None:
        if self._records.get(key) != record:
            if len(self._records) >= _MAX_RECORDS:
                self._records.clear()
            self._records[key] = record
            logger.warning("%s %s is left out of a list: %s", self._resource.kind, key, problem)

    def _select(self, namespace: str | None, selector: Selector, index: tuple[str, str] | None) -> builtins.list[str]:
        readable = self._readable
        by_label = readable.labelled(selector) if selector else None
        if index is not None:
            name, value = index
            keys = readable.indexed(self._indexes.get(name, name), value)
        elif by_label is not None:
            keys = by_label
        elif namespace:
            keys = readable.namespace(namespace)
        else:
            keys = readable
        prefix = f"{namespace}/" if namespace else ""
        chosen = [key for key in keys if key.startswith(prefix)] if prefix else list(keys)
        if not selector or (index is None and by_label is not None and len(selector.requirements) == 1):
            return chosen
        matching = []
        for key in chosen:
            record = readable.record(key)
            if record is not None and selector.matches(readable.head_of(record).labels):
                matching.append(key)
        return matching


def _key(key: str, namespace: str | None) -> ObjectKey:
    return ObjectKey.of(namespace, key) if namespace else ObjectKey(key)
