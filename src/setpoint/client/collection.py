"""Lists: what a server answers to a list, split into its objects."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from setpoint.client.transport import TransportError
from setpoint.meta import DecodeError, ListMeta, Object, decode

__all__ = ["ObjectList", "decode_list", "split_list"]

logger = logging.getLogger("setpoint.client")

K = TypeVar("K", bound=Object)
MANY = 100
"""Objects from which on a list is decoded without collecting garbage in between."""


@dataclass(slots=True)
class ObjectList(Generic[K]):
    """The objects of one list, or of one page of it.

    ``metadata.resource_version`` is where a watch may begin; ``metadata.continue_`` is the token of the next page.
    ``broken`` holds what could not be decoded: one such object does not fail the list, it is logged and kept here.
    """

    items: list[K]
    metadata: ListMeta
    broken: list[DecodeError] = field(default_factory=list)

    def __iter__(self) -> Iterator[K]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, place: int) -> K:
        return self.items[place]


class RawList(Struct):
    """A list whose objects are still JSON."""

    metadata: ListMeta | None = None
    items: list[msgspec.Raw] | None = None


_decoder = msgspec.json.Decoder(RawList)


def split_list(body: bytes) -> RawList:
    """The list's metadata and the JSON of each item; either is None where the server sent null.

    Raises:
        TransportError: ``body`` is no list at all.
    """
    try:
        return _decoder.decode(body)
    except msgspec.DecodeError as problem:
        shown = body[:200].decode("utf-8", "replace")
        raise TransportError(f"the answer is no list: {problem}: {shown}", sent=True) from None


def decode_list(kind: type[K], body: bytes) -> ObjectList[K]:
    """Every object of a list's JSON; each remembers its own."""
    found = split_list(body)
    items: list[K] = []
    broken: list[DecodeError] = []
    raws = found.items or ()
    with _uncollected() if len(raws) >= MANY else nullcontext():
        for raw in raws:
            try:
                items.append(decode(kind, raw))
            except DecodeError as problem:
                logger.warning("an object of a list is left out, it does not fit its model: %s", problem)
                broken.append(problem)
    return ObjectList(items, found.metadata or ListMeta(), broken)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without cyclic garbage collection: it would go through all that is decoded again and again, in vain, and take
    most of a long list's time. Nothing awaits in here.

    Freezing and unfreezing moves what is new to the oldest generation, without a look at it; collection on demand and
    in its turn still finds it. A program that has frozen objects of its own is left alone.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if gc.get_freeze_count() == 0:
            gc.freeze()
            gc.unfreeze()
        if collecting:
            gc.enable()
