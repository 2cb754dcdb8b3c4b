"""Reflector: makes a sink follow one collection of an API server until it is cancelled.

The rules are client-go's, which come from years of experience with outages; see `Reflector`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from random import Random

from setpoint.cache.backoff import ReflectorBackoff
from setpoint.cache.bookmark_interval import BookmarkInterval
from setpoint.cache.errors import WatchBroken, is_expired, is_refused, is_too_large
from setpoint.cache.informer_scope import Scope
from setpoint.cache.lister_watcher import ListerWatcher
from setpoint.cache.pager import MAX_REPEATED, Pager, YieldCounter
from setpoint.cache.reflector_counters import Counters
from setpoint.cache.reflector_sink import Sink
from setpoint.cache.watch_frames import TYPES, ends_list, mark_of, split_event, status_of
from setpoint.cache.watch_options import MIN_WATCH_TIMEOUT, WatchOptions
from setpoint.client.errors import ApiError, TooManyRequests, error_from_status
from setpoint.client.transport import Response, TransportError
from setpoint.concurrency import Deadline

logger = logging.getLogger("setpoint.cache")

INITIAL_EVENTS_TIMEOUT = 30.0
VERY_SHORT = 1.0


class _Initial:
    """The state of a streamed list."""

    complete = False
    events = 0
    repeated = 0


class _StreamingRefused(Exception):
    """The server can't stream this list, or did not do so in time."""


class _StreamBroke(WatchBroken):
    """An established watch broke."""

    def __init__(self, problem: TransportError) -> None:
        super().__init__(str(problem))
        self.idle = problem.timed_out


class _VeryShortWatch(WatchBroken):
    pass


