"""From leader to leader: the next one begins with what the last one wrote, however late its own caches are."""

from __future__ import annotations

import asyncio

import pytest

from setpoint.client import Request
from setpoint.controller.explain.explanation import explain, summary
from setpoint.models.core_v1 import ConfigMap
from setpoint.models.events_v1 import Event
from setpoint.testing import advance, virtual_time

from .simulated import Process, world


def why(process: Process, key: str) -> tuple[str, str]:
    explanation = explain(process.manager.controllers["configmap"], key)
    return explanation.state, explanation.text


@virtual_time
async def test_the_next_leader_sees_what_the_last_one_wrote_however_late_its_cache_is() -> None:
    async with world("a", elects=True, keys=2) as new_world:  # its oracle: no process begins with less than was written
        await advance(3)
        (first,) = new_world.processes
        second = new_world.start("b", elects=True)
        await advance(3)
        second.cable.lag = 7.0
        for key in new_world.keys:
            await new_world.change(key, "2")
        await advance(1.5)
        assert await new_world.behind() == {}
        key = new_world.keys[0]
        assert why(second, key)[0] == "standby"
        await first.stop()
        await advance(2.5)
        behind = "the caches are catching up with what other processes wrote: configmaps"
        assert why(second, key) == ("not synced", f"no worker has started: {behind}")
        running = second.manager.controllers["configmap"]
        assert (running.readiness(), summary(running).problem) == (behind, behind)
        new_world.begins.clear()
        await advance(40)
        assert why(second, key)[0] == "idle"
        assert {key for _, _, key in new_world.begins} == set(new_world.keys), (
            "what was there is reconciled by the new leader"
        )
        await new_world.change(key, "3")
        await advance(30)
        assert await new_world.behind() == {}


@virtual_time
async def test_who_leads_is_told_in_events_about_the_lease() -> None:
    async with world("a", elects=True, keys=1) as new_world:
        await advance(3)
        second = new_world.start("b", elects=True)
        await new_world.processes[0].stop()
        await advance(5)
        await second.stop()
        items = (await new_world.client.list(Event, namespace="default")).items
        answer = sorted((event.event_time, event.note) for event in items if event.regarding.kind == "Lease")
        assert [note for _, note in answer] == [
            "a became leader",
            "a stopped leading",
            "b became leader",
            "b stopped leading",
        ]


@virtual_time
async def test_so_does_the_next_one_after_a_leader_that_died() -> None:
    async with world("a", elects=True, keys=8) as new_world:
        await advance(3)
        (first,) = new_world.processes
        second = new_world.start("b", elects=True)
        await advance(3)
        second.cable.lag = 25.0
        for key in new_world.keys:
            await new_world.change(key, "2")
        await advance(1.5)
        first.kill()
        for key in new_world.keys:
            await new_world.change(key, "3")
        died_at = asyncio.get_running_loop().time()
        new_world.begins.clear()
        await advance(60)
        assert await new_world.behind() == {}
        assert min(at for at, _, _ in new_world.begins) - died_at > 20, (
            "it has waited for its cache, not for the lease alone"
        )


@virtual_time
async def test_a_new_leader_says_why_it_does_not_begin_and_stops_when_asked() -> None:
    async with world("a", elects=True, keys=2) as new_world:
        await advance(3)
        (first,) = new_world.processes
        second = new_world.start("b", elects=True)
        await advance(3)

        def late(request: Request) -> float:
            return 1e6 if request.path.endswith("/configmaps") and ("watch", "true") not in request.query else 0.0

        second.cable.late = late
        await first.stop()
        await advance(20)
        assert why(second, new_world.keys[0])[0] == "not synced"
        stopped = asyncio.ensure_future(second.stop())
        await advance(1)
        assert stopped.done()
        await stopped
        assert second.error is None


@virtual_time
async def test_a_new_leader_lists_in_pages_and_does_not_wait_for_what_is_created_meanwhile(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pages: list[str] = []

    def late(request: Request) -> float:
        if not request.path.endswith("/configmaps") or ("watch", "true") in request.query or request.method != "GET":
            return 0.0
        pages.append(dict(request.query).get("limit", ""))
        return 2.0

    async with world("a", elects=True, keys=2) as new_world:
        await advance(3)
        (first,) = new_world.processes
        second = new_world.start("b", elects=True)
        for number in range(700):
            await new_world.client.create(ConfigMap.named(f"more-{number}", "work"))
        await advance(1)
        second.cable.late = late

        async def create() -> None:
            for number in range(100):
                await asyncio.sleep(0.2)
                await new_world.client.create(ConfigMap.named(f"meanwhile-{number}", "work"))

        creating = asyncio.ensure_future(create())
        await first.stop()
        await advance(9)
        assert pages == ["500", "500"]
        assert summary(second.manager.controllers["configmap"]).state == "running"
        assert "keys wait to be taken over" not in caplog.text
        await creating
