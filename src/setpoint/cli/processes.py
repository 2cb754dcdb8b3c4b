"""``run --processes``: turns a program into a supervisor and its child processes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from setpoint.manager import Manager
from setpoint.manager.debug_pages.controllers_page import PATH as CONTROLLERS
from setpoint.manager.debug_pages.manager_page import DETAILS, OBJECTS
from setpoint.manager.debug_pages.profiling import PATH as PROFILE
from setpoint.manager.debug_pages.yaml_page import PATH as DOCUMENT
from setpoint.manager.processes import Launcher, Parent, ParentLease
from setpoint.manager.processes.merged_pages import METRICS, exported
from setpoint.manager.processes.messages import State
from setpoint.manager.processes.parent_link import Seat

if TYPE_CHECKING:
    from setpoint.cluster.embedded import EmbeddedCluster


def launcher() -> Launcher:
    """A launcher that starts child processes with the command of this process, so that they run the same program."""
    return Launcher([sys.executable, *sys.orig_argv[1:]])


def connect(manager: Manager, seat: Seat, lease: ParentLease) -> None:
    """Connects the manager of a child process to the supervisor."""

    def state() -> State:
        return State(
            started=manager.started.is_set(),
            healthz=manager.healthz.problems(),
            readyz=manager.readyz.problems(),
            under_way=manager.under_way(),
        )

    manager_pages = manager.pages
    pages = {
        CONTROLLERS: manager_pages.controllers,
        OBJECTS: manager_pages.objects,
        DETAILS: manager_pages.details,
        DOCUMENT: manager_pages.document,
        PROFILE: manager_pages.profile,
    }
    if manager.metrics is not None:
        registry = manager.metrics.registry
        pages[METRICS] = lambda _path, _query, _headers: exported(registry)
    manager.add(Parent(seat, lease, state=state, stop=manager.stop, pages=pages))


@contextmanager
def shared_with(launch: Launcher | None, cluster: EmbeddedCluster | None) -> Iterator[None]:
    """Within the ``with`` block, child processes use this process's embedded server, if there is one."""
    if launch is None or cluster is None:
        yield
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="setpoint-") as folder:
        file = Path(folder) / "kubeconfig"
        cluster.write_kubeconfig(file)
        launch.kubeconfig = str(file)
        yield


def kubeconfig_of(seat: Seat) -> Path | None:
    """The kubeconfig file of the embedded server that the supervisor has started; None if there is none."""
    return Path(seat.kubeconfig) if seat.kubeconfig else None
