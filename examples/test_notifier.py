"""The test of notifier.py: its endpoint is a function."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

from notifier import Announcement, AnnouncementSpec, App, controller
from prometheus_client import CollectorRegistry, Counter

import setpoint as sp


class Endpoint:
    """Takes the place of a session."""

    def __init__(self) -> None:
        self.told: list[str] = []

    @asynccontextmanager
    async def post(self, url: str, *, data: str, raise_for_status: bool) -> AsyncGenerator[None]:
        self.told.append(data)
        yield


@sp.testing.virtual_time
async def test_every_text_is_told_once() -> None:
    endpoint = Endpoint()
    told = Counter("announcements_told", "", registry=CollectorRegistry())

    @asynccontextmanager
    async def lifespan(manager: sp.Manager) -> AsyncGenerator[App]:
        yield App(cast("Any", endpoint), "http://endpoint", told)

    async with sp.testing.cluster(controller, lifespan=lifespan) as cluster:
        for text in ("one", "two", "two"):
            await cluster.apply(Announcement.named("a", "default", spec=AnnouncementSpec(text=text)))
            await cluster.settle()
        assert endpoint.told == ["one", "two"]
