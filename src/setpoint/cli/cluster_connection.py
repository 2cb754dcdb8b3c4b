"""The server of a program: a cluster, or on request an embedded one, whose code is imported only then."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setpoint.apps.error_reports import UsageError
from setpoint.cli.run_flags import ClusterFlags
from setpoint.client import Client
from setpoint.crd import CustomResource
from setpoint.deploy.crds import definitions_of

if TYPE_CHECKING:
    from setpoint.cluster.embedded import EmbeddedCluster


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
    from setpoint.cluster.embedded import EmbeddedCluster

    async with EmbeddedCluster(address=("127.0.0.1", flags.port)) as cluster:
        for definition in _definitions(kinds, flags.crds):
            await cluster.install(definition)
        print(f"API server: {cluster.url}", file=sys.stderr)  # noqa: T201 - this is the user's terminal
        if flags.write_kubeconfig is not None:
            cluster.write_kubeconfig(flags.write_kubeconfig)
            print(f"try: kubectl --kubeconfig {flags.write_kubeconfig} get all -A", file=sys.stderr)  # noqa: T201
        yield cluster.client, cluster


def _definitions(kinds: Iterable[type[Any]], paths: Iterable[Path]) -> list[dict[str, Any]]:
    """The definitions of ``kinds``: those in the files, and for other kinds those that their classes amount to.

    Raises:
        UsageError: a file can't be read or has no definition.
    """
    from setpoint.crd.files import (
        DefinitionFileError,
        is_defined_in,
        read_definitions,
        warning_of_class,
        without_webhook,
    )

    try:
        from_files = [without_webhook(definition) for path in paths for definition in read_definitions(path)]
    except DefinitionFileError as problem:
        raise UsageError(f"--crds: {problem}") from None
    custom = [kind for kind in kinds if issubclass(kind, CustomResource) and not is_defined_in(from_files, kind)]
    for kind in custom:
        if kind.definition.installed_by:
            print(f"warning: {warning_of_class(kind, '--crds FILE')}", file=sys.stderr)  # noqa: T201
    return [*from_files, *definitions_of(custom)]
