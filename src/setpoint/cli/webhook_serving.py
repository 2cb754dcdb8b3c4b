"""Serves a program's webhooks beside its controllers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
from setpoint.webhook.callers import AllowedCallers

DRAIN_DELAY = 5.0
"""Seconds for which webhooks are still served after a signal, while endpoints are updated."""


def serve_webhooks(
    manager: Manager,
    served: Sequence[Admission[Any] | Converter],
    place: Path | str,
    port: int,
    configuration: str,
    callers: AllowedCallers,
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
            trusting=trusting(served, configuration), random=manager.options.random, metrics=metrics,
        )  # fmt: skip
    server = WebhookServer(webhooks, certificates, port=port, drain_delay=DRAIN_DELAY, callers=callers)
    manager.readyz.add("webhooks", server.problem)
    manager.add(server)
