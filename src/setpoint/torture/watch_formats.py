"""Watch formats: the events of a watch in the formats in which programs receive them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import msgspec

from setpoint.apiserver.requests.protobuf import PROTOBUF_TYPE, decode_event
from setpoint.apiserver.responses import protobuf
from setpoint.cache.watch_frames import split_event
from setpoint.simulation.injection.watch_stream import EXPIRED
from setpoint.simulation.trace.history import Sketch, sketch


class Event(NamedTuple):
    """One event."""

    raw: bytes
    """The event as it is sent."""
    type: str
    head: Sketch
    """The object's kind and metadata; a document without such metadata (a row of a table) has no revision."""


class Format(NamedTuple):
    """The format of a watch."""

    split: Callable[[bytes], Iterator[Event]]
    """Splits a chunk of whole events. Raises ValueError (Protobuf) or `WatchBroken` (JSON) if the chunk contains
    something else.
    """
    expired: bytes
    """The event that ends a watch with 410."""

    @classmethod
    def of(cls, content_type: str) -> Format:
        return _PROTOBUF if content_type.partition(";")[0] == PROTOBUF_TYPE else _JSON


def _lines(chunk: bytes) -> Iterator[Event]:
    for line in chunk.split(b"\n"):
        if line:
            kind, raw = split_event(line)
            yield Event(line + b"\n", kind.decode(), _head(raw))


def _head(raw: bytes) -> Sketch:
    try:
        return sketch(raw)
    except msgspec.MsgspecError:
        return Sketch()


def _frames(chunk: bytes) -> Iterator[Event]:
    place = 0
    while place < len(chunk):
        end = place + 4 + int.from_bytes(chunk[place : place + 4], "big")
        kind, content = decode_event(chunk[place + 4 : end])
        yield Event(chunk[place:end], kind, msgspec.convert(content, Sketch))
        place = end


_JSON: Final = Format(_lines, EXPIRED)
_PROTOBUF: Final = Format(_frames, protobuf.frame(*split_event(EXPIRED.rstrip())))
