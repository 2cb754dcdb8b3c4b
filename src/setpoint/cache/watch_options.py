"""WatchOptions: how a cache lists and watches a collection."""

from __future__ import annotations

from typing import Literal

import msgspec

MIN_WATCH_TIMEOUT = 300.0
IDLE_TIMEOUT = 330.0

FirstList = Literal["newest", "any"]
"""The version that the first list of a collection requests."""


class WatchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of lists and watches of a collection. The defaults suit every API server.

    ``streaming_lists``: lists are streamed as a part of the watch (KEP-3157) if the server supports it. ``page_size``:
    the number of objects in a page of other lists; None for the rules of the reflector, 0 for no pages.
    ``min_watch_timeout``: each watch asks the server to end it after a random time between once and twice this number
    of seconds, which is at least 300. ``bookmarks``: the server is asked for the version that a quiet collection has;
    without them, ``idle_timeout`` must be None.

    ``idle_timeout`` (seconds, default 330) is the longest silence of a watch before it counts as dead. Once the server
    has sent bookmarks, the limit is two and a half times the gap between them if that is less: 150 s with a
    kube-apiserver.

    ``first_list`` matters only if the server can't stream lists (before Kubernetes 1.32, or with that feature
    disabled). ``"newest"`` requests the state at the time of the request, which includes everything that this program
    saw before a restart, and all writes of other clients. To answer, a server before 1.31 reads all objects of the
    collection from etcd, in pages of 500; later servers ask etcd only for its revision, and answer from memory.
    ``"any"`` is answered from memory by every server, at once and without etcd, but the answer may be older than the
    state that this program saw before. A controller that acts on *missing* objects can do harm in that case. Use
    ``"any"`` only if the lists at a restart of the program would overload etcd.
    """

    streaming_lists: bool = True
    page_size: int | None = None
    min_watch_timeout: float = MIN_WATCH_TIMEOUT
    bookmarks: bool = True
    idle_timeout: float | None = IDLE_TIMEOUT
    first_list: FirstList = "newest"
