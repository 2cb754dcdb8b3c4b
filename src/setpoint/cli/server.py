"""``setpoint server``: the embedded API server in the foreground."""

from __future__ import annotations

import asyncio
from pathlib import Path

from setpoint.apps.running import run
from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.manager.logging import configure


def serve(*, host: str, port: int, kubeconfig: Path | None, data_dir: Path | None, control_plane: bool) -> None:
    """Serves until a signal arrives; prints one line with the URL when it is ready."""
    configure("text", "WARNING")

    async def work() -> None:
        async with EmbeddedCluster(host=host, port=port, data_dir=data_dir, control_plane=control_plane) as cluster:
            if kubeconfig is not None:
                cluster.write_kubeconfig(kubeconfig)
            kept = f"objects in {data_dir}" if data_dir else "objects in memory"
            print(f"setpoint: serving Kubernetes 1.37 at {cluster.url} ({kept})", flush=True)  # noqa: T201
            await asyncio.Event().wait()

    run("setpoint", work())
