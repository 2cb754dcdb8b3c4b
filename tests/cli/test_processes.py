"""``run --processes 2`` with real processes: shared keys, a killed process, one place for metrics, the end of all."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import socket
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from mykind import Mykind, MykindSpec
from tests.collector import collector
from tests.programs import DEADLINE, Program
from tests.programs import program as program_of

from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.crd import crd_for
from setpoint.manager.leader_election.leader_elector import STEP_DOWN
from setpoint.meta import from_wire
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.models.coordination_v1 import Lease
from setpoint.models.core_v1 import ConfigMap, Namespace, Pod

EXAMPLES = Path(__file__).parents[2] / "examples"

PROGRAM = """
import asyncio, os, time
import setpoint as sp
from setpoint.models.core_v1 import ConfigMap

def tell(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())  # at once: lines of two processes do not mix

class Ticker:
    async def run(self):
        tell("ticks in", os.getpid())
        await asyncio.Event().wait()

async def reconcile(obj: ConfigMap, ctx: sp.Context) -> sp.Outcome:
    tell("begin", time.monotonic(), os.getpid(), ctx.key)
    await asyncio.sleep(0.05)
    tell("end", time.monotonic(), os.getpid(), ctx.key)
    return sp.after(0.05)

sp.main(sp.Controller(ConfigMap, reconcile, name="beat"), Ticker(), name="beat.example.com")
"""
KEYS = {f"work/k{number}" for number in range(12)}


class Turn(NamedTuple):
    """One reconcile."""

    key: str
    begun: float
    ended: float
    pid: str


def keys_by_process(running: Program, skip: int = 0) -> dict[str, set[str]]:
    results: dict[str, set[str]] = {}
    for line in running.out[skip:]:
        if line.startswith("begin "):
            _, _, pid, key = line.split()
            results.setdefault(pid, set()).add(key)
    return results


def ends_by_process(running: Program) -> Counter[str]:
    return Counter(line.split()[2] for line in running.out if line.startswith("end "))


def turns(running: Program, killed: dict[str, float]) -> list[Turn]:
    begun: dict[tuple[str, str], float] = {}
    results = []
    for line in running.out:
        match line.split():
            case ["begin", at, pid, key]:
                begun[pid, key] = float(at)
            case ["end", at, pid, key]:
                results.append(Turn(key, begun.pop((pid, key)), float(at), pid))
    return results + [Turn(key, at, killed.get(pid, float("inf")), pid) for (pid, key), at in begun.items()]


def gone(pid: str) -> bool:
    """Whether the process has ended, be it that no process has asked for its end yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize("flags", [(), ("--divide-caches",)])
async def test_processes_share_the_keys_a_killed_one_is_replaced_and_all_end_together(
    flags: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "beat.py").write_text(PROGRAM)
    async with EmbeddedCluster(control_plane=False) as cluster:
        cluster.write_kubeconfig(tmp_path / "config")
        await cluster.client.create(Namespace.named("work"))
        for key in sorted(KEYS):
            await cluster.client.create(ConfigMap.named(key.partition("/")[2], "work"))
        words = (
            *(tmp_path / "beat.py", "run", "--kubeconfig", tmp_path / "config", "--namespace", "work"),
            *("--processes", "2", "--leader-elect", "--metrics-bind-address", "127.0.0.1:0", *flags),
        )
        async with program_of(*words, home=tmp_path) as running:

            def shared(skip: int = 0) -> bool:
                by_process = keys_by_process(running, skip)
                return len(by_process) == 2 and set().union(*by_process.values()) >= KEYS

            await running.until(lambda p: shared(), "work of two processes")
            first = keys_by_process(running)
            one, other = first
            assert not first[one] & first[other]
            await running.until(lambda p: any(line.startswith("ticks in") for line in p.out), "the runnable")
            held = await cluster.client.list(Lease, namespace="default")
            assert len(held.items) == 1, "one lease for all"

            # The one that ends is replaced, has the same keys, and the other goes on.
            seen = len(running.out)
            killed = {one: time.monotonic()}
            os.kill(int(one), signal.SIGKILL)
            await running.until(
                lambda p: any(pid not in first for pid in keys_by_process(running, seen)), "a replacement"
            )
            (new,) = set(keys_by_process(running, seen)) - set(first)
            seen = len(running.out)
            await running.until(
                lambda p: (
                    keys_by_process(running, seen).get(new) == first[one]
                    and keys_by_process(running, seen).get(other) == first[other]
                ),
                "the same keys",
            )
            assert await running.signalled(signal.SIGTERM) == 0, running.printed()
            assert gone(new)
            assert gone(other)
            assert len({line for line in running.out if line.startswith("ticks in")}) == 1 + (
                f"ticks in {one}" in running.out
            )
            for key in KEYS:
                those = sorted(turn for turn in turns(running, killed) if turn.key == key)
                for before, after in itertools.pairwise(those):
                    assert before.ended <= after.begun, "two processes worked on one key"
            assert any("process=1" in line for line in running.err), "log records name their process"
            left = await cluster.client.get(Lease, "beat.example.com", namespace="default")
            assert not left.spec.holder_identity, "the lease is released at the end"


