"""``setpoint server``: runs the embedded API server in the foreground."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from setpoint.apiserver.resources.service_networks import service_networks
from setpoint.apiserver.storage import back_up
from setpoint.apps.error_reports import UsageError
from setpoint.apps.program_runner import run
from setpoint.cli.manifest_files import apply_manifests, manifests_in
from setpoint.cli.server_flags import PlaneFlags
from setpoint.cluster.controller_registry import UnknownControllerError
from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.cluster.server_security import Security
from setpoint.manager.logging import configure
from setpoint.models.history import VersionError
from setpoint.starting import freeze_heap


def serve(
    *,
    host: str,
    port: int,
    kubeconfig: Path | None,
    data_dir: Path | None,
    manifests: Path | None = None,
    plane: PlaneFlags,
    ui: str = "0",
    security: Security | None = None,
) -> None:
    """Serves until a signal arrives. When the server is ready and has the objects of ``manifests``, prints its URL and
    the URL of the page, if there is one; without ``kubeconfig``, also prints the flag that writes one. If
    ``kubeconfig`` is ``-``, prints the kubeconfig, and the rest as comments in it.

    ``plane`` also has the version of the server's kinds and fields. Without ``security`` the server serves plain HTTP.
    ``ui`` is the address of the page, or ``"0"`` for none.

    Raises:
        UsageError: the control plane has a name that does not exist, a negative number of nodes, a version that the
            server can't be or networks that are not valid, ``data_dir`` is a file, the page's address is invalid, or
            ``manifests`` can't be read or applied.
    """
    configure("text", "WARNING")
    if isinstance(plane.nodes, int) and plane.nodes < 0:
        raise UsageError(f"--nodes: must be 0, a greater number or local, not {plane.nodes}")
    if plane.nodes == "local" and sys.platform == "win32":
        raise UsageError("--nodes: local needs process groups, which Windows lacks: name a number of hollow nodes")
    if data_dir is not None and data_dir.exists() and not data_dir.is_dir():
        raise UsageError(f"--data-dir: {data_dir} is a file; name a directory, which may be missing or empty")
    texts = plane.service_cluster_ip_range.split(",") if plane.service_cluster_ip_range else ()
    try:
        networks = service_networks(texts)
    except ValueError as problem:
        raise UsageError(f"--service-cluster-ip-range: {problem}") from None
    first = [] if manifests is None else manifests_in(manifests)

    try:
        cluster = EmbeddedCluster(
            address=(host, port),
            data_dir=data_dir,
            control_plane=False if plane.names is None else plane.names,
            nodes=plane.nodes,
            security=security,
            default_objects=True,
            ui=ui,
            kubernetes=plane.kubernetes,
            service_networks=networks,
        )
    except UnknownControllerError as problem:
        raise UsageError(f"--controllers: {problem}") from None
    except VersionError as problem:
        raise UsageError(f"--kubernetes: {problem}") from None
    except ValueError as problem:
        raise UsageError(f"--ui-bind-address: {problem}") from None

    async def work() -> None:
        async with cluster:
            await apply_manifests(cluster, first)
            printed = str(kubeconfig) == "-"
            if printed:
                print(cluster.kubeconfig_text(), flush=True)  # noqa: T201
            elif kubeconfig is not None:
                cluster.write_kubeconfig(kubeconfig)
            storage = f"objects in {data_dir}" if data_dir else "objects in memory"
            lines = [f"serving Kubernetes {plane.kubernetes} at {cluster.url} ({storage})"]
            if manifests is not None:
                lines.append(f"{len(first)} {'object' if len(first) == 1 else 'objects'} of {manifests} applied")
            if cluster.page_url:
                lines.append(f"the page: {cluster.page_url}")
            if kubeconfig is None:
                lines.append("kubectl needs a kubeconfig: --write-kubeconfig FILE writes one")
            for line in lines:
                print(f"{'# ' if printed else ''}setpoint: {line}", flush=True)  # noqa: T201
            freeze_heap()
            await asyncio.Event().wait()

    run("setpoint", work())


def copy(data_dir: Path | None, file: Path) -> None:
    """Copies the database in ``data_dir`` to ``file``, and prints where the copy is.

    Raises:
        StorageError: there is no database, it is damaged, or the copy can't be written.
        UsageError: there is no ``data_dir``.
    """
    if data_dir is None:
        raise UsageError("--backup copies the database of a data directory: name it with --data-dir")
    back_up(data_dir, file)
    print(f"setpoint: the objects in {data_dir} are copied to {file}")  # noqa: T201
