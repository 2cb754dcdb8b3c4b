"""Provides the server that a program uses (embedded on request), and serves the program's webhooks."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from setpoint.client import Client
from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.deploy.definitions import definitions_of
from setpoint.manager import Manager
from setpoint.webhook import (
    Admission,
    CertificateFiles,
    Converter,
    SecretCertificates,
    WebhookMetrics,
    Webhooks,
    WebhookServer,
    service_names,
    trusting,
)

DRAIN_DELAY = 5.0
"""Seconds for which webhooks are still served after a signal, while endpoints are updated."""


def serve_webhooks(
    manager: Manager, served: Sequence[Admission[Any] | Converter], place: Path | str, port: int, configuration: str
) -> None:
    """Adds a webhook server for ``served`` to the manager, together with a readiness check.

    ``place`` is the folder with the certificates or, as a string, the name of the Service in front of the program. In
    the second case the program makes its own certificates, and injects the CA bundle into the webhook configurations
    with the name ``configuration``.
    """
    metrics = WebhookMetrics(manager.metrics.registry if manager.metrics is not None else None)
    webhooks = Webhooks(*served, factory=manager.factory, metrics=metrics)
    certificates: CertificateFiles | SecretCertificates
    if isinstance(place, Path):
        certificates = CertificateFiles(place, metrics=metrics)
    else:
        space = manager.client.namespace
        certificates = SecretCertificates(
            manager.client, f"{place}-tls", space, names=service_names(place, space),
            trusting=trusting(served, configuration), random=manager.runtime.random, metrics=metrics,
        )  # fmt: skip
    server = WebhookServer(webhooks, certificates, port=port, drain_delay=DRAIN_DELAY)
    manager.readyz.add("webhooks", server.problem)
    manager.add(server)


@asynccontextmanager
async def server(
    kinds: Iterable[type[Any]],
    field_manager: str,
    kubeconfig: Path | None,
    context: str | None,
    embedded: bool,
    port: int,
    write_kubeconfig: Path | None,
) -> AsyncIterator[tuple[Client, EmbeddedCluster | None]]:
    if not embedded:
        async with Client.from_environment(kubeconfig, context=context, field_manager=field_manager) as client:
            yield client, None
        return
    async with EmbeddedCluster(port=port) as cluster:
        for definition in definitions_of(kinds):
            await cluster.install(definition)
        print(f"API server: {cluster.url}", file=sys.stderr)  # noqa: T201 - this is the user's terminal
        if write_kubeconfig is not None:
            cluster.write_kubeconfig(write_kubeconfig)
            print(f"try: kubectl --kubeconfig {write_kubeconfig} get all -A", file=sys.stderr)  # noqa: T201
        yield cluster.client, cluster
