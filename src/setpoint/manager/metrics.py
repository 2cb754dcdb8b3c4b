"""The metrics of one process, in a registry of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from setpoint.cache import InformerMetrics
from setpoint.controller import ControllerMetrics
from setpoint.manager.http_server import Answer

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

    from setpoint.client import Client
    from setpoint.manager.leader_election.leader_elector import LeaderElector


class Member(Protocol):
    """A cluster of a fleet, as the metrics see it."""

    name: str

    def problem(self) -> str:
        """The problem in this cluster; ``""`` if there is none."""
        ...


class ProcessMetrics:
    """All metrics of a manager: controllers, queues, informers, leadership, process. There is no global registry.

    ``registry`` is a registry of prometheus_client, in which a program can register its own collectors; by default it
    is a new one. If it is ``prometheus_client.REGISTRY``, in which collectors register themselves by default, only one
    manager may use it.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        from prometheus_client import CollectorRegistry

        self.registry = registry or CollectorRegistry()
        self.controllers = ControllerMetrics(self.registry)
        self.informers = InformerMetrics()
        self.registry.register(self.informers)
        self._electors: list[LeaderElector] = []
        self.registry.register(_Leadership(self._electors))
        self._clients: list[Client] = []
        self.registry.register(_Requests(self._clients))

    def add_process(self) -> None:
        """Adds the process's own metrics: memory, CPU time, file descriptors, Python."""
        from prometheus_client import REGISTRY, PlatformCollector, ProcessCollector

        if self.registry is REGISTRY:
            return  # which has them from the beginning
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)

    def add_elector(self, elector: LeaderElector) -> None:
        self._electors.append(elector)

    def add_client(self, client: Client) -> None:
        """Adds a count of the answers to a client's requests."""
        self._clients.append(client)

    def remove_client(self, client: Client) -> None:
        self._clients.remove(client)

    def add_fleet(self, fleet: Iterable[Member]) -> None:
        """Adds a gauge for each cluster of a fleet. It is 1 while everything works in that cluster."""
        self.registry.register(_Clusters(fleet))

    def answer(self, _path: str, _query: Mapping[str, list[str]], headers: Mapping[str, str]) -> Answer:
        """The body of ``/metrics``, in the format that the scraper asks for."""
        from prometheus_client.exposition import choose_encoder

        encode, content_type = choose_encoder(headers.get("accept", ""))
        return Answer(200, encode(self.registry), content_type)


class _Requests:
    def __init__(self, clients: list[Client]) -> None:
        self._clients = clients

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily

        total = CounterMetricFamily(
            "rest_client_requests",
            "Number of HTTP requests, partitioned by status code, method, and host.",
            labels=["code", "method", "host"],
        )
        sums: Counter[tuple[str, str, str]] = Counter()
        for client in self._clients:
            host = urlsplit(client.config.server).netloc if client.config is not None else ""
            for (method, code), count in client.answers.items():
                sums[code, method, host] += count
        for labels, count in sums.items():
            total.add_metric(list(labels), count)
        yield total


class _Clusters:
    def __init__(self, fleet: Iterable[Member]) -> None:
        self._fleet = fleet

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily

        ready = GaugeMetricFamily(
            "setpoint_cluster_ready", "1 if everything works in this cluster of the fleet, 0 if not", labels=["cluster"]
        )
        for cluster in self._fleet:
            ready.add_metric([cluster.name], 0.0 if cluster.problem() else 1.0)
        yield ready


class _Leadership:
    def __init__(self, electors: list[LeaderElector]) -> None:
        self._electors = electors

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily

        status = GaugeMetricFamily(
            "leader_election_master_status", "1 if this process leads, 0 if it does not", labels=["name"]
        )
        for elector in self._electors:
            status.add_metric([elector.election.name], 1.0 if elector.is_leader else 0.0)
        yield status
