"""What a server consists of, for everything that answers requests. Only `setpoint.apiserver.server` makes one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from random import Random
from typing import Final, Protocol

from setpoint.apiserver.http_types import UserInfo
from setpoint.apiserver.reads import Reads
from setpoint.apiserver.replay import Lengthy, ObjectLocks, Replay
from setpoint.apiserver.resources.behaviour import AdmissionConfigurations, Definitions
from setpoint.apiserver.resources.registry import Registry, Served
from setpoint.apiserver.storage import Damage, Storage
from setpoint.apiserver.webhooks.caller import WebhookCaller
from setpoint.slices import Slicer

__all__ = ["LARGE", "OpenWatch", "State"]

LARGE: Final = 16 * 1024
"""Bytes of a body or an object that take more than a few milliseconds."""


class OpenWatch(Protocol):
    """One client's watch."""

    @property
    def served(self) -> Served: ...
    def stop(self) -> None:
        """Ends the stream after what is under way."""
        ...


class State:
    """One server's storage, registry, clock and so on.

    ``definitions`` and ``configurations`` follow what is stored of their kinds. ``admin`` makes requests that come
    without a user; ``token_secret`` signs the tokens of service accounts.
    """

    definitions: Definitions

    def __init__(
        self,
        *,
        storage: Storage,
        configurations: AdmissionConfigurations,
        now: Callable[[], datetime],
        random: Random,
        token_secret: bytes,
        admin: UserInfo,
        webhook_caller: WebhookCaller,
        bookmark_period: float,
    ) -> None:
        self.storage = storage
        self.configurations = configurations
        self.now = now
        self.random = random
        self.token_secret = token_secret
        self.admin = admin
        self.webhook_caller = webhook_caller
        self.bookmark_period = bookmark_period
        self.registry = Registry()
        self.locks = ObjectLocks()
        self.watches: dict[OpenWatch, None] = {}
        """In the order in which they began, which is that of their ends."""
        self.running = False
        self.stopping = False
        self.slicer = Slicer()
        self.at_once = False
        """Whether a request is tried in one go right now."""

    @property
    def damage(self) -> list[Damage]:
        """What is stored and can't be read or used."""
        return [*self.storage.damage, *self.definitions.damage, *self.configurations.damage]

    def replay(self) -> Replay:
        """For one request that begins now."""
        return Replay(self.random, self.now(), self.slicer, lambda: Reads(self.storage, self.registry.find))

    def lengthy(self, size: int = LARGE) -> None:
        """Said before work on so many bytes. Raises Lengthy if that is too much for one go."""
        if self.at_once and size >= LARGE:
            raise Lengthy

    def end_watches(self, served: Served | None = None) -> None:
        """Ends the watches on one resource (in one version), or all of them."""
        for item in tuple(self.watches):
            if served is None or item.served is served:
                item.stop()