class Reflector:
    """Lists a collection and then watches it; lists again as rarely as possible.

    *Rules*

    - The first list requests the newest state, and later lists request the last version seen, so the observed state
      never goes back in time, not even across a restart of this program. (``first_list="any"`` requests version ``0``,
      any state in the server's memory, as client-go does; see `WatchOptions` for the costs.) After a **list** was
      answered with 410 or "too large resource version", the next list requests the newest state. After a **watch** was
      answered with 410, the next list requests the last version.
    - After a 429 or a refused connection, a watch is tried again as a watch, without a list.
    - A watch that ends normally is resumed at once at the version where it ended; so is a watch that broke after it was
      established. A watch that ended within a second without a change is an error: the collection is listed again,
      after a wait.
    - `ReflectorBackoff` determines the waits.
    - Each watch asks the server to end it after a random time between once and twice ``min_watch_timeout`` (at least 5
      minutes). A stream counts as dead and is resumed if it receives no byte for ``idle_timeout`` or, if the server
      sends bookmarks, for the time that `BookmarkInterval` allows.
    - Without ``bookmarks`` the server is not asked for any, so a watch of a quiet collection costs nothing; but when it
      ends, the last version may be too old to resume from, and a list is needed. ``idle_timeout`` must be None then.
    - Lists are streamed (``sendInitialEvents``) if the server supports it. If it refuses, or is silent for 30 seconds,
      the reflector requests an ordinary list instead.
    - `Pager` determines when lists are paged.

    ``on_error`` is called with every error after which the reflector waits. These errors do not end a reflector; only
    cancellation does.
    """

    def __init__(
        self,
        source: ListerWatcher,
        scope: Scope,
        sink: Sink,
        *,
        random: Random,
        options: WatchOptions | None = None,
        backoff: ReflectorBackoff | None = None,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        self.last_resource_version = ""
        self.counters = Counters()
        self._source = source
        self._path = scope.path
        self._sink = sink
        self._random = random
        self._scope = scope
        self._accept = scope.accept
        self._options = options = options if options is not None else WatchOptions()
        self._min_watch_timeout = max(options.min_watch_timeout, MIN_WATCH_TIMEOUT)
        self._bookmark_interval = BookmarkInterval(options.idle_timeout)
        self._first_version = "" if options.first_list == "newest" else "0"
        self._backoff = backoff if backoff is not None else ReflectorBackoff(random)
        self._on_error = on_error
        self.failing = False
        """Whether an attempt to list or watch has failed and no watch has been established since."""
        self._unavailable = False
        self._yield_counter = YieldCounter()
        self._pager = Pager(source, scope, sink, self.counters, options, self._yield_counter)

    async def run(self) -> None:
        """Follows the collection until it is cancelled."""
        while True:
            try:
                await self.list_and_watch()
            except (ApiError, TransportError, WatchBroken) as problem:
                self._count_relist(problem)
                self._failed(problem)
            await self._wait()

    async def list_and_watch(self) -> None:
        """Lists once, then watches until the watch fails.

        Raises:
            ApiError, TransportError, WatchBroken: the list failed, or the watch ended and can't be resumed.
        """
        if self._options.streaming_lists:
            try:
                await self._stream_list_and_watch()
            except _StreamingRefused as problem:
                logger.debug("%s: listing instead of streaming the list: %s", self._path, problem)
        await self._list()
        await self._watch()

    # -- lists ---------------------------------------------------------------------------------------------------------

    async def _list(self) -> None:
        version = "" if self._unavailable else (self.last_resource_version or self._first_version)
        try:
            await self._list_at(version)
        except (ApiError, TransportError) as problem:
            if not (is_expired(problem) or is_too_large(problem)):
                raise
            # At once, and the newest: waiting does not bring the version back.
            self._unavailable = True
            await self._list_at("")
        self._unavailable = False

    async def _list_at(self, version: str) -> None:
        self.last_resource_version = await self._pager.list_at(version)

    # -- watches -------------------------------------------------------------------------------------------------------

    async def _stream_list_and_watch(self) -> None:
        """Streams a list and watches. This never returns normally: it raises the error that ended the watch after a
        complete list, or `_StreamingRefused`.
        """
        while True:
            version = "" if self._unavailable else self.last_resource_version
            query = (("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"))
            self._sink.begin()
            initial = _Initial()
            try:
                await self._watch_once(version, query, initial)
            except (ApiError, TransportError, WatchBroken) as problem:
                if initial.complete:
                    if not await self._may_go_on(problem):
                        raise
                    break
                if is_refused(problem) or isinstance(problem, TooManyRequests):
                    self._failed(problem)
                    await self._wait()
                    continue
                if is_expired(problem) or is_too_large(problem):
                    if self._unavailable:
                        raise _StreamingRefused(str(problem)) from problem
                    self._unavailable = True
                    continue
                raise _StreamingRefused(str(problem)) from problem
            if initial.complete:
                break
            # It ended before the list was complete: start again, unless that would be a hot loop.
            if initial.events == 0:
                raise _StreamingRefused("the stream ended without a single event")
            await self._wait()
        await self._watch()

    async def _watch(self) -> None:
        """Watches from the last version until a list is needed; raises the error that made the list necessary."""
        while True:
            try:
                await self._watch_once(self.last_resource_version, (), None)
            except (ApiError, TransportError, WatchBroken) as problem:
                if not await self._may_go_on(problem):
                    raise

    async def _may_go_on(self, problem: Exception) -> bool:
        """Waits if ``problem`` requires it, and returns whether the watch can be resumed at the last version."""
        counters = self.counters
        if isinstance(problem, TooManyRequests) or is_refused(problem):
            counters.count_end("throttled" if isinstance(problem, ApiError) else "refused")
            self._failed(problem)
            await self._wait()
            return True
        if isinstance(problem, _StreamBroke):
            counters.count_end("idle" if problem.idle else "broken")
            logger.debug("%s: %s; resuming the watch from %s", self._path, problem, self.last_resource_version)
            return True
        if isinstance(problem, _VeryShortWatch):
            counters.count_end("very-short")
        else:
            counters.count_end("expired" if is_expired(problem) else "error")
        return False

    async def _watch_once(self, version: str, extra: tuple[tuple[str, str], ...], initial: _Initial | None) -> None:
        """Runs one watch; returns when the server ends it normally."""
        loop, counters = asyncio.get_running_loop(), self.counters
        timeout = self._min_watch_timeout * (1 + self._random.random())
        query = [*self._scope.query, ("watch", "true"), ("timeoutSeconds", str(int(timeout))), *extra]
        if self._options.bookmarks or initial is not None:  # a streamed list ends with one
            query.append(("allowWatchBookmarks", "true"))
        if version:
            query.append(("resourceVersion", version))
        started, before = loop.time(), self.last_resource_version
        deadline = Deadline()
        counters.watches += 1
        try:
            async with self._source.stream(
                "GET",
                self._path,
                query=tuple(query),
                accept=self._accept,
                idle_timeout=self._bookmark_interval.silence,
                verb="watch",
            ) as response:
                self.failing = False
                self._bookmark_interval.begin(loop.time())
                try:
                    async with deadline:
                        await self._follow(response, version, initial, deadline)
                except TransportError as problem:
                    if problem.timed_out:
                        self._bookmark_interval.forget()
                    listing = initial is not None and not initial.complete
                    if not listing and (self.last_resource_version != before or loop.time() - started >= VERY_SHORT):
                        raise _StreamBroke(problem) from problem
                    raise
                except TimeoutError:
                    if not deadline.expired:
                        raise
                    raise _StreamingRefused(f"no event for {INITIAL_EVENTS_TIMEOUT:g} s") from None
        finally:
            counters.watch_seconds += loop.time() - started
        if initial is not None:
            if initial.complete:
                counters.count_end("closed")
            return
        if loop.time() - started < VERY_SHORT and self.last_resource_version == before:
            counters.short_watches += 1
            raise _VeryShortWatch(
                f"very short watch of {self._path}: the server ended it within {VERY_SHORT:g} s, without a change"
            )
        counters.count_end("closed")

    async def _follow(self, response: Response, version: str, initial: _Initial | None, deadline: Deadline) -> None:
        """Applies the events of one stream as they arrive."""
        loop, counters, sink = asyncio.get_running_loop(), self.counters, self._sink
        # A watch from "0" or "" begins with existing objects, unordered: it can't be resumed from their versions.
        ordered = version not in ("", "0")
        if initial is not None:
            deadline.move(loop.time() + INITIAL_EVENTS_TIMEOUT)
        async for lines in response.batches():
            size = 0
            for line in lines:
                size += len(line)
                kind, raw = split_event(line)
                type = TYPES.get(kind)
                if type is not None:
                    if initial is not None:
                        initial.events += 1
                        counters.listed_items += 1
                        if type == "DELETED":
                            sink.unlisted(raw)
                        elif not sink.item(raw):
                            initial.repeated += 1
                            if initial.repeated > MAX_REPEATED:
                                raise _StreamingRefused("the server repeats the objects endlessly")
                        continue
                    ordered = ordered or type != "ADDED"
                    observed = sink.event(type, raw, ordered)
                    counters.watched_events += 1
                    if observed and ordered:
                        self.last_resource_version = observed
                elif kind == b"BOOKMARK":
                    counters.bookmarks += 1
                    metadata = mark_of(raw)
                    observed = metadata.resource_version
                    if not observed:
                        continue
                    if initial is None:
                        self.last_resource_version = observed
                        sink.bookmark(observed)
                        self._bookmark_interval.bookmark(loop.time())
                        response.idle_timeout = self._bookmark_interval.silence
                    elif ends_list(metadata):
                        sink.finish(observed)
                        self.last_resource_version = observed
                        self._unavailable = False
                        counters.streamed_lists += 1
                        initial.complete = ordered = True
                        initial = None
                        deadline.move(None)
                elif kind == b"ERROR":
                    raise error_from_status(status_of(raw), verb="watch", resource=self._path)
                else:
                    counters.skipped += 1
                    logger.warning("%s: an event of unknown type %r was skipped", self._path, kind[:40])
            now = loop.time()
            if initial is not None:
                deadline.move(now + INITIAL_EVENTS_TIMEOUT)
            counters.bytes += size
            counters.last_received_at = counters.last_byte_at = now
            sink.flush()
            await self._yield_counter.after(size)

    # -- small parts ---------------------------------------------------------------------------------------------------

    async def _wait(self) -> None:
        await asyncio.sleep(self._backoff.next(asyncio.get_running_loop().time()))

    def _failed(self, problem: Exception) -> None:
        self.failing = True
        if self._on_error is not None:
            self._on_error(problem)

    def _count_relist(self, problem: Exception) -> None:
        reason = "expired" if is_expired(problem) else type(problem).__name__.lstrip("_")
        self.counters.relists[reason] = self.counters.relists.get(reason, 0) + 1
