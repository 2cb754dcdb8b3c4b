"""The keys of an OpenID Connect provider, fetched again when the provider has changed them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

from setpoint.apiserver.identity.keys import BadKeyError, PublicKey
from setpoint.apiserver.replay import Suspended

_log = logging.getLogger(__name__)
_PAUSE: Final = timedelta(seconds=10)
"""The minimum time between two fetches, because any client can send a token with an unknown key."""
_PERIOD: Final = timedelta(hours=1)


class ProviderKeys:
    """The keys with which a provider signs: ``keys`` at first, later the results of ``fetch``.

    The keys are fetched again when a token names an unknown key, or when a token has to be verified and the keys are
    more than an hour old. A failed fetch (`BadKeyError`) is logged, and the former keys remain in use. Without
    ``fetch``, the keys never change.
    """

    def __init__(
        self, keys: Sequence[PublicKey], fetch: Callable[[], Awaitable[Sequence[PublicKey]]] | None = None
    ) -> None:
        self.keys = tuple(keys)
        """The current keys."""
        self._fetch = fetch
        self._fresh: datetime | None = None
        self._fetched_at: datetime | None = None
        self._fetches = 0
        self._lock = asyncio.Lock()

    def prepare(self, now: datetime, name: object) -> None:
        """Checks whether the keys have to be fetched again because they do not include the key ``name`` or are too
        old.

        ``name`` is the key that a token names; it may be None, because a token need not name its key.

        Raises:
            Suspended: the keys have to be fetched first.
        """
        if self._fetch is None:
            return
        if self._fresh is None:
            self._fresh = now
        unknown = bool(name) and all(key.id != name for key in self.keys)
        rested = self._fetched_at is None or now - self._fetched_at >= _PAUSE
        if (rested or self._lock.locked()) and (unknown or now - self._fresh >= _PERIOD):
            fetches = self._fetches
            raise Suspended(lambda _: self._renew(fetches, now))

    async def _renew(self, fetches: int, now: datetime) -> None:
        """Fetches the keys, unless another request has fetched them since the caller looked."""
        async with self._lock:
            if self._fetches != fetches or self._fetch is None:
                return
            self._fetched_at = now
            try:
                self.keys = tuple(await self._fetch())
                self._fresh = now
            except BadKeyError as problem:
                _log.warning(
                    "could not fetch the OpenID Connect provider's keys; the former ones remain in use: %s",
                    problem,
                )
            finally:
                self._fetches += 1
