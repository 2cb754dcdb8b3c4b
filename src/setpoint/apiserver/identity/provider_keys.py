"""The keys of an OpenID Connect provider, fetched anew when it has changed them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

from setpoint.apiserver.identity.keys import BadKeyError, PublicKey
from setpoint.apiserver.replay import Suspended

__all__ = ["ProviderKeys"]

_log = logging.getLogger(__name__)
_PAUSE: Final = timedelta(seconds=10)
"""At least that long between two fetches: any client can send a token with an unknown key."""
_PERIOD: Final = timedelta(hours=1)


class ProviderKeys:
    """The keys that a provider signs with: ``keys`` at first, and what ``fetch`` gives from then on.

    They are fetched anew when a token names a key that is not among them, and when they are older than an hour and a
    token is to be checked. A fetch that fails (`BadKeyError`) is told in the log, and the former keys stay. Without
    ``fetch`` they never change.
    """

    def __init__(
        self, keys: Sequence[PublicKey], fetch: Callable[[], Awaitable[Sequence[PublicKey]]] | None = None
    ) -> None:
        self.known = tuple(keys)
        """The keys as of now."""
        self._fetch = fetch
        self._fresh: datetime | None = None
        self._asked: datetime | None = None
        self._fetches = 0
        self._lock = asyncio.Lock()

    def prepare(self, now: datetime, name: object) -> None:
        """Makes sure that a token can be checked whose key has that name; tokens need not name their keys.

        Raises:
            Suspended: the keys have to be fetched first.
        """
        if self._fetch is None:
            return
        if self._fresh is None:
            self._fresh = now
        unknown = bool(name) and all(key.id != name for key in self.known)
        rested = self._asked is None or now - self._asked >= _PAUSE
        if (rested or self._lock.locked()) and (unknown or now - self._fresh >= _PERIOD):
            seen = self._fetches
            raise Suspended(lambda _: self._renew(seen, now))

    async def _renew(self, seen: int, now: datetime) -> None:
        """Fetches the keys, unless another request has done that since the caller looked."""
        async with self._lock:
            if self._fetches != seen or self._fetch is None:
                return
            self._asked = now
            try:
                self.known = tuple(await self._fetch())
                self._fresh = now
            except BadKeyError as problem:
                _log.warning("the keys of the OpenID Connect provider stay as they are: %s", problem)
            finally:
                self._fetches += 1
