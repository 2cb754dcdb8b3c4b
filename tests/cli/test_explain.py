"""``setpoint explain`` as its users meet it, against a manager that serves its metrics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aiohttp
from tests.programs import program

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.client import Client, InProcessTransport
from setpoint.models.core_v1 import ConfigMap


async def reconcile(obj: ConfigMap, ctx: sp.Context) -> Any:
    return sp.after(3600, "look [again]") if obj.name == "a" else None


async def test_a_verdict_and_a_timeline_are_printed_plainly_into_a_pipe(tmp_path: Path) -> None:
    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        await client.create(ConfigMap.named("a", "default"))
        controller = sp.Controller(ConfigMap, reconcile)
        async with (
            sp.Manager(client, controllers=[controller], metrics_bind_address="127.0.0.1:0") as manager,
            aiohttp.ClientSession() as session,
        ):
            assert manager.metrics_server is not None
            address = f"127.0.0.1:{manager.metrics_server.port}"
            running = manager.controllers["configmap"]
            while not running.timeline.of("default/a"):
                async with session.get(f"http://{address}/debug/controllers") as answer:
                    (summary,) = json.loads(await answer.read())
                    assert (summary["name"], summary["kind"]) == ("configmap", "ConfigMap")
            async with session.get(f"http://{address}/debug/controllers/configmap/default/a") as answer:
                assert answer.content_type == "application/json"
                one = json.loads(await answer.read())
                assert (one["state"], one["timeline"][0]["result"]) == ("waiting", "requeue_after")
                assert one["resourceVersion"]
            async with session.get(f"http://{address}/debug/controllers/nothing") as answer:
                assert answer.status == 404
                assert "there is: configmap" in await answer.text()

            words = ("-m", "setpoint", "explain", "cm", "default/a", "--address", address)
            async with program(*words, home=tmp_path) as asked:
                assert await asked.ended() == 0
                assert asked.out[0] == "ConfigMap default/a  controller configmap"
                assert asked.out[1].startswith("waiting: next in ")
                assert "as its last reconcile asked for: look [again] (at " in asked.out[1]
                assert "requeue_after" in asked.out[-2]
                assert f"version {one['resourceVersion']}" in asked.out[-2]
                assert " ms in the queue; seen as of " in asked.out[-1]
                assert "\x1b" not in asked.printed()
            async with program("-m", "setpoint", "explain", "pod", "default/a", "-a", address, home=tmp_path) as asked:
                assert await asked.ended() == 1
                assert asked.err == [
                    f"setpoint explain: {address}: there is no controller of 'pod'; there is: configmap"
                ]


async def test_a_process_that_is_not_there_is_named(tmp_path: Path) -> None:
    async with program("-m", "setpoint", "explain", "cm", "default/a", "-a", "127.0.0.1:1", home=tmp_path) as asked:
        assert await asked.ended() == 1
        (line,) = asked.err
        assert line.startswith("setpoint explain: 127.0.0.1:1: ")
        assert line.endswith("is a manager with --metrics-bind-address there?")
