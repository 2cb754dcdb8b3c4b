"""A blocked event loop is named: by key, with its stack."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from random import Random

import pytest

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.client import Client, InProcessTransport
from setpoint.manager import Manager, ManagerOptions, ProcessMetrics, Serving
from setpoint.manager.loop_watchdog import LoopWatch
from setpoint.models.core_v1 import ConfigMap

KEY = "configmap default/slow"


class Told(logging.Handler):
    """The messages about the key: while it blocked, and after."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: logging.LogRecord | None = None
        self.heard = threading.Event()
        self.after = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "fields", {}).get("what") != KEY:
            return
        if threading.current_thread() is threading.main_thread():
            self.after.set()
        else:
            self.meanwhile = record
            self.heard.set()


@pytest.fixture
def told() -> Iterator[Told]:
    handler = Told()
    logging.getLogger("setpoint.manager").addHandler(handler)
    yield handler
    logging.getLogger("setpoint.manager").removeHandler(handler)


async def test_the_key_that_blocks_the_loop_is_named_while_it_does_with_its_stack(told: Told) -> None:
    async def blocking(obj: ConfigMap, ctx: sp.Context) -> None:
        assert told.heard.wait(30), "there was no message"  # as time.sleep does, for as long as it takes

    async with ApiServer(random=Random(0)) as server, Client(InProcessTransport(server.handle)) as client:
        await client.create(ConfigMap.named("slow"))
        metrics = ProcessMetrics()
        manager = Manager(
            client,
            controllers=[sp.Controller(ConfigMap, blocking)],
            serving=Serving(metrics=metrics),
            options=ManagerOptions(blocked_after=0.05),
        )
        async with manager:
            await told.after.wait()
            status, text = manager.readyz.answer("event-loop", {})
    assert told.meanwhile is not None
    assert "blocking" in told.meanwhile.getMessage()
    assert "test_loop_watchdog.py" in told.meanwhile.getMessage()
    assert status != 200
    assert "the event loop was blocked for" in text
    by_name = {sample.name: sample.value for family in metrics.registry.collect() for sample in family.samples}
    assert by_name["setpoint_event_loop_blocked_total"] >= 1
    assert by_name["setpoint_event_loop_blocked_seconds_total"] >= 0.05


async def test_a_loop_that_turns_is_left_alone_and_the_thread_ends_with_the_watch(told: Told) -> None:
    watch = LoopWatch(30.0, lambda task: task.get_name())
    running = asyncio.ensure_future(watch.run())
    await asyncio.sleep(0)
    assert [thread.name for thread in threading.enumerate()].count("event loop watch") == 1
    assert watch.problem() == ""
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()
    assert watch._stopped.is_set()
    assert not told.heard.is_set()


def test_a_threshold_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 0 s"):
        LoopWatch(0, lambda task: "")
