"""Servers: a manager's HTTP servers for metrics, debug pages and health."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from setpoint.client import Client
from setpoint.manager import debugging, profiling
from setpoint.manager.access import TokenAccess
from setpoint.manager.health import HealthChecks
from setpoint.manager.http_server import Access, Answer, Handler, HttpServer


class Pages(NamedTuple):
    """The handlers of a manager's pages: of this process, or of several."""

    metrics: Handler | None
    controllers: Handler
    profile: Handler


class Servers:
    """The HTTP servers of a manager, with the manager's arguments.

    Debug pages are beside the metrics, or beside health where metrics are off.
    """

    def __init__(
        self,
        client: Client,
        *,
        pages: Pages,
        metrics_bind_address: str,
        metrics_secure: bool,
        metrics_cert_dir: Path | None,
        health_probe_bind_address: str,
        health: Sequence[HealthChecks],
        profiles: bool,
    ) -> None:
        if metrics_secure is (metrics_cert_dir is None):
            raise ValueError("metrics_secure and metrics_cert_dir, a directory with tls.crt and tls.key, go together")
        guard = TokenAccess(client).check
        self.metrics = _server(
            metrics_bind_address, "metrics", cert_dir=metrics_cert_dir, access=guard if metrics_secure else None
        )
        if self.metrics is not None and pages.metrics is not None:
            self.metrics.add("/metrics", pages.metrics)
        self.health = _server(health_probe_bind_address, "health")
        if self.health is not None:
            for checks in health:
                self.health.add(f"/{checks.name}", _handler(checks))
        debug = self.metrics or self.health
        if debug is not None:
            debug.add(debugging.PATH, pages.controllers, guard=guard)
            if profiles:
                debug.add(profiling.PATH, pages.profile, guard=guard)
        elif profiles:
            raise ValueError("profiling is served beside the metrics: give metrics_bind_address too")

    def all(self) -> list[HttpServer]:
        """The enabled servers."""
        return [server for server in (self.metrics, self.health) if server is not None]


def _server(
    address: str, name: str, *, cert_dir: Path | None = None, access: Access | None = None
) -> HttpServer | None:
    if address in ("", "0"):
        return None
    return HttpServer(address, name=name, cert_dir=cert_dir, access=access)


def _handler(checks: HealthChecks) -> Callable[..., Answer]:
    def handle(path: str, query: Any, _headers: Any) -> Answer:
        status, text = checks.answer(path, query)
        return Answer(status, text.encode())

    return handle
