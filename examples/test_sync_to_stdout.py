"""The tests of sync_to_stdout.py."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from sync_to_stdout import Controller, controller_for
from test_factory import USER, reader

import setpoint as sp
from setpoint.client import InProcessTransport
from setpoint.models.core_v1 import Container, Pod, PodSpec

OTHER = sp.ObjectKey("default/other")


def pod(name: str) -> Pod:
    return Pod.named(name, "default", spec=PodSpec(containers=[Container(name="main", image="nginx")]))


class Flaky(io.StringIO):
    """Fails the next ``failures`` times."""

    failures = 0

    def write(self, text: str) -> int:
        if self.failures:
            self.failures -= 1
            raise OSError("printer on fire")
        return super().write(text)


@asynccontextmanager
async def running(out: Flaky, *, workers: int = 2) -> AsyncGenerator[tuple[sp.testing.Cluster, Controller]]:
    async with sp.testing.cluster(objects=reader("pods")) as cluster:
        client = cluster.client.over(InProcessTransport(cluster.server.handle, user=USER))
        controller = controller_for(client, "default", out)
        controller.informer.store.add(Pod.named("mypod", "default"))
        task = asyncio.create_task(controller.run(workers))
        await cluster.settle()
        yield cluster, controller
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()


@sp.testing.virtual_time
async def test_a_pod_of_the_cache_that_the_server_does_not_have_is_synced_as_gone() -> None:
    out = Flaky()
    async with running(out):
        assert out.getvalue() == "Pod default/mypod does not exist anymore\n"


@sp.testing.virtual_time
async def test_every_pod_is_printed_as_it_is_now_and_once_more_when_it_is_gone() -> None:
    out = Flaky()
    async with running(out) as (cluster, _):
        pod_ = await cluster.apply(pod("web"))
        await cluster.settle()
        await cluster.delete(pod_)
        await cluster.settle()
        lines = out.getvalue().splitlines()[1:]
        assert lines[0] == f"Sync/Add/Update for Pod web ({pod_.uid})"
        assert lines[-1] == "Pod default/web does not exist anymore"


@sp.testing.virtual_time
async def test_a_failure_is_retried_five_times_with_back_off_and_then_dropped_and_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    out = Flaky()
    async with running(out) as (_, controller):
        out.failures = 5
        controller.queue.add(OTHER)
        await asyncio.sleep(1)
        assert out.failures == 0
        assert out.getvalue().endswith("Pod default/other does not exist anymore\n")
        assert not caplog.records
        out.failures = 6
        controller.queue.add(OTHER)
        await asyncio.sleep(1)
        assert out.failures == 0
        assert [record.getMessage() for record in caplog.records] == [
            "dropping Pod default/other out of the queue: printer on fire"
        ]
        assert controller.queue.num_requeues(OTHER) == 0
