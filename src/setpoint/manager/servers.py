"""Servers: a manager's HTTP servers for metrics, debug pages and health."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from setpoint.client import Client
from setpoint.manager import ui
from setpoint.manager.authorization import TokenAccess
from setpoint.manager.debug_pages import controllers_page, manager_page, profiling, yaml_page
from setpoint.manager.health_checks import HealthChecks
from setpoint.manager.http_server import Access, Answer, Handler, HttpServer
from setpoint.manager.options import Serving


class Pages(NamedTuple):
    """The handlers of a manager's pages, which show this process alone, or several processes."""

    metrics: Handler | None
    controllers: Handler
    manager: Handler
    objects: Handler
    details: Handler
    document: Handler
    profile: Handler
    more: Mapping[str, Handler]
    """The pages of `Serving.browser`, by path."""


class Servers:
    """The HTTP servers of a manager.

    Debug pages are on the server of the metrics, or on that of health if metrics are off.
    """

    def __init__(self, client: Client, serving: Serving, *, pages: Pages, health: Sequence[HealthChecks]) -> None:
        access = TokenAccess(client)
        guard = access.check
        folder = serving.metrics_cert_dir
        self.metrics = _server(
            serving.metrics_bind_address, "metrics", cert_dir=folder, access=guard if folder is not None else None
        )
        if self.metrics is not None and pages.metrics is not None:
            self.metrics.add("/metrics", pages.metrics)
        self.health = _server(serving.health_probe_bind_address, "health")
        if self.health is not None:
            for checks in health:
                self.health.add(f"/{checks.name}", _handler(checks))
        debug = self.metrics or self.health
        if debug is not None:
            protected = {
                controllers_page.PATH: pages.controllers,
                manager_page.MANAGER: pages.manager,
                manager_page.OBJECTS: pages.objects,
            }
            if serving.ui:
                document = yaml_page.guarded(pages.document, access.check_object)
                protected |= {manager_page.DETAILS: pages.details, yaml_page.PATH: document, **pages.more}
            if serving.profiling:
                protected[profiling.PATH] = pages.profile
            for path, page in protected.items():
                debug.add(path, page, guard=guard, guards_local=not serving.local_access)
            if serving.ui:
                debug.add(ui.PATH, ui.assets, public=True)
                debug.add(ui.PATH.rstrip("/"), ui.to_the_page, public=True)

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
