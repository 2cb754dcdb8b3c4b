"""The command ``run`` of a program. It makes a manager from flags and runs it."""

from __future__ import annotations

import dataclasses
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from setpoint.apps.error_reports import UsageError
from setpoint.apps.program_runner import run
from setpoint.cli.cluster_connection import connected
from setpoint.cli.default_names import manager_name, program_name, shard_group, webhook_name
from setpoint.cli.option_sources import OptionSources
from setpoint.cli.processes import connect, kubeconfig_of, launcher, shared_with
from setpoint.cli.program_arguments import Parts
from setpoint.cli.program_options import with_options
from setpoint.cli.resource_measurement import Measuring, is_possible
from setpoint.cli.run_flags import CallerFlags, ClusterFlags, LogFlags, ReplicaFlags, ServingFlags, WebhookFlags
from setpoint.cli.webhook_serving import serve_webhooks
from setpoint.client import Client
from setpoint.controller import watched_kinds
from setpoint.manager import (
    Fleet,
    KubeconfigFolder,
    LeaderElection,
    Manager,
    ManagerOptions,
    ProcessMetrics,
    Serving,
    Sharding,
)
from setpoint.manager.logging import configure
from setpoint.manager.otlp import Otlp, OtlpMissing
from setpoint.manager.processes import Launcher, ParentLease, Supervisor
from setpoint.manager.processes.parent_link import Seat
from setpoint.manager.server_version import ServerVersion
from setpoint.webhook import Admission, Converter, ServiceTarget, Webhooks, with_conversions
from setpoint.webhook.policy import apply_policies
from setpoint.webhook.registration import address_of

BLOCKED_AFTER = 1.0
"""The event loop counts as blocked after this many seconds."""
_GROUPS: Final = (ClusterFlags, ReplicaFlags, ServingFlags, WebhookFlags, CallerFlags, LogFlags)
_CLUSTER, _REPLICAS, _SERVING = ClusterFlags(), ReplicaFlags(), ServingFlags()
_WEBHOOKS, _CALLERS, _LOG = WebhookFlags(), CallerFlags(), LogFlags()


def run_command(parts: Parts, sources: OptionSources) -> Callable[..., None]:
    """The command ``run`` of a program with these parts. The fields of the program's options become flags of the
    command.
    """

    def run_the_controllers(
        *,
        name: str | None = None,
        config: Path | None = None,
        cluster: ClusterFlags = _CLUSTER,
        replicas: ReplicaFlags = _REPLICAS,
        serving: ServingFlags = _SERVING,
        webhooks: WebhookFlags = _WEBHOOKS,
        callers: CallerFlags = _CALLERS,
        log: LogFlags = _LOG,
        own: Any = None,
    ) -> None:
        """Run the controllers until Ctrl-C or SIGTERM.

        Parameters
        ----------
        name
            The program's name in the cluster; default: the first controller and its API group.
        config
            A YAML file with values of these flags, such as leader-elect: true. A flag on the command line comes first,
            then a variable such as SETPOINT_LEADER_ELECT, then the file.
        """
        flags = cluster, replicas, serving, webhooks, callers
        _Run(parts.with_options(own), name or parts.operator.name, own, *flags).run(log, sources)

    names = {"name", "config", "own"} | {field.name for group in _GROUPS for field in dataclasses.fields(group)}
    return with_options(run_the_controllers, parts.operator.options, names)


