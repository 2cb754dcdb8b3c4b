"""Lists: a server's answer to a list request, split into objects that are decoded on access."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar, cast, overload

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from setpoint.client.response_checks import check_list, kind_of
from setpoint.client.transport import TransportError
from setpoint.meta import (
    DecodeError,
    Head,
    ListMeta,
    Object,
    decode,
    elements,
    head_of,
    members,
    raw_of,
    resource_of,
    with_valid_unicode,
)
from setpoint.meta.json_document import excerpt

logger = logging.getLogger("setpoint.client")

K = TypeVar("K", bound=Object)
BATCH = 256
"""The number of objects in a batch. Iteration decodes a batch at a time, with garbage collection off."""


class ObjectList(Sequence[K], Generic[K]):
    """The objects of a list, or of one page of a list, in the server's order.

    Each object is decoded on first access; later accesses return the same object. `heads` gives access to names, labels
    and other metadata without decoding the other fields.

    ``metadata.resource_version`` is the version from which a watch may start; ``metadata.continue_`` is the token of
    the next page.

    *Caveats*

    - An object that does not fit its model does not make the list fail: the error is logged and kept in `broken`, and
      the object is left out of iteration and of `items`. ``len`` counts the object, and access to its index raises a
      `DecodeError`.
    - The server's answer stays in memory until all objects are decoded or the list is freed.
    """

    __slots__ = ("_broken", "_heads", "_items", "_kind", "metadata")

    def __init__(self, kind: type[K], raws: Sequence[Raw], metadata: ListMeta) -> None:
        self._kind = kind
        self._items: list[Raw | K] = list(raws)
        self._heads: list[Head] | None = None
        self._broken: dict[int, DecodeError] = {}
        self.metadata = metadata

    @property
    def items(self) -> list[K]:
        """A new list of all objects, decoded."""
        return list(self)

    @property
    def heads(self) -> Sequence[Head]:
        """The metadata of all objects, at the same indexes as the objects. The other fields are not decoded.

            [pods[place] for place, head in enumerate(pods.heads) if "app" in head.labels]

        An object whose metadata can't be read counts as broken, and its metadata is empty here.
        """
        if self._heads is None:
            with _uncollected(len(self._items)):
                self._heads = [self._head(place) for place in range(len(self._items))]
        return self._heads

    @property
    def broken(self) -> list[DecodeError]:
        """The errors of objects that do not fit their model. This decodes all objects that are not yet decoded."""
        self._decode(0, len(self._items))
        return [self._broken[place] for place in sorted(self._broken)]

    def __iter__(self) -> Iterator[K]:
        for start in range(0, len(self._items), BATCH):
            yield from self._decode(start, start + BATCH)

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, place: int) -> K: ...
    @overload
    def __getitem__(self, place: slice) -> list[K]: ...
    def __getitem__(self, place: int | slice) -> K | list[K]:
        if isinstance(place, slice):
            return [self[index] for index in range(*place.indices(len(self._items)))]
        item = self._items[place]
        if not isinstance(item, Raw):
            return item
        obj = self._fitting(place % len(self._items), item)
        if obj is None:
            raise self._broken[place % len(self._items)]
        return obj

    def __repr__(self) -> str:
        return f"ObjectList({self._kind.__name__}, {len(self._items)} objects, {self.metadata!r})"

    def _decode(self, start: int, end: int) -> list[K]:
        """The objects from ``start`` up to ``end`` that fit their model."""
        items = self._items[start:end]
        if Raw not in map(type, items):
            return cast("list[K]", items)
        objects: list[K] = []
        with _uncollected(len(items)):
            for place, item in enumerate(items, start):
                fitting = self._fitting(place, item) if isinstance(item, Raw) else item
                if fitting is not None:
                    objects.append(fitting)
        return objects

    def _fitting(self, place: int, raw: Raw) -> K | None:
        if place in self._broken:
            return None
        try:
            item = decode(self._kind, raw)
            if not item.metadata.name:
                raise DecodeError(f"it is not an object of the list, because it has no name: {excerpt(bytes(raw))}")
        except DecodeError as problem:
            self._is_broken(place, problem)
            return None
        self._items[place] = item
        return item

    def _head(self, place: int) -> Head:
        item = self._items[place]
        try:
            return head_of(item if isinstance(item, Raw) else raw_of(item) or b"{}")
        except DecodeError as problem:
            self._is_broken(place, problem)
            return Head()

    def _is_broken(self, place: int, problem: DecodeError) -> None:
        if place not in self._broken:
            logger.warning("an object is left out of a list because it does not fit its model: %s", problem)
            self._broken[place] = problem


class RawList(Struct, rename="camel"):
    """A list whose objects are not yet decoded. Its ``items`` may be null, but not absent."""

    api_version: str | None = None
    kind: str | None = None
    metadata: ListMeta | None = None
    items: list[Raw] | UnsetType | None = UNSET


_decoder = msgspec.json.Decoder(RawList)


def split_list(body: bytes) -> RawList:
    """The list's kind and metadata, and the JSON of each item; None in place of any of them if the server sent null.

    Raises:
        TransportError: ``body`` is not a list.
    """
    try:
        return _decoder.decode(body)
    except RecursionError:
        return _split_deep(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        better = with_valid_unicode(body)
        if better is None:
            raise _no_list(problem, body) from None
    return split_list(better)


def _split_deep(body: bytes) -> RawList:
    """Like `split_list`, for a list with an object that is nested too deeply for the parser."""
    try:
        parts = members(body)
        metadata = decode(ListMeta, parts["metadata"]) if parts.get("metadata", b"null") != b"null" else None
        items: list[Raw] | UnsetType | None = UNSET
        if "items" in parts:
            items = [Raw(item) for item in elements(parts["items"])] if parts["items"] != b"null" else None
        api_version, kind = kind_of(body)
    except DecodeError as problem:
        raise _no_list(problem, body) from None
    return RawList(api_version, kind, metadata, items)


def _no_list(problem: Exception, body: bytes) -> TransportError:
    return TransportError(f"the answer is not a list: {problem}: {excerpt(body)}", sent=True)


def decode_list(kind: type[K], body: bytes) -> ObjectList[K]:
    """The objects in the JSON of a list; each object keeps its own JSON.

    Raises:
        TransportError: ``body`` is not a list of this kind.
    """
    raw = split_list(body)
    try:
        check_list(resource_of(kind), raw.api_version or "", raw.kind or "", has_items=raw.items is not UNSET)
    except DecodeError as problem:
        raise _no_list(problem, body) from None
    return ObjectList(kind, raw.items or (), raw.metadata or ListMeta())


@contextmanager
def _uncollected(objects: int) -> Iterator[None]:
    """Pauses cyclic garbage collection while ``objects`` objects are decoded, if they are many. The collector would
    otherwise traverse all decoded objects again and again without freeing any, which would take most of the time needed
    to decode a long list. The block must not await.

    Freezing and unfreezing moves new objects to the oldest generation without traversing them. Python does not count
    them there, and so a program that lists again and again would never collect its oldest generation. For this reason
    the younger ones are collected first, and short lists are left to the collector. In a program that has frozen
    objects of its own, nothing is moved, because that would unfreeze them; so it is where nothing is collected anyway.
    """
    if objects < BATCH or not gc.isenabled():
        yield
        return
    gc.collect(1)
    gc.disable()
    try:
        yield
    finally:
        if gc.get_freeze_count() == 0:  # the count visits every frozen object
            gc.freeze()
            gc.unfreeze()
        gc.enable()
