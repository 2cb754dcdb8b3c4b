"""The embedded control plane at work: Deployments of three replicas that converge on hollow nodes.

    python benchmarks/cluster.py [--deployments 100 300 1000] [--nodes 100] [--profile FILE]

Each number of Deployments is tried in a process of its own, in memory and without HTTP: all are created, then the
program waits until every replica is ready. Figures: seconds until then, the CPU time, the memory that was added, and
each of them for one object (a Deployment, its ReplicaSet and three pods are five).
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import multiprocessing
import os
import resource
import time
from typing import Any

from report import output_options, write

from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.meta import LabelSelector, ObjectMeta
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


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measured(count: int, nodes: int, profile: str | None) -> dict[str, float]:
    if profile is None:
        return asyncio.run(converge(count, nodes))
    profiler = cProfile.Profile()
    with profiler:
        found = asyncio.run(converge(count, nodes))
    profiler.dump_stats(profile)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deployments", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--profile", help="a file for cProfile's figures, of the last number")
    output_options(parser, "cluster")
    options = parser.parse_args()
    print("Deployments   seconds   CPU s   MiB   CPU ms/object   KiB/object")
    figures: dict[str, Any] = {"nodes": options.nodes, "deployments": {}}
    for count in options.deployments:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found = pool.apply(measured, (count, options.nodes, options.profile))
        objects = count * OBJECTS
        print(
            f"{count:11d} {found['seconds']:9.1f} {found['cpu']:7.1f} {found['bytes'] / 2**20:5.0f} "
            f"{found['cpu'] / objects * 1e3:15.2f} {found['bytes'] / objects / 1024:12.1f}"
        )
        figures["deployments"][str(count)] = found
    write(options, "cluster", figures, lambda report: set(report["deployments"]))


if __name__ == "__main__":
    main()
