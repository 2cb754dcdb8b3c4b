"""``setpoint explain`` as its users meet it, against a manager that serves its metrics."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from msgspec.structs import replace
from tests.client.certificates import make
from tests.manager.test_secure_metrics import Judge
from tests.programs import program

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.cli.explain import explain, show
from setpoint.client import Client, HttpTransport, InProcessTransport, TransportError
from setpoint.controller.explain.object_listing import detail
from setpoint.meta import ObjectKey
from setpoint.meta.owner_tree import TreeNode
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import cluster, virtual_time
from setpoint.workqueue import ItemFastSlowRateLimiter


async def reconcile(obj: ConfigMap, ctx: sp.Context) -> Any:
    return sp.after(3600, "look [again]") if obj.name == "a" else None


async def test_a_verdict_and_a_timeline_are_printed_plainly_into_a_pipe(tmp_path: Path) -> None:
    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        await client.create(ConfigMap.named("a", "default"))
        controller = sp.Controller(ConfigMap, reconcile)
        async with (
            sp.Manager(
                client, controllers=[controller], serving=sp.Serving(metrics_bind_address="127.0.0.1:0")
            ) as manager,
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
                assert "available: configmap" in await answer.text()

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
                    f"setpoint explain: {address}: there is no controller of 'pod'; available: configmap"
                ]


async def fails(obj: ConfigMap, ctx: sp.Context) -> None:
    if obj.name == "b":
        await ctx.get(ConfigMap, "c")
        raise ConnectionError("the till in Köln can't be reached")


async def test_conditions_owners_and_owned_objects_are_printed_and_equal_failures_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        a = await client.create(ConfigMap.named("a", "default"))
        for name, owner in (("b", a), ("c", None)):
            child = ConfigMap.named(name, "default")
            owner = owner or await client.get(ConfigMap, "b", namespace="default")
            child.metadata.owner_references = [owner.owner_reference()]
            await client.create(child)
        serving = sp.Serving(metrics_bind_address="127.0.0.1:0", ui=True)
        failing = sp.Controller(ConfigMap, fails, rate_limiter=lambda: ItemFastSlowRateLimiter(0.01, 1000, 2))
        async with sp.Manager(client, controllers=[failing], serving=serving) as manager:
            assert manager.metrics_server is not None
            running = manager.controllers["configmap"]
            while len(running.timeline.of("default/b")) < 3:  # noqa: ASYNC110 - no event tells of an attempt
                await asyncio.sleep(0.01)
            address = f"127.0.0.1:{manager.metrics_server.port}"
            words = ("-m", "setpoint", "explain", "cm", "default/b", "--address", address)
            async with program(*words, home=tmp_path) as process:
                assert await process.ended() == 0
            tree = process.out.index("ConfigMap default/a  current")
            assert process.out[tree + 1 : tree + 3] == [
                "└── ConfigMap default/b  this object",
                "    └── ConfigMap default/c  current",
            ]
            assert len([line for line in process.out if "ConnectionError" in line]) == 2, "the verdict, and one line"
            monkeypatch.setenv("PYTHONIOENCODING", "ascii")
            async with program(*words, home=tmp_path) as plain:
                assert await plain.ended() == 0, plain.printed()
            assert plain.out[tree + 1] == "`-- ConfigMap default/b  this object"
            assert "the till in K\\xf6ln" in plain.out[1]
            async with program("-m", "setpoint", "top", "-a", address, home=tmp_path) as plain:
                assert await plain.ended() == 0, plain.printed()
            assert any("the till in K\\xf6ln" in line for line in plain.out)
            assert " times before, since " in process.out[-1]
            assert process.out[-2].strip().startswith("read: 1 ConfigMap, ")


@virtual_time
async def test_a_tree_that_is_not_complete_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    async with cluster(sp.Controller(ConfigMap, reconcile), control_plane=False) as world:
        await world.create(ConfigMap.named("a", "default"))
        await world.settle()
        run = world.running("configmap")
        description = detail(run, ObjectKey("default/a"), caches=())
        child = TreeNode(resource="", kind="Pod", key="default/p", state="", text="", ready="", owns=[])
        for more_owned in (False, True):
            show(description.explanation, replace(description, owned=[child], more_owned=more_owned))
            lines = capsys.readouterr().out.splitlines()
            at = lines.index("└── Pod default/p")
            assert (lines[at + 1] == "it owns more objects: 200 are listed") is more_owned


async def test_a_process_that_is_not_there_is_named(tmp_path: Path) -> None:
    async with program("-m", "setpoint", "explain", "cm", "default/a", "-a", "127.0.0.1:1", home=tmp_path) as asked:
        assert await asked.ended() == 1
        (line,) = asked.err
        assert line.startswith("setpoint explain: http://127.0.0.1:1 can't be reached: ")
        assert line.endswith("is a manager with --metrics-bind-address running there?")


async def test_a_process_that_asks_for_a_token_gets_one_and_nobody_else_does(tmp_path: Path) -> None:
    authority = make("authority")
    make("metrics", authority).write(tmp_path, "tls")
    trust, good, bad = (tmp_path / name for name in ("ca.crt", "good", "bad"))
    trust.write_bytes(authority.cert_pem)
    good.write_text("good\n")
    bad.write_text("other\n")
    async with ApiServer() as server, Client(Judge(InProcessTransport(server.handle))) as client:
        await client.create(ConfigMap.named("b", "default"))
        async with sp.Manager(
            client,
            controllers=[sp.Controller(ConfigMap, reconcile)],
            serving=sp.Serving(metrics_bind_address="127.0.0.1:0", metrics_cert_dir=tmp_path),
        ) as manager:
            assert manager.metrics_server is not None
            address = f"https://127.0.0.1:{manager.metrics_server.port}"
            words = ("-m", "setpoint", "explain", "cm", "default/b", "-a", address, "--ca-file", trust)
            async with program(*words, "--token-file", good, home=tmp_path) as asked:
                assert await asked.ended() == 0, asked.printed()
                assert asked.out[0] == "ConfigMap default/b  controller configmap"
            async with program(*words, home=tmp_path) as asked:
                assert await asked.ended() == 1
                assert "with --token-file" in asked.err[0]
            async with program(*words, "--token-file", bad, home=tmp_path) as asked:
                assert await asked.ended() == 1
                assert "forbidden: visitor may not get /debug/controllers" in asked.err[0]
    plain = ("-m", "setpoint", "explain", "cm", "default/b", "-a", "manager.example.com:8080", "--token-file", good)
    async with program(*plain, home=tmp_path) as asked:
        assert await asked.ended() == 1
        assert asked.err == [
            "setpoint: the token would go to manager.example.com:8080 in plain text: use https, or kubectl port-forward"
        ]


def test_a_process_that_does_not_answer_in_time_is_told_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def late(*_: Any) -> Any:
        raise TransportError("GET /: late", sent=True, timed_out=True)

    monkeypatch.setattr(HttpTransport, "send", late)
    with pytest.raises(SystemExit):
        explain(kind="cm", key="default/a", addresses=["127.0.0.1:9"])
    assert capsys.readouterr().err == (
        "setpoint explain: 127.0.0.1:9: no answer within 10 s; is a manager with --metrics-bind-address running "
        "there?\n"
    )
