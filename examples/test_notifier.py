"""The tests of notifier.py: its endpoint is a function."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
import pytest
from notifier import Announcement, AnnouncementSpec, App, controller
from prometheus_client import CollectorRegistry, Counter

import setpoint as sp


class Endpoint:
    """Takes the place of a session."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    @asynccontextmanager
    async def post(self, url: str, *, data: str, raise_for_status: bool) -> AsyncGenerator[None]:
        self.texts.append(data)
        yield


def life_with(endpoint: object, counter: object) -> Any:
    """The program's lifespan, with an endpoint that takes the place of a session."""

    @asynccontextmanager
    async def lifespan(manager: sp.Manager) -> AsyncGenerator[App]:
        yield App(cast("Any", endpoint), "http://endpoint", cast("Any", counter))

    return lifespan


def running(endpoint: Endpoint) -> Any:
    counter = Counter("announcements_sent", "", registry=CollectorRegistry())
    return sp.testing.cluster(controller, lifespan=life_with(endpoint, counter))


@sp.testing.virtual_time
async def test_every_text_is_told_once() -> None:
    endpoint = Endpoint()
    async with running(endpoint) as cluster:
        for text in ("one", "two", "two"):
            await cluster.apply(Announcement.named("a", "default", spec=AnnouncementSpec(text=text)))
            await cluster.settle()
        assert endpoint.texts == ["one", "two"]


class Away(Endpoint):
    """An endpoint that can't be reached at first."""

    away = 3

    @asynccontextmanager
    async def post(self, url: str, *, data: str, raise_for_status: bool) -> AsyncGenerator[None]:
        if self.away:
            self.away -= 1
            raise aiohttp.ClientConnectionError("connection refused")
        self.texts.append(data)
        yield


@sp.testing.virtual_time
async def test_an_endpoint_that_is_away_is_tried_again_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    endpoint = Away()
    async with running(endpoint) as cluster:
        await cluster.apply(Announcement.named("a", "default", spec=AnnouncementSpec(text="one")))
        await cluster.settle()
        assert endpoint.texts == ["one"]
    assert not [record for record in caplog.records if record.exc_info]


class DistantEndpoint(sp.simulation.External):
    """The endpoint, behind a network. It knows the last text only: one may be sent twice, since answers may be lost."""

    def __init__(self) -> None:
        self.text = ""

    @sp.simulation.call
    async def take(self, text: str) -> None:
        self.text = text

    @asynccontextmanager
    async def post(self, url: str, *, data: str, raise_for_status: bool) -> AsyncGenerator[None]:
        await self.take(data)
        yield


async def scenario(cluster: sp.testing.Cluster) -> None:
    for text in ("one", "two", "one"):
        await cluster.apply(Announcement.named("a", "default", spec=AnnouncementSpec(text=text)))
        await cluster.settle()


def simulated(budget: sp.simulation.Budget, **options: Any) -> sp.simulation.Report:
    """Simulates the scenario under faults; test_survival.py runs it."""
    endpoint = DistantEndpoint()
    uncounted = SimpleNamespace(inc=lambda: None)
    return sp.simulation.check(
        scenario,
        lambda: [controller],
        externals=[endpoint],
        lifespan=life_with(endpoint, uncounted),
        control_plane=False,
        budget=budget,
        **options,
    )


def test_a_process_that_begins_with_an_old_view_tells_no_old_text() -> None:
    old = (("behind", "MODIFIED announcements.news.example.com default/a #3"),)
    plan = sp.simulation.Plan((sp.simulation.Fault("restart", "step 4", old),))
    simulated(sp.simulation.Budget(runs=1), replay=plan.token("", ""), workers=1)
