"""The embedded control plane: what makes an API server behave like a cluster."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from types import TracebackType
from typing import Any, Final, Self

from setpoint.cache import InformerFactory
from setpoint.client import Client
from setpoint.cluster.cronjobs import CronJobs
from setpoint.cluster.daemonsets import DaemonSets
from setpoint.cluster.deployments import Deployments
from setpoint.cluster.disruption_budgets import DisruptionBudgets
from setpoint.cluster.endpoints import ServiceEndpoints, StaleEndpoints
from setpoint.cluster.finished_jobs import FinishedJobs
from setpoint.cluster.garbage_collector import GarbageCollector
from setpoint.cluster.job_pods import JobOrphans
from setpoint.cluster.jobs import Jobs
from setpoint.cluster.namespaces import NamespaceDefaults, NamespaceLifecycle
from setpoint.cluster.nodes import HollowNodes
from setpoint.cluster.on_demand import OnDemand
from setpoint.cluster.pods import HollowKubelet
from setpoint.cluster.replicasets import ReplicaSets, ReplicationControllers
from setpoint.cluster.resources import ServedResources
from setpoint.cluster.statefulsets import StatefulSets
from setpoint.controller import Controller
from setpoint.manager import Manager
from setpoint.meta import Object
from setpoint.models.apps_v1 import DaemonSet, Deployment, ReplicaSet, StatefulSet
from setpoint.models.batch_v1 import CronJob, Job
from setpoint.models.core_v1 import ReplicationController, Service
from setpoint.models.policy_v1 import PodDisruptionBudget

WATCH_SECONDS: Final = 12 * 3600.0
"""How long a watch of the control plane lasts at least."""


class ControlPlane:
    """Garbage collection, namespace lifecycle, workloads and hollow nodes, against one API server.

    ```python
    async with ControlPlane(client):
        ...
    ```

    It is one `Manager` with ordinary controllers, and shares one set of caches among them. Those of workloads begin to
    run when there is the first object of theirs (`OnDemand`). While nothing changes it
    does nothing: the server is in this process, so a silent watch is a quiet collection and never a dead connection.
    That is why its watches are long, without bookmarks and without a limit to silence.

    Args:
        client: of a server in this process; may do everything (``system:admin``).
        nodes: how many hollow nodes there are; 0 for none, so that pods stay pending.
        pod_start_seconds, pod_stop_seconds: how long hollow pods take to become ready and to end, by the loop's clock.
        garbage_collection: whether what has lost its owners goes.
        workloads: whether Deployments, StatefulSets, Jobs and the like make pods.
        ca: the certificate (PEM) in every namespace's ``kube-root-ca.crt``.
    """

    def __init__(
        self,
        client: Client,
        *,
        nodes: int = 1,
        pod_start_seconds: float = 0.0,
        pod_stop_seconds: float = 0.0,
        garbage_collection: bool = True,
        workloads: bool = True,
        ca: str = "",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        random: Random | None = None,
    ) -> None:
        self.resources = ServedResources(client)
        controllers: list[Controller[Any]] = [
            NamespaceLifecycle(self.resources).controller,
            NamespaceDefaults(ca=ca).controller,
        ]
        sleepers: dict[type[Object], list[Controller[Any]]] = {}
        if workloads:
            sleepers |= {
                Deployment: [Deployments().controller],
                ReplicaSet: [ReplicaSets().controller],
                ReplicationController: [ReplicationControllers().controller],
                StatefulSet: [StatefulSets().controller],
                Job: [Jobs().controller, JobOrphans().controller, FinishedJobs().controller],
                DaemonSet: [DaemonSets().controller],
                Service: [ServiceEndpoints().controller, StaleEndpoints().controller],
                PodDisruptionBudget: [DisruptionBudgets().controller],
                CronJob: [CronJobs().controller],
            }
        self.nodes: HollowNodes | None = None
        if nodes:
            self.nodes = HollowNodes(client, nodes, now=now)
            kubelet = HollowKubelet(self.nodes.names, start_seconds=pod_start_seconds, stop_seconds=pod_stop_seconds)
            controllers.append(kubelet.controller)
        factory = InformerFactory(
            client,
            random=random,
            streaming_lists=False,
            min_watch_timeout=WATCH_SECONDS,
            bookmarks=False,
            idle_timeout=None,
        )
        self.manager = Manager(
            client,
            controllers=controllers,
            factory=factory,
            shutdown_timeout=5.0,
            now=now,
            random=random,
            instance="control-plane",
        )
        self.manager.add(OnDemand(self.manager.factory, sleepers, self.manager.add))
        self.garbage_collector: GarbageCollector | None = None
        if garbage_collection:
            self.garbage_collector = GarbageCollector(client, self.manager.factory, self.resources)
            self.manager.add(self.garbage_collector)
        if self.nodes is not None:
            self.manager.add(self.nodes)

    async def run(self) -> None:
        """Runs until cancelled; see `Manager.run`."""
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
        """Whether everything has been done that can be done now."""
        return (
            all(running.state == "running" and running.idle() for running in self.manager.controllers.values())
            and (self.garbage_collector is None or self.garbage_collector.idle())
            and (self.nodes is None or self.nodes.idle())
        )
