"""The embedded control plane at work: Deployments of three replicas that converge on hollow nodes.

    python benchmarks/cluster.py [--deployments 100 300 1000] [--nodes 100] [--profile FILE]
    python benchmarks/cluster.py --real DIR [--deployments 100] [--nodes 100]

Each number of Deployments is tried in a process of its own, in memory and without HTTP: all are created, then the
program waits until every replica is ready. Figures: seconds until then, the CPU time, the memory that was added, and
each of them for one object (a Deployment, its ReplicaSet and three pods are five). Before that, an empty
``sp.testing.cluster()`` is started and ended 20 times; the figure is the least CPU time.

With ``--real`` the same Deployments are created in programs as processes of their own, over TLS by 16 clients at once:
`setpoint server`, and ``DIR``'s kube-apiserver, etcd and kube-controller-manager. If ``DIR`` has kwok (with its stages
in ``kwok.yaml``) and kube-scheduler, both sides have nodes, and a measurement ends when every replica is ready.
Otherwise neither has nodes: it ends when all pods are there, and none is scheduled. CPU time and memory are those of
all processes of a side. The limits on the requests of kube-controller-manager and kube-scheduler are lifted.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import json
import multiprocessing
import os
import resource
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp
from report import output_options, write

import setpoint as sp
from apiserver import AT_ONCE, TOKEN, USERS, Measurement, Server, free_port, real, started
from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.meta import LabelSelector, ObjectMeta, to_wire
from setpoint.models.apps_v1 import Deployment, DeploymentSpec
from setpoint.models.core_v1 import Container, Node, PodSpec, PodTemplateSpec, ResourceRequirements

REPLICAS = 3
OBJECTS = 2 + REPLICAS
"""A Deployment, its ReplicaSet, its pods."""


def deployment(number: int) -> Deployment:
    name = f"web-{number}"
    labels = {"app": name}
    requests = ResourceRequirements(requests={"cpu": "100m", "memory": "128Mi"})
    pod = PodSpec(containers=[Container(name="main", image="nginx:1", resources=requests)])
    template = PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=pod)
    spec = DeploymentSpec(replicas=REPLICAS, selector=LabelSelector(match_labels=labels), template=template)
    return Deployment.named(name, "default", labels, spec=spec)


async def converge(count: int, nodes: int) -> dict[str, float]:
    async with EmbeddedCluster(nodes=nodes) as cluster:
        while sum(node.is_ready for node in await cluster.client.list(Node)) < nodes:  # noqa: ASYNC110 - not measured
            await asyncio.sleep(0.1)
        memory, cpu, began = resident(), time.process_time(), time.perf_counter()
        for number in range(count):
            await cluster.client.create(deployment(number))
        created = time.perf_counter() - began
        while True:
            body = await cluster.client.request("GET", "/apis/apps/v1/deployments", verb="list")
            if body.count(b'"readyReplicas":%d' % REPLICAS) == count:  # decoding them would be measured, too
                break
            await asyncio.sleep(1.0)
        return {
            "created": created,
            "seconds": time.perf_counter() - began,
            "cpu": time.process_time() - cpu,
            "bytes": resident() - memory,
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }


def empty(times: int = 20) -> float:
    """The least CPU time, in seconds, of a cluster for tests that starts and ends."""

    async def live() -> None:
        async with sp.testing.cluster():
            pass

    def once() -> float:
        cpu = time.process_time()
        asyncio.run(live())
        return time.process_time() - cpu

    return min(once() for _ in range(times))


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measured(count: int, nodes: int, profile: str | None) -> dict[str, float]:
    if profile is None:
        return asyncio.run(converge(count, nodes))
    profiler = cProfile.Profile()
    with profiler:
        result = asyncio.run(converge(count, nodes))
    profiler.dump_stats(profile)
    return result


SIDES: Final = ("setpoint", "kubernetes")
LIFTED: Final = ("--kube-api-qps=10000", "--kube-api-burst=10000", "--leader-elect=false")
"""Flags of kube-controller-manager and kube-scheduler."""


@contextmanager
def ours(folder: Path, nodes: int) -> Iterator[Server]:
    port = free_port()
    (folder / "tokens.csv").write_bytes(USERS)
    words = [sys.executable, "-m", "setpoint", "server", f"--port={port}", "--auth", "--token-auth-file=tokens.csv"]
    with started([*words, f"--nodes={nodes}", "--data-dir=data"], folder) as process:
        yield Server(f"https://127.0.0.1:{port}", [process])


@contextmanager
def theirs(folder: Path, programs: Path, nodes: int) -> Iterator[Server]:
    """kube-apiserver, etcd and kube-controller-manager; with nodes also kube-scheduler and kwok."""
    with real(folder, programs) as server, ExitStack() as stack:
        flags: dict[str, tuple[str, ...]] = {"kube-controller-manager": LIFTED}
        if nodes:
            stages = f"--config={programs / 'kwok.yaml'}"
            flags["kube-scheduler"] = LIFTED
            flags["kwok"] = ("--manage-all-nodes", "--node-lease-duration-seconds=40", stages)
        processes: list[subprocess.Popen[bytes]] = list(server.processes)
        for program, given in flags.items():
            words = [str(programs / program), "--kubeconfig=kubeconfig", *given]
            if program != "kwok":
                words.append(f"--secure-port={free_port()}")
            processes.append(stack.enter_context(started(words, folder)))
        if nodes:
            asyncio.run(register(server, nodes))
        yield Server(server.url, processes)


@contextmanager
def session() -> Iterator[Any]:
    """A function that makes an HTTP session of the administrator."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    yield lambda: aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=context, limit=0), headers={"authorization": f"Bearer {TOKEN}"}
    )