async def test_a_supervisor_that_is_asked_to_step_down_goes_on_as_a_standby_with_fresh_processes(
    tmp_path: Path,
) -> None:
    (tmp_path / "beat.py").write_text(PROGRAM)
    async with EmbeddedCluster(control_plane=False) as cluster, AsyncExitStack() as stack:
        cluster.write_kubeconfig(tmp_path / "config")
        await cluster.client.create(Namespace.named("work"))
        for key in sorted(KEYS):
            await cluster.client.create(ConfigMap.named(key.partition("/")[2], "work"))
        words = (
            *(tmp_path / "beat.py", "run", "--kubeconfig", tmp_path / "config", "--namespace", "work"),
            *("--processes", "2", "--leader-elect", "--lost-lease", "standby"),
        )

        def has_all(running: Program, skip: int = 0) -> bool:
            return set().union(*keys_by_process(running, skip).values()) >= KEYS

        first = await stack.enter_async_context(program_of(*words, home=tmp_path))
        await first.until(has_all, "work")
        other = await stack.enter_async_context(program_of(*words, home=tmp_path))
        await other.until(lambda p: sum("started a process" in line for line in p.err) == 2, "a standby")
        patch = {"metadata": {"annotations": {STEP_DOWN: "true"}}}
        await cluster.client.patch(Lease, "beat.example.com", patch, namespace="default")
        await other.until(has_all, "work of the other one")
        former, seen = set(keys_by_process(first)), len(first.out)
        assert all(map(gone, former))
        assert await other.signalled(signal.SIGTERM) == 0, other.printed()
        await first.until(lambda p: has_all(p, seen), "work of the first one again")
        assert not set(keys_by_process(first, seen)) & former
        assert await first.signalled(signal.SIGTERM) == 0, first.printed()
        for key in KEYS:
            those = sorted(turn for running in (first, other) for turn in turns(running, {}) if turn.key == key)
            for before, after in itertools.pairwise(those):
                assert before.ended <= after.begun, "two processes worked on one key"


