"""The embedded control plane: the controllers that make an API server behave like a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import chain
from random import Random
from types import TracebackType
from typing import Any, Final, Literal, Self

import msgspec

from setpoint.apiserver import ApiServer
from setpoint.apiserver.streams.kubelets import Kubelets
from setpoint.cache import WatchOptions
from setpoint.client import Client
from setpoint.cluster.controller_registry import BINDER, EVERYTHING, GARBAGE_COLLECTOR, Parts, chosen
from setpoint.cluster.first_object_watch import FirstObjects
from setpoint.cluster.garbage_collection.garbage_collector import GarbageCollector
from setpoint.cluster.lazy_controllers import LazyControllers
from setpoint.cluster.nodes import HollowKubelet, HollowNode, HollowNodes
from setpoint.cluster.nodes.behaviour import Behaviours, as_annotated
from setpoint.cluster.nodes.container_processes import Processes, this_machine
from setpoint.cluster.nodes.hollow_kubelet_api import HollowStreams
from setpoint.cluster.nodes.node_networks import IPV4
from setpoint.cluster.nodes.pod_kubeconfigs import Kubeconfig, PodAccess
from setpoint.cluster.scheduling import Scheduler
from setpoint.cluster.served_resources import ServedResources
from setpoint.cluster.storage.claim_notifications import ClaimNotifications
from setpoint.controller import Controller
from setpoint.manager import Manager, ManagerOptions, Serving
from setpoint.meta import GroupVersionResource, Object, resource_of
from setpoint.models.core_v1 import Node
from setpoint.webhook.certificate_authority import Pair

WATCH_SECONDS: Final = 12 * 3600.0
"""The minimum duration of a watch of the control plane, in seconds."""


class HollowPods(msgspec.Struct, frozen=True, kw_only=True):
    """The behaviour of the pods on hollow nodes.

    ``behaviour`` is a function that returns the behaviour of a pod (`PodBehaviour`), or None to leave it to the pod's
    annotations. ``start_seconds`` and ``stop_seconds`` are how long containers take to start and to end unless their
    behaviour says otherwise.
    """

    behaviour: Behaviours = as_annotated
    start_seconds: float = 0.0
    stop_seconds: float = 0.0


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """The certificates and kubeconfigs that a control plane hands out.

    ``ca`` is the certificate (PEM) in every namespace's ``kube-root-ca.crt``. ``signer`` is the authority that signs
    approved CertificateSigningRequests; if None, one is made when it is needed. ``kubeconfig`` is a function that
    returns a kubeconfig document for a bearer token, for pods that run as processes; if None, they get none.
    """

    ca: str = ""
    signer: Pair | None = None
    kubeconfig: Kubeconfig | None = None


def _gvr(kind: type[Object]) -> GroupVersionResource:
    return resource_of(kind).gvr


class ControlPlane:
    """Garbage collection, namespace lifecycle, workloads and hollow nodes, for one API server.

    ```python
    async with ControlPlane(client):
        ...
    ```

    It is one `Manager` with ordinary controllers that share one set of caches. Most of the controllers start when their
    first object appears (`LazyControllers`). The control plane does nothing while nothing changes. The server is in
    this process, so a silent watch always means that nothing has happened, and never that a connection is dead. The
    watches of the control plane are therefore long, without bookmarks and without a limit on silence.

    ``kubelets`` answers requests for the logs, commands and connections of containers; pass it to `ApiServer.kubelets`.

    Args:
        client: a client of a server in this process, with all permissions (``system:admin``).
        server: that server. It is asked which resources have objects, so that no others are watched; without it, all of
            them are. Hollow nodes and their pods have an address in each IP family of its Services (IPv4 without it).
        nodes: the number of hollow nodes, or a description of each; with 0, pods stay pending until another program
            creates a Node, to which they are then bound. With ``local``, there is one node, on which containers that
            are marked accordingly run as processes on this machine (`Processes`).
        pods: the behaviour of the pods on hollow nodes.
        controllers: the names of the controllers, as for kube-controller-manager's ``--controllers``: ``*`` selects all
            that run by default, ``-NAME`` excludes one of these; see `setpoint.cluster.controller_registry`.
        credentials: the certificates and kubeconfigs that the control plane hands out.
        serving: the servers for the metrics, the debug pages and the health of the control plane's manager; none by
            default.

    Raises:
        UnknownControllerError: one of the names does not belong to any controller.
    """

    def __init__(
        self,
        client: Client,
        *,
        server: ApiServer | None = None,
        nodes: int | Sequence[HollowNode] | Literal["local"] = 1,
        pods: HollowPods | None = None,
        controllers: Iterable[str] = EVERYTHING,
        credentials: Credentials | None = None,
        serving: Serving | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        random: Random | None = None,
    ) -> None:
        # As in kube-controller-manager, warnings (that Endpoints are deprecated) are not logged.
        client = Client(client.transport, namespace=client.namespace, random=client.random, on_warning=lambda _: None)
        pods = pods if pods is not None else HollowPods()
        credentials = credentials if credentials is not None else Credentials()
        ca, signer, kubeconfig = credentials.ca, credentials.signer, credentials.kubeconfig
        self.resources = ServedResources()
        eager: list[Controller[Any]] = []
        lazy: dict[type[Object], list[Controller[Any]]] = {}
        entries = chosen(controllers)
        if server is not None:  # one of an older version has fewer kinds
            entries = [entry for entry in entries if all(server.registry.find(*_gvr(kind)) for kind in entry.wakes)]
        # Without a binder no claim is ever bound: volumes don't count then.
        claims = ClaimNotifications() if any(entry.name == BINDER for entry in entries) else None
        parts = Parts(self.resources, ca, signer, claims)
        for entry in entries:
            entry_controllers = entry.make(parts)
            if not entry.wakes:
                eager += entry_controllers
            for kind in entry.wakes:
                lazy.setdefault(kind, []).extend(entry_controllers)
        self.nodes: HollowNodes | None = None
        self.kubelets: Kubelets | None = None
        processes: Processes | None = None
        if nodes:
            if nodes == "local":
                access = PodAccess(client, kubeconfig) if kubeconfig is not None else None
                processes, nodes = Processes(now=now, access=access), [this_machine()]
            ip_versions = IPV4 if server is None else [network.version for network in server.state.service_networks]
            self.nodes = HollowNodes(client, nodes, now=now, ip_versions=ip_versions)
            kubelet = HollowKubelet(
                self.nodes.names,
                behaviour=pods.behaviour,
                start_seconds=pods.start_seconds,
                stop_seconds=pods.stop_seconds,
                processes=processes,
                ip_versions=ip_versions,
            )
            self.kubelets = HollowStreams(client, kubelet, now=now)
            eager += [Scheduler(claims=claims).controller, kubelet.controller]
        else:  # other programs, such as kwok, may bring nodes
            lazy.setdefault(Node, []).append(Scheduler(claims=claims).controller)
        for controller in (*eager, *chain.from_iterable(lazy.values())):
            controller.reports_failures = False  # the programs whose part they play send no such events
        self.manager = Manager(
            client,
            controllers=eager,
            serving=serving,
            options=ManagerOptions(
                shutdown_timeout=5.0,
                now=now,
                random=random or Random(),
                instance="control-plane",
                watch_options=WatchOptions(
                    streaming_lists=False, min_watch_timeout=WATCH_SECONDS, bookmarks=False, idle_timeout=None
                ),
            ),
        )
        first_objects = FirstObjects(server) if server is not None else None
        self.manager.add(LazyControllers(self.manager.factory, lazy, self.manager.add, first_objects))
        self.garbage_collector: GarbageCollector | None = None
        if any(entry.name == GARBAGE_COLLECTOR for entry in entries):
            self.garbage_collector = GarbageCollector(
                client,
                self.manager.factory,
                self.resources,
                recorder=self.manager.recorder,
                first_objects=first_objects,
            )
            self.manager.add(self.garbage_collector)
        if self.nodes is not None:
            self.manager.add(self.nodes)
        if processes is not None:
            self.manager.add(processes)

    async def run(self) -> None:
        """Runs until `stop` is called, the call is cancelled, or a runnable fails; see `Manager.run`."""
        await self.manager.run()

    def stop(self) -> None:
        self.manager.stop()

    async def __aenter__(self) -> Self:
        await self.manager.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.manager.__aexit__(kind, error, traceback)

    def idle(self) -> bool:
        """Whether everything that can be done now has been done."""
        return (
            all(running.state == "running" and running.idle() for running in self.manager.controllers.values())
            and (self.garbage_collector is None or self.garbage_collector.idle())
            and (self.nodes is None or self.nodes.idle())
        )
