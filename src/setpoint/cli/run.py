"""The command ``run`` of a program. It makes a manager from flags and runs it."""

from __future__ import annotations

import inspect
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import uuid4

from cyclopts import Parameter
from cyclopts.validators import Number

from setpoint.apps.failures import UsageError
from setpoint.apps.running import run
from setpoint.cli.measure import Measuring
from setpoint.cli.naming import manager_name, program_name, shard_group, webhook_name
from setpoint.cli.own_options import bound, with_options
from setpoint.cli.parts import Parts
from setpoint.cli.processes import connect, kubeconfig_of, launcher, shared_with
from setpoint.cli.serving import serve_webhooks, server
from setpoint.controller import watched_kinds
from setpoint.manager import (
    Fleet,
    KubeconfigFolder,
    LeaderElection,
    Manager,
    ProcessMetrics,
    Runtime,
    Serving,
    Sharding,
)
from setpoint.manager.logging import configure
from setpoint.manager.processes import ParentLease, Supervisor
from setpoint.manager.processes.parent import Seat
from setpoint.webhook import Admission, Webhooks, with_conversions

BLOCKED_AFTER = 1.0
"""The event loop counts as blocked after this many seconds."""


def run_command(parts: Parts) -> Callable[..., None]:
    """The command ``run`` of a program with these parts. The fields of the program's options become flags of the
    command.
    """
    command, controllers, admissions, given = parts[:4]
    runnables, options, lifespan, registry = parts[4:]

    def run_the_controllers(
        *,
        kubeconfig: Annotated[Path | None, Parameter(name=["--kubeconfig", "-k"])] = None,
        context: str | None = None,
        namespace: Annotated[str | None, Parameter(name=["--namespace", "-n"])] = None,
        name: str | None = None,
        embedded: Annotated[bool, Parameter(negative="")] = False,
        port: Annotated[int, Parameter(validator=Number(gte=0, lte=65535))] = 0,
        write_kubeconfig: Path | None = None,
        leader_elect: bool = False,
        leader_election_id: str | None = None,
        leader_election_namespace: str | None = None,
        shards: Annotated[bool, Parameter(negative="")] = False,
        processes: Annotated[int, Parameter(validator=Number(gte=1, lte=256))] = 1,
        clusters: Path | None = None,
        metrics_bind_address: str = "0",
        metrics_secure: Annotated[bool, Parameter(negative="")] = False,
        metrics_cert_dir: Path | None = None,
        profiling: Annotated[bool, Parameter(negative="")] = False,
        ui: Annotated[bool, Parameter(negative="")] = False,
        health_probe_bind_address: str = "0",
        webhook_cert_dir: Path | None = None,
        webhook_service: str | None = None,
        webhook_port: Annotated[int, Parameter(validator=Number(gte=0, lte=65535))] = 9443,
        measure: Path | None = None,
        log_format: Literal["text", "json"] = "text",
        log_level: Literal["debug", "info", "warning", "error"] = "info",
        own: Any = None,
    ) -> None:
        """Run the controllers until Ctrl-C or SIGTERM.

        Parameters
        ----------
        kubeconfig
            The kubeconfig to use; default: KUBECONFIG, ~/.kube/config, or the pod this runs in.
        context
            The kubeconfig's context to use.
        namespace
            Watch only this namespace; default: all.
        name
            The program's name in the cluster; default: the first controller and its API group.
        embedded
            Use an API server in this process, with the CustomResourceDefinitions installed, instead of a cluster.
        port
            With --embedded: the server's port; 0 picks a free one.
        write_kubeconfig
            With --embedded: write a kubeconfig for kubectl to this file.
        leader_elect
            Run only while this process is the elected leader.
        leader_election_id
            The name of the Lease; default: the program's name.
        leader_election_namespace
            The Lease's namespace; default: that of the kubeconfig's context.
        shards
            Share the objects with all other processes of this program that run with --shards, instead of electing a
            leader. The name and namespace of their Leases are set by the flags of leader election.
        processes
            Split the objects among this many processes, so that as many cores are used. This process starts them,
            replaces those that die, takes part in the election for them, and serves their metrics and health.
        clusters
            Run in every cluster that has a kubeconfig in this folder (files may come and go), instead of in the cluster
            of --kubeconfig, which then holds only the Leases.
        metrics_bind_address
            The address for Prometheus metrics, such as :8080; 0 means off.
        metrics_secure
            Serve metrics over TLS, and only to authorized users (token and access reviews).
        metrics_cert_dir
            With --metrics-secure: the directory of tls.crt and tls.key; they are read again when they change.
        profiling
            Also serve profiles of CPU, heap and tasks below /debug/profile, beside the metrics.
        ui
            Also serve a web page at /ui/, beside the metrics: controllers, objects, and why an object is stuck.
        health_probe_bind_address
            The address for /healthz and /readyz, such as :8081; 0 means off.
        webhook_cert_dir
            Also serve the webhooks, over HTTPS with tls.crt and tls.key from this directory; they are read again when
            they change.
        webhook_service
            Also serve the webhooks behind this Service of the client's namespace: make certificates in the Secret
            SERVICE-tls, and have API servers trust them. To serve the webhooks separately, use setpoint webhook.
        webhook_port
            The port to serve webhooks on.
        measure
            Write to this file, at the end, how much CPU and memory the run used, for manifests --resources.
        log_format
            text, or json for one JSON object per line.
        log_level
            The lowest level that is logged.
        """
        if not embedded and (port or write_kubeconfig):
            raise SystemExit(f"{command}: --port and --write-kubeconfig go with --embedded")
        if shards and leader_elect:
            raise SystemExit(
                f"{command}: --shards and --leader-elect exclude each other: with shards every process works"
            )
        if clusters and embedded:
            raise SystemExit(f"{command}: --clusters and --embedded exclude each other")
        if (webhook_cert_dir or webhook_service) and (embedded or clusters):
            raise SystemExit(
                f"{command}: --webhook-cert-dir and --webhook-service go neither with --embedded nor with --clusters"
            )
        if webhook_cert_dir and webhook_service:
            raise SystemExit(f"{command}: --webhook-cert-dir and --webhook-service exclude each other")
        if measure and embedded:
            raise SystemExit(
                f"{command}: --measure and --embedded exclude each other: the server would be measured, too"
            )
        if measure and processes > 1:
            raise SystemExit(f"{command}: --measure and --processes exclude each other: it measures one process")
        name = name or given
        elects = leader_elect or shards
        if not controllers:
            if elects or processes > 1 or clusters:
                raise SystemExit(
                    f"{command}: it has no controller: every replica serves its webhooks, so --leader-elect, --shards, "
                    "--processes and --clusters don't apply"
                )
            if not (embedded or webhook_cert_dir or webhook_service):
                raise SystemExit(
                    f"{command}: it has no controller, only webhooks: say how they are served, with --webhook-service, "
                    "--webhook-cert-dir or --embedded"
                )
        kinds = [*watched_kinds(controllers), *(each.kind for each in admissions)]
        served = with_conversions(admissions, kinds)
        lease = leader_election_id or (program_name(controllers, name) if elects else "")
        group = leader_election_id or shard_group(lease)
        field_manager = manager_name(controllers, name, served)
        if (webhook_cert_dir or webhook_service) and not served:
            raise SystemExit(f"{command}: there is no admission and no conversion to serve webhooks for")
        if metrics_secure is (metrics_cert_dir is None):
            raise SystemExit(f"{command}: --metrics-secure and --metrics-cert-dir go together")
        seat = Seat.taken() if processes > 1 else None
        launch = launcher() if processes > 1 and seat is None else None
        supervisor = Supervisor(processes, launch) if launch is not None else None
        parent = ParentLease(seat.partition) if seat is not None else None
        configure(log_format, log_level.upper(), fields={} if seat is None else {"process": seat.index})
        serves = metrics_bind_address not in ("", "0")
        if seat is not None:  # everything that several processes have in common is their supervisor's
            kubeconfig, context, embedded = kubeconfig_of(seat) or kubeconfig, None if embedded else context, False
            metrics_bind_address = health_probe_bind_address = "0"
            metrics_cert_dir, profiling, ui = None, False, False
            webhook_cert_dir, webhook_service = None, None
        managers: list[Manager] = []

        async def work() -> None:
            started = server(kinds, field_manager, kubeconfig, context, embedded, port, write_kubeconfig)
            async with started as (client, cluster):
                space = leader_election_namespace or client.namespace
                me = f"{socket.gethostname()}_{uuid4()}"
                try:
                    election = LeaderElection(name=lease, identity=me, namespace=space) if leader_elect else None
                    metrics = None
                    if registry is not None or serves:
                        metrics = ProcessMetrics(registry)
                        metrics.add_process()
                    manager = Manager(
                        client,
                        lifespan=bound(lifespan, options, own) if supervisor is None else None,
                        controllers=controllers if supervisor is None and not clusters else (),
                        fleet=Fleet(*controllers, provider=KubeconfigFolder(clusters))
                        if supervisor is None and clusters
                        else None,
                        processes=supervisor,
                        leader_election=parent if parent is not None and not shards else election,
                        sharding=Sharding(name=group, identity=me, namespace=space)
                        if shards and supervisor is None
                        else None,
                        namespace=namespace,
                        serving=Serving(
                            metrics=metrics,
                            metrics_bind_address=metrics_bind_address,
                            metrics_cert_dir=metrics_cert_dir,
                            profiling=profiling,
                            ui=ui,
                            health_probe_bind_address=health_probe_bind_address,
                        ),
                        runtime=Runtime(blocked_after=BLOCKED_AFTER),
                    )
                except ValueError as problem:
                    raise UsageError(str(problem)) from None
                if cluster is not None and served:
                    await cluster.serve(Webhooks(*served, factory=manager.factory))
                elif webhook_cert_dir is not None or webhook_service is not None:
                    place = webhook_cert_dir or webhook_service or ""
                    admits = any(isinstance(each, Admission) for each in served)
                    serve_webhooks(manager, served, place, webhook_port, webhook_name(served, name) if admits else "")
                if measure is not None:
                    manager.add(Measuring(measure))
                if seat is not None and parent is not None:
                    connect(manager, seat, parent)
                if supervisor is None and (seat is None or seat.index == 0):
                    for runnable in runnables:
                        manager.add(runnable)
                managers.append(manager)
                with shared_with(launch, cluster):
                    await manager.run()

        run(
            command,
            work(),
            waits_for=lambda: [each for manager in managers for each in manager.under_way()],
            at_once=supervisor.kill if supervisor is not None else None,
        )

    taken = set(inspect.signature(run_the_controllers).parameters)
    return with_options(run_the_controllers, options, taken)
