"""Recordings of live clusters: what is written, what is not, and what of it is played."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import stat
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.simulation.kinds import App, AppSpec
from tests.tasks import stop
from tests.transports import Checked

import setpoint as sp
from setpoint.client import Client, InProcessTransport, Request
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.simulation import SWITCHES, Budget, Counterexample, Recording, RecordingError, check
from setpoint.simulation.scenario.recorder import Full, Recorder
from setpoint.simulation.scenario.redaction import Redactor
from setpoint.testing import virtual_time, wait_all_tasks_blocked

ONLY_CRASHES = {name: "this is about crashes" for name in SWITCHES if name != "crash"}
MUCH = 10_000_000


async def guarded(app: App, ctx: sp.Context) -> None:
    if await ctx.get(Secret, f"{app.name}-a") is None:
        await ctx.create(Secret.named(f"{app.name}-a"))
        await ctx.create(Secret.named(f"{app.name}-b"))


async def repeated(app: App, ctx: sp.Context) -> None:
    await ctx.keep(Secret, [Secret.named(f"{app.name}-{letter}") for letter in "ab"])


def check_reads_only(request: Request) -> None:
    """A user may list and watch, and nothing else."""
    assert request.method == "GET", request


@asynccontextmanager
async def recording(
    cluster: sp.testing.Cluster, path: Path, kinds: Sequence[str], *, most: int = MUCH, redact: Sequence[str] = ()
) -> AsyncIterator[asyncio.Task[None]]:
    recorder = Recorder(path, most=most, redact=redact, report_retry=lambda _: None, now=cluster.now)
    async with Client(Checked(InProcessTransport(cluster.server.handle), check_reads_only)) as client:
        current_kinds = [await client.kind(name) for name in kinds]
        task = asyncio.create_task(recorder.record(client, current_kinds, None))
        await wait_all_tasks_blocked()
        try:
            yield task
            await wait_all_tasks_blocked()
        finally:
            if not task.done():
                await stop(task)
            recorder.close()


def lines(path: Path) -> Iterator[Any]:
    for line in path.read_text().splitlines():
        yield json.loads(line)


@virtual_time
async def test_the_values_of_secrets_become_stand_ins_that_say_only_which_are_equal(tmp_path: Path) -> None:
    path = tmp_path / "tuesday.jsonl"
    async with sp.testing.cluster() as cluster, recording(cluster, path, ["secrets"]):
        await cluster.apply(Secret.named("one", "default", string_data={"a": "hunter2", "b": "hunter2", "c": "x" * 99}))
        await cluster.apply(Secret.named("two", "default", data={"a": b"hunter2"}))
    text = path.read_text()
    assert "hunter2" not in text
    assert base64.b64encode(b"hunter2").decode() not in text
    one, two = (line["object"]["data"] for line in lines(path) if line.get("key", "").endswith(("/one", "/two")))
    assert one["a"] == one["b"] == two["a"] != one["c"]
    assert {len(item) for item in one.values()} == {len(one["a"])}
    assert (
        stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(path.with_name("tuesday.jsonl.key").stat().st_mode) == 0o600
    )


def test_no_annotation_of_a_secret_and_no_copy_of_any_object_is_kept() -> None:
    copy = '{"apiVersion": "v1", "kind": "Secret", "data": {"a": "hunter2"}}'
    annotations = {"kapp.k14s.io/original": copy, "tool.example.com/backup": "hunter2", "plain": "{}"}
    document = {"metadata": {"name": "s", "annotations": annotations}}
    secret = Redactor(b"k").redacted("secrets", document)
    assert "hunter2" not in str(secret)
    assert secret["metadata"]["annotations"].keys() == {"tool.example.com/backup", "plain"}
    other = Redactor(b"k").redacted("configmaps", document)
    assert other["metadata"]["annotations"] == {"tool.example.com/backup": "hunter2", "plain": "{}"}


def test_what_a_filter_names_is_replaced_and_what_was_applied_last_is_left_out() -> None:
    applied = {"kubectl.kubernetes.io/last-applied-configuration": "hunter2", "team": "a"}
    document = {
        "metadata": {"name": "x", "annotations": applied, "managedFields": [{"manager": "m", "fieldsV1": {"f:a": {}}}]},
        "spec": {"users": [{"name": "ada", "token": "t1"}, {"name": "bob", "token": "t1"}], "pin": 1234, "on": True},
    }
    result = Redactor(b"k", ["apps.example.com spec.users.*.token", "* spec.pin"]).redacted(
        "apps.example.com", document
    )
    assert result["metadata"] == {"name": "x", "annotations": {"team": "a"}, "managedFields": [{"manager": "m"}]}
    first, second = result["spec"]["users"]
    assert (first["name"], first["token"]) == ("ada", second["token"])
    assert first["token"].startswith("stand-in-")
    assert result["spec"]["pin"] != 1234
    assert result["spec"]["on"] is True
    assert document["spec"]["pin"] == 1234
    with pytest.raises(ValueError, match="give a collection and a path"):
        Redactor(b"k", ["spec.token"])


@virtual_time
async def test_a_recording_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "r"
    async with sp.testing.cluster() as cluster:
        async with recording(cluster, path, ["cm"]):
            await cluster.apply(ConfigMap.named("stays", "default"))
            await cluster.apply(ConfigMap.named("goes", "default"))
        with path.open("ab") as file:
            file.write(b'{"at": "2026-01-01T0')
        await cluster.delete(await cluster.get(ConfigMap, "goes"))
        await cluster.apply(ConfigMap.named("comes", "default"))
        async with recording(cluster, path, ["cm"]):
            pass
    answer = [(line["type"], line["key"]) for line in list(lines(path))[1:] if line["key"].startswith("default/")]
    assert [item for item in answer if "kube-root-ca" not in item[1]] == [
        ("ADDED", "default/stays"), ("ADDED", "default/goes"), ("ADDED", "default/comes"), ("DELETED", "default/goes"),
    ]  # fmt: skip
    path.with_name("r.key").unlink()
    with pytest.raises(RecordingError, match=r"r\.key is missing"):
        Recorder(path, most=MUCH, report_retry=lambda _: None)


def test_a_recorder_that_does_not_begin_leaves_no_key_and_no_open_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, closed, close = tmp_path / "r", list[int](), os.close

    def noted(number: int) -> None:
        closed.append(number)
        close(number)

    monkeypatch.setattr(os, "close", noted)
    with pytest.raises(ValueError, match="give a collection and a path"):
        Recorder(path, redact=["spec.token"], most=MUCH, report_retry=lambda _: None)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(Full):
        Recorder(path, most=1, report_retry=lambda _: None)
    assert len(closed) == 1


@virtual_time
async def test_a_recording_ends_before_it_is_larger_than_it_may_be(tmp_path: Path) -> None:
    path = tmp_path / "r"
    async with sp.testing.cluster() as cluster, recording(cluster, path, ["configmaps"], most=5000) as task:
        for number in range(30):
            await cluster.apply(ConfigMap.named(f"c{number}", "default"))
        with pytest.raises(ExceptionGroup) as problem:
            await task
    assert problem.group_contains(Full)
    assert 4000 < path.stat().st_size <= 5000
    assert len(list(lines(path))) > 5


@pytest.mark.long
def test_what_others_did_is_played_and_what_the_controllers_did_is_not(tmp_path: Path) -> None:
    path = tmp_path / "r"

    @virtual_time
    async def live() -> None:
        controller = sp.Controller(App, repeated).owns(Secret)
        async with (
            sp.testing.cluster(controller) as cluster,
            recording(cluster, path, ["apps.test.example.com", "secrets", "cm"]),
        ):
            await cluster.apply(App.named("one", "default"))
            await cluster.apply(ConfigMap.named("theirs", "default", data={"a": "b"}))
            await asyncio.sleep(7200)
            await cluster.apply(App.named("one", "default", spec=AppSpec(size=2)))
            await asyncio.sleep(5)
            await cluster.delete(await cluster.get(ConfigMap, "theirs"))

    live()
    assert "default/one-a" in path.read_text()

    def make(reconcile: Any) -> Any:
        return lambda: [sp.Controller(App, reconcile).owns(Secret)]

    scenario = Recording(path).scenario(make(repeated)())

    async def watched(cluster: sp.testing.Cluster) -> None:
        await scenario(cluster)
        assert (await cluster.get(App, "one")).spec.size == 2
        assert await cluster.find(ConfigMap, "theirs") is None

    check(watched, make(repeated), budget=Budget(runs=20), off=ONLY_CRASHES)
    with pytest.raises(Counterexample) as caught:
        check(scenario, make(guarded), budget=Budget(runs=40), off=ONLY_CRASHES)
    assert "secrets default/one-b is <absent>" in str(caught.value)
    requests = [line.text for line in caught.value.undisturbed if line.kind == "asks"]
    assert "create apps.test.example.com default/one" in requests
    assert not [request for request in requests if "secrets" in request], "those are the controller's own"


def test_a_file_that_is_no_recording_is_named(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("kind: Pod\n")
    with pytest.raises(RecordingError, match="x: line 1 was not written by setpoint record"):
        Recording(tmp_path / "x")