class _Run:
    """One run of a program: this process, which may be the supervisor of others, or one of these."""

    def __init__(
        self,
        parts: Parts,
        name: str | None,
        own: Any,
        cluster: ClusterFlags,
        replicas: ReplicaFlags,
        serving: ServingFlags,
        webhooks: WebhookFlags,
        callers: CallerFlags,
    ) -> None:
        self._parts = parts
        self._own = own
        self._cluster = cluster
        self._replicas = replicas
        self._serving = serving
        self._webhooks = webhooks
        self._callers = callers
        self._check()
        controllers, admissions = parts.controllers, parts.admissions
        self._kinds = [*watched_kinds(controllers), *(admission.kind for admission in admissions)]
        self._served: Sequence[Admission[Any] | Converter] = with_conversions(admissions, self._kinds)
        if webhooks.place and not self._served:
            raise UsageError("the program has neither an admission nor a conversion, so there is no webhook to serve")
        self._lease = replicas.leader_election_id or (program_name(controllers, name) if replicas.elects else "")
        self._field_manager = manager_name(controllers, name, self._served)
        admits = bool(admissions) and bool(webhooks.place)
        self._configuration = webhook_name(self._served, name) if admits else ""
        self._collects = parts.operator.registry is not None or serving.serves_metrics
        self._seat = Seat.from_environment() if replicas.processes > 1 else None
        self._launcher: Launcher | None = None
        self._supervisor: Supervisor | None = None
        self._parent: ParentLease | None = None
        if self._seat is not None:  # everything that several processes have in common is their supervisor's
            self._parent = ParentLease(self._seat.partition, divides_caches=replicas.divide_caches)
            self._cluster = cluster.of_child(kubeconfig_of(self._seat))
            self._serving = ServingFlags()
            self._webhooks = WebhookFlags()
        elif replicas.processes > 1:
            self._launcher = launcher()
            self._supervisor = Supervisor(replicas.processes, self._launcher)
        self._managers: list[Manager] = []
        self._otlp: Otlp | None = None

    def _check(self) -> None:
        """Raises `UsageError` if flags of different groups exclude each other, or don't apply to these parts."""
        cluster, replicas, serving, webhooks = self._cluster, self._replicas, self._serving, self._webhooks
        for group in (cluster, replicas, serving, webhooks):
            group.check()
        if webhooks.place:
            self._callers.check("" if isinstance(webhooks.place, Path) else webhooks.place)
        elif self._callers != CallerFlags():
            raise UsageError("flags about callers of webhooks need --webhook-service or --webhook-cert-dir")
        if webhooks.place and (cluster.embedded or cluster.clusters):
            raise UsageError("--webhook-cert-dir and --webhook-service can't be combined with --embedded or --clusters")
        if serving.measure and not is_possible():
            raise UsageError("--measure needs getrusage, which this system lacks: measure on Linux or macOS")
        if replicas.processes > 1 and sys.platform == "win32":
            raise UsageError(
                "--processes needs sockets that child processes inherit, which Windows lacks: "
                "run one process, or several programs with --shards"
            )
        if serving.measure and cluster.embedded:
            raise UsageError("--measure and --embedded exclude each other: the measurement would include the server")
        if serving.measure and replicas.processes > 1:
            raise UsageError("--measure and --processes exclude each other: a measurement covers one process")
        if self._parts.controllers:
            return
        if replicas.elects or replicas.processes > 1 or cluster.clusters:
            raise UsageError(
                "it has no controller: every replica serves its webhooks, so --leader-elect, --shards, --processes and "
                "--clusters don't apply"
            )
        if not (cluster.embedded or webhooks.place):
            raise UsageError(
                "it has no controller, only webhooks: choose how they are served, with --webhook-service, "
                "--webhook-cert-dir or --embedded"
            )

    def run(self, log: LogFlags, sources: OptionSources) -> None:
        """Runs the manager until a signal comes or it fails."""
        fields = {} if self._seat is None else {"process": self._seat.index}
        configure(log.log_format, log.log_level.upper(), fields=fields)
        sources.log()
        try:
            self._otlp = Otlp(self._lease or self._field_manager, self._process()) if log.otlp else None
        except OtlpMissing as problem:
            raise UsageError(str(problem)) from None
        try:
            run(
                self._parts.command,
                self._work(),
                waits_for=lambda: [line for manager in self._managers for line in manager.under_way()],
                at_once=self._supervisor.kill if self._supervisor is not None else None,
            )
        finally:
            if self._otlp is not None:
                self._otlp.close()

    def _process(self) -> str:
        """The index of this process among those of ``--processes``, or ``supervisor``; ``""`` without them."""
        return str(self._seat.index) if self._seat is not None else "supervisor" if self._supervisor is not None else ""

    async def _work(self) -> None:
        async with connected(self._cluster, self._kinds, self._field_manager) as (client, embedded):
            try:
                manager = self._manager(client)
            except ValueError as problem:
                raise UsageError(str(problem)) from None
            if embedded is not None:
                await apply_policies(embedded.client, self._parts.operator.policies, "embedded")
            if embedded is not None and self._served:
                await embedded.serve(Webhooks(*self._served, factory=manager.factory))
            elif self._webhooks.place is not None:
                place, port = self._webhooks.place, self._webhooks.webhook_port
                address = "" if isinstance(place, Path) else address_of(ServiceTarget(place, manager.client.namespace))
                callers = self._callers.allowed(manager.client, address)
                serve_webhooks(manager, self._served, place, port, self._configuration, callers)
            if self._otlp is not None and manager.metrics is not None:
                manager.add(self._otlp.metrics_of(manager.metrics.registry))
            if self._serving.measure is not None:
                manager.add(Measuring(self._serving.measure))
            if embedded is None and (self._seat is None or self._seat.index == 0):
                manager.add(ServerVersion(manager.client, self._parts.controllers), may_end=True)
            if self._seat is not None and self._parent is not None:
                connect(manager, self._seat, self._parent)
            if self._supervisor is None and (self._seat is None or self._seat.index == 0):
                for runnable in self._parts.operator.runnables:
                    manager.add(runnable)
            self._managers.append(manager)
            with shared_with(self._launcher, embedded):
                await manager.run()

    def _manager(self, client: Client) -> Manager:
        """The manager of this process. The manager of a supervisor runs the child processes, and nothing else."""
        parts, clusters, serving = self._parts, self._cluster.clusters, self._serving
        works = self._supervisor is None
        metrics = None
        if self._collects or self._otlp is not None:
            metrics = ProcessMetrics(parts.operator.registry)
            metrics.add_process()
        identity = f"{socket.gethostname()}_{uuid4()}"
        space = self._replicas.leader_election_namespace or client.namespace
        election: LeaderElection | ParentLease | None = None
        sharding = None
        if self._replicas.shards and works:
            group = self._replicas.leader_election_id or shard_group(self._lease)
            sharding = Sharding(name=group, identity=identity, namespace=space, by=self._replicas.shards_by)
        elif self._parent is not None:
            election = self._parent
        elif self._replicas.leader_elect:
            lost_lease = self._replicas.lost_lease
            election = LeaderElection(name=self._lease, identity=identity, namespace=space, lost_lease=lost_lease)
        return Manager(
            client,
            lifespan=parts.operator.lifespan_of(self._own) if works else None,
            controllers=self._supervisor or (() if clusters else parts.controllers),
            fleet=Fleet(*parts.controllers, provider=KubeconfigFolder(clusters)) if works and clusters else None,
            leader_election=election,
            sharding=sharding,
            namespace=self._cluster.namespace,
            serving=Serving(
                metrics=metrics,
                metrics_bind_address=serving.metrics_bind_address,
                metrics_cert_dir=serving.metrics_cert_dir,
                profiling=serving.profiling,
                ui=serving.ui,
                health_probe_bind_address=serving.health_probe_bind_address,
            ),
            options=ManagerOptions(
                blocked_after=BLOCKED_AFTER,
                pause_switch=self._replicas.pause_switch if works else None,
                resync=self._replicas.resync,
            ),
        )
