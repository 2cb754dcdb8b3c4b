"""The server of a program: a cluster, or on request an embedded one, whose code is imported only then."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from setpoint.cli.run_flags import ClusterFlags
from setpoint.client import Client
from setpoint.deploy.definitions import definitions_of

if TYPE_CHECKING:
    from setpoint.cluster.embedded_cluster import EmbeddedCluster

__all__ = ["connected"]


@asynccontextmanager
async def connected(
    flags: ClusterFlags, kinds: Iterable[type[Any]], field_manager: str
) -> AsyncIterator[tuple[Client, EmbeddedCluster | None]]:
    """A client of the server that the flags name. With ``--embedded`` also the embedded server, in which the
    definitions of ``kinds`` are installed.
    """
    if not flags.embedded:
        async with Client.from_environment(
            flags.kubeconfig, context=flags.context, field_manager=field_manager
        ) as client:
            yield client, None
        return
    from setpoint.cluster.embedded_cluster import EmbeddedCluster

    async with EmbeddedCluster(port=flags.port) as cluster:
        for definition in definitions_of(kinds):
            await cluster.install(definition)
        print(f"API server: {cluster.url}", file=sys.stderr)  # noqa: T201 - this is the user's terminal
        if flags.write_kubeconfig is not None:
            cluster.write_kubeconfig(flags.write_kubeconfig)
            print(f"try: kubectl --kubeconfig {flags.write_kubeconfig} get all -A", file=sys.stderr)  # noqa: T201
        yield cluster.client, cluster
