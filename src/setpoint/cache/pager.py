"""Pager: reads a whole collection into a sink, in pages if that is cheaper for the server."""

from __future__ import annotations

import asyncio

from msgspec import UNSET

from setpoint.cache.errors import WatchBroken, is_expired
from setpoint.cache.informer_scope import Scope
from setpoint.cache.list_splitter import Envelope, ListSplitter
from setpoint.cache.lister_watcher import ListerWatcher
from setpoint.cache.reflector_counters import Counters
from setpoint.cache.reflector_sink import Sink
from setpoint.cache.watch_options import WatchOptions
from setpoint.client.errors import Gone
from setpoint.client.paging import Paging
from setpoint.client.response_checks import check_list
from setpoint.meta import DecodeError, ListMeta

PAGE_SIZE = 500
MAX_REPEATED = 10_000
"""The number of objects of a list that may have been in it before. Servers repeat none."""
_YIELD_BYTES = 1 << 20


class YieldCounter:
    """Lets other tasks run from time to time during work on a source that never blocks."""

    def __init__(self) -> None:
        self._bytes_since_yield = 0

    async def after(self, size: int) -> None:
        """Counts the bytes processed, and yields to the loop after each megabyte or so."""
        self._bytes_since_yield += size
        if self._bytes_since_yield > _YIELD_BYTES:
            self._bytes_since_yield = 0
            await asyncio.sleep(0)


class Pager:
    """Lists a collection.

    By default, lists of version ``""`` or ``"0"`` request pages of 500 items. Other versions, which servers answer from
    their watch cache, are requested without pages, unless the server has answered a list of version ``"0"`` in pages.
    If the server says that a later page has expired, the collection is listed once more without pages.
    """

    def __init__(
        self,
        source: ListerWatcher,
        scope: Scope,
        sink: Sink,
        counters: Counters,
        options: WatchOptions,
        yield_counter: YieldCounter,
    ) -> None:
        self._source = source
        self._path = scope.path
        self._resource = scope.resource
        self._sink = sink
        self._counters = counters
        self._scope = scope
        self._accept = scope.list_accept
        self._page_size = options.page_size
        self._idle_timeout = options.idle_timeout
        self._yield_counter = yield_counter
        self._pages_cached_lists = False

    async def list_at(self, version: str) -> str:
        """Replaces the sink's objects with those at this version or a newer one; returns the version that was listed.

        Raises:
            ApiError, TransportError, WatchBroken: the list failed; the sink keeps its objects.
        """
        counters, loop = self._counters, asyncio.get_running_loop()
        counters.lists += 1
        started = loop.time()
        self._sink.begin()
        limit = self._limit(version)
        paging = Paging(self._resource)
        page = await self._page(version, limit, "", paging)
        paged = bool(page.continue_)
        resource_version = page.resource_version
        while page.continue_:
            try:
                page = await self._page("", limit, page.continue_, paging)
            except Gone as problem:
                if not is_expired(problem):
                    raise
                self._sink.begin()
                page = await self._page(version, 0, "", paging)
            resource_version = page.resource_version
        if paged and version == "0":
            self._pages_cached_lists = True
        counters.last_received_at = loop.time()
        counters.list_seconds += counters.last_received_at - started
        self._sink.finish(resource_version)
        return resource_version

    def _limit(self, version: str) -> int:
        if self._page_size is not None:
            return self._page_size
        if self._pages_cached_lists or version in ("", "0"):
            return PAGE_SIZE
        return 0

    async def _page(self, version: str, limit: int, token: str, paging: Paging) -> ListMeta:
        query = list(self._scope.query)
        if limit:
            query.append(("limit", str(limit)))
        if token:
            query.append(("continue", token))
        elif version:
            query.append(("resourceVersion", version))
        splitter = ListSplitter(self._check)
        sink, is_new, repeated = self._sink, False, 0
        async with self._source.stream(
            "GET",
            self._path,
            query=tuple(query),
            accept=self._accept,
            idle_timeout=self._idle_timeout,
            verb="list",
        ) as response:
            async for chunk in response.chunks():
                for item in splitter.feed(chunk):
                    if sink.item(item):
                        is_new = True
                    else:
                        repeated += 1
                    self._counters.listed_items += 1
                if repeated > MAX_REPEATED:
                    raise WatchBroken(f"the server repeats the objects of a list of {self._resource} endlessly")
                await self._yield_counter.after(len(chunk))
        items, envelope = splitter.finish()
        for item in items:
            is_new = sink.item(item) or is_new
            self._counters.listed_items += 1
        sink.flush()
        if envelope.metadata.continue_:
            paging.check(envelope.metadata.continue_, is_new=is_new)
        return envelope.metadata

    def _check(self, envelope: Envelope) -> None:
        try:
            has_items = envelope.items is not UNSET
            check_list(self._resource, envelope.api_version, envelope.kind, has_items=has_items)
        except DecodeError as problem:
            raise WatchBroken(f"the answer is not the requested list: {problem}") from None