async def register(server: Server, count: int) -> None:
    """Creates nodes for kwok, as large as the hollow ones."""
    status = {"capacity": (has := {"cpu": "32", "memory": "256Gi", "pods": "10000"}), "allocatable": has}
    with session() as make:
        async with make() as http:
            one = Measurement(server, http, 0.0)
            for number in range(count):
                node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"kwok-{number}"}, "status": status}
                await one.request("POST", "/api/v1/nodes", node)


def usable(nodes: bytes) -> int:
    """The number of nodes in a list that are ready and without taints."""
    return sum(
        not node["spec"].get("taints")
        and any(item["type"] == "Ready" and item["status"] == "True" for item in node["status"].get("conditions", ()))
        for node in json.loads(nodes)["items"]
    )


async def over_tls(server: Server, count: int, nodes: int) -> dict[str, float]:
    """The Deployments are created by 16 clients at once; then one looks every second until all have their pods, on
    nodes ready ones.
    """
    with session() as make:
        async with make() as http:
            one = Measurement(server, http, 0.0)
            await one.ready()
            account = "/api/v1/namespaces/default/serviceaccounts"
            while b'"name":"default"' not in await one.request("GET", account):  # noqa: ASYNC110 - not measured
                await asyncio.sleep(0.5)
            while usable(await one.request("GET", "/api/v1/nodes")) < nodes:  # noqa: ASYNC110 - not measured
                await asyncio.sleep(0.5)
            cpu, memory, began = server.cpu(), server.memory(), time.perf_counter()
            left = iter(range(count))

            async def client() -> None:
                for number in left:
                    body = to_wire(deployment(number))
                    await one.request("POST", "/apis/apps/v1/namespaces/default/deployments", body)

            async with asyncio.TaskGroup() as group:
                for _ in range(AT_ONCE):
                    group.create_task(client())
            created = time.perf_counter() - began
            wanted = b'"%s":%d' % (b"readyReplicas" if nodes else b"updatedReplicas", REPLICAS)
            while (await one.request("GET", "/apis/apps/v1/deployments")).count(wanted) < count:  # noqa: ASYNC110
                await asyncio.sleep(1.0)
            return {
                "created": created,
                "seconds": time.perf_counter() - began,
                "cpu": server.cpu() - cpu,
                "bytes": server.memory() - memory,
                "peak": server.memory(),
            }


def side_by_side(programs: Path, counts: list[int], nodes: int) -> dict[str, Any]:
    """The figures of both sides, for each number of Deployments."""
    if not (programs / "kwok").exists() or not (programs / "kube-scheduler").exists():
        nodes = 0
    print(f"{nodes} nodes")
    print("side         Deployments   seconds   CPU s   MiB in the end   CPU ms/object")
    figures: dict[str, Any] = {"nodes": nodes} | {side: {} for side in SIDES}
    for count in counts:
        for side in SIDES:
            with tempfile.TemporaryDirectory() as name:
                folder, is_real = Path(name), side == "kubernetes"
                with theirs(folder, programs, nodes) if is_real else ours(folder, nodes) as server:
                    result = asyncio.run(over_tls(server, count, nodes))
            print(
                f"{side:12} {count:11d} {result['seconds']:9.1f} {result['cpu']:7.1f} {result['peak'] / 2**20:16.0f} "
                f"{result['cpu'] / (count * OBJECTS) * 1e3:15.2f}"
            )
            figures[side][str(count)] = result
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deployments", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--profile", help="a file for cProfile's figures, of the last number")
    parser.add_argument("--real", type=Path, metavar="DIR", help="the folder of kube-controller-manager and the others")
    output_options(parser, "cluster")
    options = parser.parse_args()
    if options.real is not None:
        figures = side_by_side(options.real.absolute(), options.deployments, options.nodes)
        write(options, "cluster-real", figures, set)
        return
    print("Deployments   seconds   CPU s   MiB   CPU ms/object   KiB/object")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        least = pool.apply(empty)
    figures = {"nodes": options.nodes, "empty_cpu": least, "deployments": {}}
    for count in options.deployments:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            result = pool.apply(measured, (count, options.nodes, options.profile))
        objects = count * OBJECTS
        print(
            f"{count:11d} {result['seconds']:9.1f} {result['cpu']:7.1f} {result['bytes'] / 2**20:5.0f} "
            f"{result['cpu'] / objects * 1e3:15.2f} {result['bytes'] / objects / 1024:12.1f}"
        )
        figures["deployments"][str(count)] = result
    print(f"an empty cluster for tests, started and ended: {least * 1e3:.1f} ms of CPU time")
    write(options, "cluster", figures, lambda report: set(report["deployments"]))


if __name__ == "__main__":
    main()
