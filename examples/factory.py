"""factory.py: what runs on which node, and which Services have no running Pod? One factory makes the informers that
keep Nodes, Pods and Services; listers and an index answer from these caches and ask no server.

setpoint server --write-kubeconfig ./kubeconfig &
python examples/factory.py --kubeconfig ./kubeconfig
"""

import argparse
import asyncio
import logging
import sys
from collections.abc import Iterator
from typing import TextIO

import setpoint as sp
from setpoint.apps.program_runner import run
from setpoint.cache import Lister
from setpoint.models.core_v1 import Node, Pod, Service

PAUSE = 0.5
"""Seconds between two reports at the least: a burst of changes leads to one."""


class Placed(sp.Model):
    """The fields of a Pod that the index reads; nothing else is decoded for it."""

    class Spec(sp.Model):
        node_name: str = ""

    spec: Spec = Spec()


def node_of(pod: Placed) -> list[str]:
    """An index function: the values by which a Pod is found."""
    return [pod.spec.node_name] if pod.spec.node_name else []


def lines(nodes: Lister[Node], pods: Lister[Pod], services: Lister[Service]) -> Iterator[str]:
    """The report: one line for each node, one for each Service whose selector matches no running Pod."""
    for node in sorted(nodes.list(), key=lambda node: node.name):
        yield f"{node.name}: {', '.join(sorted(pods.keys(index=('node', node.name)))) or '-'}"
    for service in sorted(services.list(), key=lambda service: service.key):
        selector = service.spec.selector
        chosen = pods.list(namespace=service.namespace, selector=selector) if selector else []
        if selector and not any(pod.status.phase == "Running" for pod in chosen):
            yield f"service {service.key}: no running pod is {','.join(map('='.join, sorted(selector.items())))}"


async def report(client: sp.Client, out: TextIO = sys.stdout, *, resync: float = 30.0) -> None:
    """Prints the report, and again whenever it has changed, until it is cancelled."""
    async with sp.InformerFactory(client, resync=resync) as factory:
        nodes, pods, services = factory.informer(Node), factory.informer(Pod), factory.informer(Service)
        pods.add_index("node", node_of, projection=Placed)
        changed = asyncio.Event()
        for informer in (nodes, pods, services):
            informer.add_event_handler(
                on_add=lambda new, initial: changed.set(),
                on_update=lambda old, new: changed.set(),
                on_delete=lambda old, final_state_unknown: changed.set(),
            )
        await factory.wait_for_cache_sync()  # before that, a lister does not have everything that is on the server
        printed: list[str] = []
        while True:
            changed.clear()
            now = list(lines(nodes.lister, pods.lister, services.lister))
            if now != printed:
                print(*now, "", sep="\n", file=out, flush=True)
                printed = now
            await changed.wait()
            await asyncio.sleep(PAUSE)


async def main(kubeconfig: str | None, resync: float) -> None:
    async with sp.Client.from_environment(kubeconfig, field_manager="factory") as client:
        await report(client, resync=resync)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kubeconfig", help="default: KUBECONFIG, ~/.kube/config, or the pod this runs in")
    options.add_argument("--resync", type=float, default=30.0, help="seconds after which every object is told again")
    logging.basicConfig(format="%(message)s")
    run("factory.py", main(**vars(options.parse_args())))