STUBBORN = """
import asyncio, os, time
import setpoint as sp
from setpoint.models.core_v1 import ConfigMap

async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
    os.write(1, f"begin {os.getpid()} {ctx.key}\\n".encode())
    if obj.name == "blocks":
        time.sleep(3600)
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass

sp.main(sp.Controller(ConfigMap, reconcile, name="beat"), name="beat.example.com")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_second_signal_ends_all_processes_at_once_whatever_their_reconciles_do(
    number: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "beat.py").write_text(STUBBORN)
    async with EmbeddedCluster(control_plane=False) as cluster:
        cluster.write_kubeconfig(tmp_path / "config")
        await cluster.client.create(Namespace.named("work"))
        for name in ("blocks", *(f"k{index}" for index in range(8))):
            await cluster.client.create(ConfigMap.named(name, "work"))
        words = ("run", "--kubeconfig", tmp_path / "config", "--namespace", "work", "--processes", "2")
        async with program_of(tmp_path / "beat.py", *words, home=tmp_path) as running:

            def begun() -> dict[str, set[str]]:
                results: dict[str, set[str]] = {}
                for line in running.out:
                    _, pid, key = line.split()
                    results.setdefault(pid, set()).add(key)
                return results

            await running.until(
                lambda p: len(begun()) == 2 and any("work/blocks" in keys for keys in begun().values()),
                "a blocked process and one that works",
            )
            running.process.send_signal(number)
            await running.until(lambda p: any("again" in line for line in p.err), "word of what is waited for")
            # The readers end when no process has the pipes any more.
            assert await running.signalled(number) == 1, running.printed()
            async with asyncio.timeout(DEADLINE):
                while not all(map(gone, begun())):  # noqa: ASYNC110 - a killed process closes its files before it is gone
                    await asyncio.sleep(0.01)


@pytest.mark.parametrize("flags", [(), ("--divide-caches",)])
async def test_the_example_keeps_its_pods_with_two_processes(flags: tuple[str, ...], tmp_path: Path) -> None:
    """`examples/mykind.py`: the command that its first lines name."""
    names = [f"m{number}" for number in range(6)]
    async with EmbeddedCluster(control_plane=False) as cluster:
        cluster.write_kubeconfig(tmp_path / "config")
        await cluster.client.create(from_wire(CustomResourceDefinition, crd_for(Mykind)))
        words = ("run", "--kubeconfig", tmp_path / "config", "--processes", "2", *flags)
        async with program_of(EXAMPLES / "mykind.py", *words, home=tmp_path) as running:
            for name in names:
                await cluster.client.create(Mykind.named(name, "default", spec=MykindSpec(numpods=2)))
            async with asyncio.timeout(DEADLINE):
                await until_pods(cluster, {f"{name}-{index}" for name in names for index in (0, 1)})
                await cluster.client.patch(Mykind, "m0", {"spec": {"numpods": 1}}, namespace="default")
                await cluster.client.delete(Pod, "m1-1", namespace="default")
                await until_pods(cluster, {"m0-0"} | {f"{name}-{index}" for name in names[1:] for index in (0, 1)})
            assert await running.signalled(signal.SIGINT) == 0, running.printed()


async def until_pods(cluster: EmbeddedCluster, names: set[str]) -> None:
    while {pod.name for pod in (await cluster.client.list(Pod, namespace="default")).items} != names:  # noqa: ASYNC110
        await asyncio.sleep(0.05)


async def test_each_process_sends_its_own_metrics_and_spans_to_a_collector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    (tmp_path / "beat.py").write_text(PROGRAM)
    with collector() as (address, bodies):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        async with EmbeddedCluster(control_plane=False) as cluster:
            cluster.write_kubeconfig(tmp_path / "config")
            await cluster.client.create(Namespace.named("work"))
            for key in sorted(KEYS):
                await cluster.client.create(ConfigMap.named(key.partition("/")[2], "work"))
            words = (tmp_path / "beat.py", "run", "--kubeconfig", tmp_path / "config", "--namespace", "work")
            async with program_of(*words, "--processes", "2", "--otlp", home=tmp_path) as running:
                await running.until(
                    lambda p: len([pid for pid, ends in ends_by_process(p).items() if ends > 1]) == 2,
                    "work of two processes",
                )
                assert await running.signalled(signal.SIGTERM) == 0, running.printed()

    def processes(parts: Iterable[Any]) -> set[str]:
        resources = [
            {attribute.key: attribute.value.string_value for attribute in part.resource.attributes} for part in parts
        ]
        assert all(resource["service.name"] == "beat.example.com" for resource in resources)
        assert {resource["service.instance.id"] for resource in resources} == {socket.gethostname()}
        return {resource["setpoint.process"] for resource in resources}

    spans = [
        part for body in bodies["/v1/traces"] for part in ExportTraceServiceRequest.FromString(body).resource_spans
    ]
    logs = [part for body in bodies["/v1/logs"] for part in ExportLogsServiceRequest.FromString(body).resource_logs]
    metrics = [
        part for body in bodies["/v1/metrics"] for part in ExportMetricsServiceRequest.FromString(body).resource_metrics
    ]
    assert processes(metrics) == processes(logs) == {"0", "1", "supervisor"}
    assert processes(spans) >= {"0", "1"}
    reconciles = {
        next(attribute.value.string_value for attribute in point.attributes if attribute.key == "process"): point
        for part in metrics
        for metric in part.scope_metrics[0].metrics
        if metric.name == "controller_runtime_reconcile_time_seconds"
        for point in metric.histogram.data_points
    }
    recorded = {
        (span.trace_id, span.span_id)
        for part in spans
        for span in part.scope_spans[0].spans
        if span.name == "reconcile beat"
    }
    points = [point for point in reconciles.values() if point.count]
    assert len(points) == 2
    for point in points:
        exemplar = point.exemplars[-1]
        assert (exemplar.trace_id, exemplar.span_id) in recorded
        assert exemplar.as_double > 0
