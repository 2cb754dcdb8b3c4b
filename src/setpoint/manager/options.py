"""The settings of a manager: `Serving` for its servers, `ManagerOptions` for its clock and time limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Final, Protocol

from setpoint.cache import WatchOptions
from setpoint.controller import RunningController
from setpoint.manager.http_server import Handler, split_address
from setpoint.manager.metrics import ProcessMetrics

SHUTDOWN_TIMEOUT: Final = 30.0
"""The default number of seconds that a manager gives its runnables to stop."""


class Browser(Protocol):
    """Pages that show the objects of an API server in this process, in addition to a manager's own pages."""

    def pages(self, controllers: Callable[[], Mapping[str, RunningController[Any]]]) -> Mapping[str, Handler]:
        """The handlers by path, for a manager with these controllers."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """The HTTP servers of a manager. By default there are none.

    Args:
        metrics_bind_address: address, such as ``:8080``, for ``/metrics`` and the pages below ``/debug``; ``"0"`` is
            off.
        metrics_cert_dir: folder of ``tls.crt`` and ``tls.key``; new files are loaded. With it, the pages are served
            over TLS, and require a bearer token whose user may ``get`` the path. Without it, ``/debug`` requires such
            a token except from programs on this machine (see `setpoint.manager.http_server.is_local`).
        metrics: metrics to collect; by default new metrics, if they are served.
        health_probe_bind_address: address, such as ``:8081``, for ``/healthz`` and ``/readyz``; ``"0"`` is off.
        profiling: whether to serve ``/debug/profile``, too: CPU, heap, tasks (`debug_pages.profiling`).
        ui: whether to serve ``/ui/``, too: a web page, with ``/debug/details`` and ``/debug/yaml``, from which it
            reads. Its files are open to all callers, because they contain no data; where a token is required, the
            page asks for one.
        local_access: whether programs on this machine may call without a token (only without ``metrics_cert_dir``).
        browser: further pages for ``ui``, which show the objects of an API server in this process.

    Raises:
        ValueError: an address is invalid, or there is no server for the certificate, the profiles or the page.
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
class ManagerOptions:
    """The clock, random numbers, name and time limits of a manager.

    Args:
        now: function that returns the time of day, for timestamps in objects.
        random: random numbers for jitter and names.
        instance: name of this process in events.
        shutdown_timeout: seconds for a complete stop, after which the remaining work is cancelled; None means no
            limit.
        watch_options: how the caches of the manager's own cluster list and watch.
        blocked_after: seconds after which the event loop counts as blocked, for example by ``time.sleep`` in a
            reconcile. A thread then reports the blocking key and the line of code (`setpoint.manager.loop_watchdog`).
            None switches the watch off, as in virtual time; the command ``run`` uses 1.
        resync: seconds after which every object is reconciled again, for controllers that declare no period
            (``Controller(resync=...)``); 0 for never.
        pause_switch: name of the ConfigMap in the client's namespace in which people pause whole controllers
            (`setpoint.manager.pause_switch`); None for none.
    """

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    random: Random = field(default_factory=Random)
    instance: str = "setpoint"
    shutdown_timeout: float | None = SHUTDOWN_TIMEOUT
    watch_options: WatchOptions | None = None
    blocked_after: float | None = None
    pause_switch: str | None = None
    resync: float = 0.0
