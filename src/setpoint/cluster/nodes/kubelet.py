"""Kubelets of hollow nodes: pods go through their whole life; only `Processes` executes containers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from functools import partial
from typing import Final

from setpoint.cache import Head
from setpoint.client import NotFound
from setpoint.cluster.node_index import NODE_INDEX, PlacedSpec, node_of
from setpoint.cluster.nodes.behaviour import DEAD, NODE, Behaviours, ContainerBehaviours, as_annotated
from setpoint.cluster.nodes.config_references import KINDS, NOTHING, ConfigReference, Lack, lack_of, sources_of
from setpoint.cluster.nodes.container_processes import Processes
from setpoint.cluster.nodes.node_networks import IPV4, host_ips, pod_ips
from setpoint.cluster.nodes.pod_lifecycle import PodLife
from setpoint.cluster.nodes.pod_stopwatch import Stopwatch
from setpoint.cluster.scheduling.resource_requests import host_ports, ports_clash
from setpoint.controller import CacheReader, Context, Controller, Outcome, after, done
from setpoint.meta import ObjectKey, encode
from setpoint.models.core_v1 import ConfigMap, HostIP, Node, Pod, PodIP, Secret

NO_PORTS: Final = "node(s) didn't have free ports for the requested pod ports"


class HollowKubelet:
    """The kubelets of all hollow nodes in a single controller.

    The containers of a pod on one of the nodes start, run, become ready and end as the pod's behaviour says: the
    function ``behaviour`` takes precedence over annotations, and these over defaults
    (`setpoint.cluster.nodes.behaviour`). Containers are restarted according to their restart policies, with
    upstream's back-off; init containers run first, one after the other, and sidecars keep running. A pod that is being
    deleted is gone when its containers have ended, or at the latest when its grace period is over. A node that is
    annotated as dead does nothing. Pods that are bound to other nodes are left alone.

    Containers that ``processes`` runs are child processes, whose exit codes are reported; all others are hollow.

    ``start_seconds`` and ``stop_seconds`` are the times that containers take to start and to end unless their behaviour
    sets other times. Nodes and pods have one address for each of ``ip_versions`` (4, 6); the first is the primary one.

    *Guarantees*: the status contains the complete state, so a new process can continue where this one stopped. A status
    is written when something has changed; states without a duration are not written. A pod whose host port is taken on
    its node fails before it starts.

    Raises:
        ValueError: ``nodes`` is empty.
    """

    def __init__(
        self,
        nodes: Sequence[str],
        *,
        behaviour: Behaviours = as_annotated,
        start_seconds: float = 0.0,
        stop_seconds: float = 0.0,
        processes: Processes | None = None,
        ip_versions: Sequence[int] = IPV4,
    ) -> None:
        if not nodes:
            raise ValueError("a hollow kubelet needs at least one node")
        self._nodes = {name: host_ips(number, ip_versions) for number, name in enumerate(nodes)}
        self._ip_versions = ip_versions
        self._behaviour = behaviour
        self._start_seconds = start_seconds
        self._stop_seconds = stop_seconds
        self._stopwatch = Stopwatch()
        self.processes = processes
        self._dead: set[str] = set()
        self._followers: dict[ObjectKey, list[asyncio.Event]] = {}
        self._waiting: dict[tuple[ConfigReference, str], set[ObjectKey]] = {}
        """The pods that wait for a Secret or a ConfigMap, by that and its namespace."""
        self.controller = (
            Controller(
                Pod,
                self._reconcile,
                name="hollow-kubelet",
                reconcile_deleting=True,
                owns_status=False,
                leader_only=False,
                predicates=[self._note],
            )
            .index(NODE_INDEX, node_of, as_=PlacedSpec)
            .watches(Node, self._pods_of, metadata_only=True)
        )
        for kind in KINDS:
            self.controller.watches(kind, partial(self._pods_waiting, kind), metadata_only=True)
        if processes is not None:
            self.controller.source(processes.ended)

    def behaviours(self, pod: Pod) -> ContainerBehaviours:
        return ContainerBehaviours(pod, self._behaviour(pod), self._start_seconds, self._stop_seconds)

    def has(self, pod: Pod) -> bool:
        """Whether the pod is on one of the hollow nodes, and that node is alive."""
        return self.answers(pod.spec.node_name or "")

    def answers(self, node: str) -> bool:
        """Whether the node is one of the hollow nodes, and alive."""
        return node in self._nodes and node not in self._dead

    @contextmanager
    def following(self, key: ObjectKey) -> Iterator[asyncio.Event]:
        """A context manager that yields an event, which is set whenever the pod with this key changes."""
        changed = asyncio.Event()
        self._followers.setdefault(key, []).append(changed)
        try:
            yield changed
        finally:
            self._followers[key].remove(changed)
            if not self._followers[key]:
                del self._followers[key]

    def _note(self, old: Head | None, new: Head | None) -> bool:
        head = new if new is not None else old
        if head is not None:
            for changed in self._followers.get(head.key, ()):
                changed.set()
        if new is None and old is not None:
            self._wait_no_more(old.key)
            self._stopwatch.forget(old.uid)
            if self.processes is not None:
                self.processes.forget(old.uid)
        return True

    def _pods_of(self, node: Head, caches: CacheReader) -> Iterable[ObjectKey]:
        """The keys of the pods on the node if the node has died or come back; otherwise none."""
        now = caches.lister(Node).head(node.name)
        is_dead = now is not None and now.annotations.get(NODE) == DEAD
        if is_dead == (node.name in self._dead):
            return ()
        (self._dead.add if is_dead else self._dead.discard)(node.name)
        return caches.lister(Pod).keys(index=(NODE_INDEX, node.name))

    def _pods_waiting(self, kind: type[Secret | ConfigMap], head: Head, _caches: CacheReader) -> Iterable[ObjectKey]:
        return self._waiting.get((ConfigReference(kind, head.name), head.namespace), ())

    def _wait_no_more(self, key: ObjectKey) -> None:
        for place in [place for place, keys in self._waiting.items() if key in keys]:
            self._waiting[place].discard(key)
            if not self._waiting[place]:
                del self._waiting[place]

    async def _lack(self, pod: Pod, ctx: Context) -> Lack:
        """The sources that the pod lacks now. Until it has all of them, each change of a source wakes it."""
        sources = sources_of(pod)
        for source in sources:  # before they are read, so that no change is missed
            self._waiting.setdefault((source, pod.namespace), set()).add(pod.key)
        lack = lack_of(pod, {source: await _keys(source, pod.namespace, ctx) for source in sorted(sources, key=str)})
        if not lack.volume and not lack.containers:
            self._wait_no_more(pod.key)
        return lack

    async def _reconcile(self, pod: Pod, ctx: Context) -> Outcome:
        if not self.has(pod):
            return done()
        if pod.is_deleting:
            return await self._end(pod, ctx)
        if pod.is_finished:
            self._stopwatch.forget(pod.uid)
            return done()
        lack = await self._lack(pod, ctx)
        lacks_ports = pod.status.start_time is None and await _lacks_ports(pod, ctx)
        head = ctx.lister(Pod).head(pod.key)
        if head is None or head.uid != pod.uid:
            return done()  # it went meanwhile, and is forgotten already
        life = self._life(pod, ctx, lack)
        if lacks_ports:
            life.reject("NodePorts", "Predicate NodePorts failed: " + NO_PORTS)
            return done()
        wait = life.advance()
        self._place(pod)
        if pod.metadata.generation:
            pod.status.observed_generation = pod.metadata.generation
        return done() if wait is None else after(wait, "the pod's containers change by themselves")

    async def _end(self, pod: Pod, ctx: Context) -> Outcome:
        if not pod.is_finished:
            before = encode(pod.status)
            wait = self._life(pod, ctx).stop()
            if wait:
                return after(wait, "the containers are stopping")
            if encode(pod.status) != before:
                return after(0.0, "the containers have ended; the pod is removed after its status is written")
        if pod.metadata.deletion_grace_period_seconds or not pod.metadata.finalizers:
            await ctx.delete(pod, grace_period_seconds=0)
        return done()

    def _life(self, pod: Pod, ctx: Context, lack: Lack = NOTHING) -> PodLife:
        return PodLife(pod, self.behaviours(pod), self._stopwatch, ctx.now(), ctx.event, self.processes, lack)

    def _place(self, pod: Pod) -> None:
        """Sets the addresses of the pod and its node. The pod gets its own address when its first container has
        started.
        """
        status = pod.status
        node_ips = self._nodes[pod.spec.node_name or ""]
        status.host_ip, status.host_ips = node_ips[0], [HostIP(ip=address) for address in node_ips]
        states = [*status.init_container_statuses, *status.container_statuses]
        if any(status.container_id for status in states):
            is_process = self.processes is not None and any(
                self.processes.has(pod, container) for container in pod.spec.containers
            )
            if pod.spec.host_network and not is_process:
                addresses = node_ips
            else:
                addresses = pod_ips(pod.uid, self._ip_versions, is_process=is_process)
            status.pod_ip, status.pod_ips = addresses[0], [PodIP(ip=address) for address in addresses]


async def _keys(source: ConfigReference, namespace: str, ctx: Context) -> Set[str] | None:
    """The keys of a Secret or a ConfigMap; None if it does not exist."""
    try:
        source_object = await ctx.client.get(source.kind, source.name, namespace=namespace)
    except NotFound:
        return None
    return source_object.data.keys() | (
        source_object.binary_data.keys() if isinstance(source_object, ConfigMap) else set()
    )


async def _lacks_ports(pod: Pod, ctx: Context) -> bool:
    """Whether a pod that its kubelet sees for the first time asks for a host port that another pod on the node uses.
    The scheduler prevents this, but a pod can be bound without the scheduler. Of several pods that start at the same
    time, the oldest gets the port.
    """
    wanted = host_ports(pod.spec.containers)
    if not wanted:
        return False
    others = await ctx.list(Pod, namespace="*", index=(NODE_INDEX, pod.spec.node_name or ""))
    return any(
        ports_clash(wanted, host_ports(other.spec.containers))
        for other in others
        if other.uid != pod.uid and not other.is_finished and (other.status.start_time or _age(other) < _age(pod))
    )


def _age(pod: Pod) -> tuple[float, str]:
    created = pod.metadata.creation_timestamp
    return (created.timestamp() if created is not None else 0.0, pod.uid)
