"""Watches: streams of the changes after a revision."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from setpoint.apiserver.errors import ApiStatusError, expired, too_large_resource_version
from setpoint.apiserver.http_types import Response
from setpoint.apiserver.objects.codec import decode
from setpoint.apiserver.objects.versions import PLAIN, Versions
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.options import ListOptions
from setpoint.apiserver.responses.representation import Representation, warning_header
from setpoint.apiserver.storage import Change, Compacted, Record, Subscription
from setpoint.apiserver.verbs.get_list import select
from setpoint.apiserver.verbs.selection import Matcher

if TYPE_CHECKING:
    from setpoint.apiserver.resources.registry import ServedResource

MIN_TIMEOUT = 1800.0
"""The minimum duration of a watch without ``timeoutSeconds``, in seconds; the maximum is twice as long, so that watches
do not all end at the same time.
"""
_BATCH = 500
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


def watch(call: Call, options: ListOptions) -> Response:
    """A streaming response, with one JSON line or protobuf frame for each event. Raises ApiStatusError before the
    stream begins; later errors are events.
    """
    shape = Representation.negotiate(call, stream=True)
    stream = Watch(call, options, shape)
    headers = {"content-type": shape.stream_type, "cache-control": "no-cache, private"}
    if call.warnings:
        headers["warning"] = warning_header(call.warnings)
    return Response(200, headers, _Stream(stream))


class Watch:
    """One watch. It holds a position in the storage's history, not a queue: a client that reads so slowly that its
    position leaves the history receives an ERROR event with code 410, and the stream ends.

    - Changes come in the order of their revisions, without repetitions or gaps.
    - A change that makes an object match is ADDED; one that makes it stop matching is DELETED (with the object as it
      was, at the revision of the change).
    - With a resourceVersion of "" or "0", the watch begins with the existing objects, as ADDED events.
    - The same holds with ``sendInitialEvents``; if the client allows bookmarks, a bookmark with the annotation
      ``k8s.io/initial-events-end`` follows these events (KEP-3157).
    """

    def __init__(self, call: Call, options: ListOptions, shape: Representation) -> None:
        self._call = call
        self._options = options
        self._shape = shape
        self._served: ServedResource = call.served
        self._matcher = Matcher.of(call, options)
        self._wake = asyncio.Event()
        self._stopped = False
        self._headers = True
        storage = call.storage
        revision = options.revision
        self._initial: Sequence[Record] = ()
        initial = options.send_initial_events
        if (initial is None and options.resource_version in ("", "0")) or initial:
            if revision > storage.revision:
                raise too_large_resource_version(revision, storage.revision)
            self._initial, _ = select(
                call,
                ListOptions(
                    label_selector=options.label_selector,
                    field_selector=options.field_selector,
                    shard_selector=options.shard_selector,
                ),
            )
            revision = storage.revision
        elif revision == 0:
            revision = storage.revision
        self._revision = revision
        try:
            self._subscription: Subscription = storage.subscribe(self._served.collection, revision, self._wake.set)
        except Compacted as gap:
            raise expired(f"too old resource version: {revision} ({gap.oldest})") from None
        call.state.watches[self] = None

    @property
    def served(self) -> ServedResource:
        return self._served

    def stop(self) -> None:
        """Ends the stream after the events that are already being sent; the client should watch again."""
        self._stopped = True
        self._wake.set()

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """The stream, in chunks of whole events."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._timeout()
        timers = [loop.call_at(end, self._wake.set)]
        bookmarks = self._options.allow_bookmarks
        period = self._call.state.bookmark_period
        next_bookmark = loop.time() + period
        try:
            for start in range(0, len(self._initial), _BATCH):
                records = self._initial[start : start + _BATCH]
                if self._served.asks:
                    yield await self._with_answers(records, partial(self._added, records))
                else:
                    yield self._added(records, PLAIN)
            self._initial = ()
            if self._options.send_initial_events and bookmarks:
                yield self._bookmark(initial_end=True)
            while True:
                self._wake.clear()
                changes = self._subscription.read(_BATCH)
                if changes:
                    if self._served.asks:
                        records = [
                            record for change in changes for record in (change.record, change.previous) if record
                        ]
                        chunk = await self._with_answers(records, partial(self._events, changes))
                    else:
                        chunk = self._events(changes, PLAIN)
                    self._revision = changes[-1].record.revision
                    if chunk:
                        yield chunk
                    continue
                now = loop.time()
                if self._stopped or now >= end:
                    if bookmarks and now >= end:
                        yield self._bookmark()
                    return
                if bookmarks and now >= next_bookmark:
                    next_bookmark = now + period
                    yield self._bookmark()
                    continue
                if bookmarks:
                    timers[1:] = [loop.call_at(next_bookmark, self._wake.set)]
                await self._wake.wait()
                for timer in timers[1:]:
                    timer.cancel()
        except Compacted as gap:
            yield self._error(expired(f"too old resource version: {gap.revision} ({gap.oldest})"))
        except ApiStatusError as error:
            yield self._error(error)
        finally:
            for timer in timers:
                timer.cancel()
            self.close()

    def _added(self, records: Sequence[Record], versions: Versions) -> bytes:
        return b"".join(self._line(b"ADDED", record, versions) for record in records)

    def _events(self, changes: Sequence[Change], versions: Versions) -> bytes:
        return b"".join(self._event(change, versions) for change in changes)

    async def _with_answers(self, records: Sequence[Record], work: Callable[[Versions], bytes]) -> bytes:
        """Returns the result of ``work`` after webhooks have done the conversions that it needs. Raises
        ApiStatusError.
        """
        served, headers = self._served, self._headers
        replay = self._call.state.replay()
        versions = Versions(replay)

        def attempt() -> bytes:
            self._headers = headers
            versions.encoded_all(served, [record for record in records if self._concerns(record)])
            return work(versions)

        return await replay.run(attempt)

    def _concerns(self, record: Record) -> bool:
        path = self._call.path
        return path.namespace in ("", record.namespace) and path.name in ("", record.name)

    def close(self) -> None:
        self._subscription.close()
        self._call.state.watches.pop(self, None)

    def _timeout(self) -> float:
        if self._options.timeout_seconds:
            return float(self._options.timeout_seconds)
        return MIN_TIMEOUT * (1 + self._call.random.random())

    def _event(self, change: Change, versions: Versions) -> bytes:
        record, previous = change.record, change.previous
        if not self._concerns(record):
            return b""
        if self._matcher.everything:
            return self._line(change.type.encode(), record, versions)
        before = previous is not None and self._matcher.matches(previous.value, versions)
        after = change.type != "DELETED" and self._matcher.matches(record.value, versions)
        if after:
            return self._line(b"MODIFIED" if before else b"ADDED", record, versions)
        if not before:
            return b""
        if change.type == "DELETED":
            return self._line(b"DELETED", record, versions)
        assert previous is not None
        return self._line(b"DELETED", _at_revision(previous, record.revision), versions)

    def _line(self, type_: bytes, record: Record, versions: Versions) -> bytes:
        served = self._served
        value = self._shape.item(self._call, versions.encoded(served, record), headers=self._headers)
        self._headers = False
        return self._shape.event(type_, value)

    def _bookmark(self, *, initial_end: bool = False) -> bytes:
        if not initial_end:  # everything up to the storage's revision has been read when this is called
            self._revision = max(self._revision, self._call.storage.revision)
        resource = self._served.resource
        metadata: dict[str, object] = {"resourceVersion": str(self._revision)}
        if initial_end:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        obj = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        value = msgspec.json.encode(obj)
        shape = self._shape
        if shape.form != "object":
            if shape.include == "None":  # what marks the end of the first events is in the metadata
                shape = replace(shape, include="Metadata")
            value = shape.item(self._call, value, headers=self._headers)
        return shape.event(b"BOOKMARK", value)

    def _error(self, error: ApiStatusError) -> bytes:
        return self._shape.event(b"ERROR", msgspec.json.encode(error.status))


class _Stream(AsyncIterator[bytes]):
    """The stream of a watch. Its ``aclose`` ends the watch even before the first line is requested; a generator's
    ``aclose`` would not.
    """

    __slots__ = ("_lines", "_watch")

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._lines = watch.lines()

    async def __anext__(self) -> bytes:
        return await anext(self._lines)

    async def aclose(self) -> None:
        await self._lines.aclose()
        self._watch.close()


def _at_revision(record: Record, revision: int) -> Record:
    obj = decode(record.value)
    obj["metadata"]["resourceVersion"] = str(revision)
    return Record(record.namespace, record.name, revision, msgspec.json.encode(obj))
