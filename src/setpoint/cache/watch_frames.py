"""Parses only the necessary parts of each line of a watch stream."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from setpoint.cache.errors import WatchBroken
from setpoint.cache.reflector_sink import EventType
from setpoint.meta import DecodeError, Status, members, plain
from setpoint.meta.json_document import excerpt

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class _Frame(Struct):
    type: str
    object: msgspec.Raw


class MarkMeta(Struct):
    """The metadata of a bookmark."""

    resource_version: str = msgspec.field(name="resourceVersion", default="")
    annotations: dict[str, str] | None = None


class _Mark(Struct):
    metadata: MarkMeta = msgspec.field(default_factory=MarkMeta)


_MALFORMED = (msgspec.DecodeError, UnicodeDecodeError)
_decode_frame = msgspec.json.Decoder(_Frame).decode
_decode_mark = msgspec.json.Decoder(_Mark).decode
_decode_status = msgspec.json.Decoder(Status).decode
_MODIFIED = b'{"type":"MODIFIED","object":{'
TYPES: dict[bytes, EventType] = {b"ADDED": "ADDED", b"MODIFIED": "MODIFIED", b"DELETED": "DELETED"}


def split_event(line: bytes) -> tuple[bytes, bytes]:
    """The type and the object in one line of a watch stream.

    Go writes ``{"type":"ADDED","object":{…}}``. In this form the object is the text between a fixed beginning and a
    fixed end. Every other form is parsed.

    Raises:
        WatchBroken: the line is not an event.
    """
    if line.startswith(_MODIFIED) and line.endswith(b"}}"):  # most events
        return b"MODIFIED", line[len(_MODIFIED) - 1 : -1]
    if line.startswith(b'{"type":"'):
        end = line.find(b'"', 9)
        if line.startswith(b'","object":{', end) and line.endswith(b"}}"):
            return line[9:end], line[end + 11 : -1]
    try:
        frame = _decode_frame(line)
    except (*_MALFORMED, RecursionError) as problem:
        try:
            parts = members(line)
            return str(plain(parts["type"])).encode(), parts["object"]
        except (DecodeError, LookupError, UnicodeEncodeError):
            raise WatchBroken(f"not a watch event: {problem}; it is {excerpt(line)}") from None
    return frame.type.encode(), bytes(frame.object)


def ends_list(metadata: MarkMeta) -> bool:
    """Whether this is the bookmark that ends a streamed list."""
    return (metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true"


def mark_of(raw: bytes) -> MarkMeta:
    """The metadata of a bookmark.

    Raises:
        WatchBroken: ``raw`` is not a bookmark.
    """
    try:
        return _decode_mark(raw).metadata
    except (*_MALFORMED, RecursionError) as problem:
        raise WatchBroken(f"an invalid bookmark: {problem}; it is {excerpt(raw)}") from None


def status_of(raw: bytes) -> Status:
    """The Status of an ERROR event, or a substitute if the event has none."""
    try:
        return _decode_status(raw)
    except (*_MALFORMED, RecursionError):
        return Status(code=500, reason="InternalError", message=f"an ERROR event without a Status: {excerpt(raw)}")
