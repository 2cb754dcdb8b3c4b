"""The parts of a manager's configuration that several arguments make up: what it serves, and how it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Final, Protocol

from setpoint.controller import RunningController
from setpoint.manager.http_server import Handler, split_address
from setpoint.manager.metrics import ProcessMetrics

SHUTDOWN_TIMEOUT: Final = 30.0
"""Seconds that a manager gives its runnables to stop, if its user does not say otherwise."""


class Browser(Protocol):
    """The pages of an API server in this process, which tell its objects, beside a manager's own."""

    def pages(self, controllers: Callable[[], Mapping[str, RunningController[Any]]]) -> Mapping[str, Handler]:
        """The handlers by their paths, given the manager's controllers."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """The HTTP servers of a manager. By default there are none.

    Args:
        metrics_bind_address: ``:8080`` for ``/metrics`` and ``/debug/controllers``; ``"0"`` is off.
        metrics_cert_dir: the folder of ``tls.crt`` and ``tls.key``, to serve those over TLS, and only to bearers of
            tokens whose user may ``get`` the path; new files are loaded. Without it ``/debug`` answers programs of this
            machine, over the loopback and by its name, and such bearers; forwarded requests of a proxy don't count as
            this machine's.
        metrics: the metrics to collect; by default new ones, if they are served.
        health_probe_bind_address: ``:8081`` for ``/healthz`` and ``/readyz``; ``"0"`` is off.
        profiling: serve ``/debug/profile``, too: CPU, heap, tasks (`setpoint.manager.profiling`).
        ui: serve ``/ui/``, too: a page for people, and ``/debug/details`` and ``/debug/yaml``, which it asks. Its
            files are for all callers, as they hold no data; where a token is required, the page asks for one.
        local_access: whether programs of this machine need no token (without ``metrics_cert_dir``).
        browser: further pages, with ``ui``: the objects of an API server in this process.

    Raises:
        ValueError: an address is invalid, or there is a certificate, profiling or the page without a server for it.
    """

    metrics_bind_address: str = "0"
    metrics_cert_dir: Path | None = None
    metrics: ProcessMetrics | None = None
    health_probe_bind_address: str = "0"
    profiling: bool = False
    ui: bool = False
    local_access: bool = True
    browser: Browser | None = None

    def __post_init__(self) -> None:
        has_metrics = split_address(self.metrics_bind_address) is not None
        has_health = split_address(self.health_probe_bind_address) is not None
        if self.metrics_cert_dir is not None and not has_metrics:
            raise ValueError("metrics_cert_dir is for the server of the metrics: give metrics_bind_address too")
        if self.profiling and not has_metrics and not has_health:
            raise ValueError("profiling is served beside the metrics: give metrics_bind_address too")
        if self.ui and not has_metrics and not has_health:
            raise ValueError("the page is served beside the metrics: give metrics_bind_address too")

    def collected(self) -> ProcessMetrics | None:
        """The metrics to collect; None if there are none."""
        if self.metrics is not None or split_address(self.metrics_bind_address) is None:
            return self.metrics
        metrics = ProcessMetrics()
        metrics.add_process()
        return metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """The clock and the random numbers of a manager, its name, and its patience.

    Args:
        now: the time of day, for what is written into objects.
        random: for jitter and names.
        instance: names this process in events.
        shutdown_timeout: seconds for the whole stop, before the rest is cancelled; None means for ever.
        blocked_after: seconds after which the event loop counts as blocked, as by ``time.sleep`` in a reconcile: then a
            thread reports which key blocks it, and where (`setpoint.manager.loop_watch`). None switches this off, as in
            virtual time; programs have 1.
    """

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    random: Random = field(default_factory=Random)
    instance: str = "setpoint"
    shutdown_timeout: float | None = SHUTDOWN_TIMEOUT
    blocked_after: float | None = None
