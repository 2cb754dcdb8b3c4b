"""The ``chronos`` command."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Literal, TextIO

from cyclopts import App, Parameter
from cyclopts.validators import Number

from setpoint.apps.chronos.controller import Chronos
from setpoint.apps.chronos.entry import Entry
from setpoint.apps.error_reports import reported
from setpoint.apps.program_runner import run
from setpoint.cache import InformerFactory
from setpoint.client import Client
from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.manager.logging import configure
from setpoint.meta import ObjectKey
from setpoint.meta.text_escaping import visible
from setpoint.models.core_v1 import Pod

Output = Literal["text", "json", "yaml"]

SYNC_TIMEOUT = 30.0
"""The first list may take this many seconds. After that, Chronos fails with the server's last answer."""

app = App(name="chronos", help="Log every create, update and delete of Pods, one line each.", version_flags=[])
logger = logging.getLogger("setpoint.chronos")


@app.default
def chronos(
    *,
    kubeconfig: Annotated[Path | None, Parameter(name=["--kubeconfig", "-k"])] = None,
    context: str | None = None,
    embedded: Annotated[bool, Parameter(negative="")] = False,
    namespace: Annotated[str | None, Parameter(name=["--namespace", "-n"])] = None,
    selector: Annotated[str | None, Parameter(name=["--selector", "-l"])] = None,
    output: Annotated[Output, Parameter(name=["--output", "-o"])] = "text",
    workers: Annotated[int, Parameter(validator=Number(gte=1))] = 2,
    resync: Annotated[float, Parameter(validator=Number(gte=0))] = 0,
    max_retries: Annotated[int, Parameter(validator=Number(gte=0))] = 5,
) -> None:
    """Watch Pods and log their changes, until Ctrl-C.

    Parameters
    ----------
    kubeconfig
        The kubeconfig to use; default: KUBECONFIG, ~/.kube/config, or the pod this runs in.
    context
        The kubeconfig's context to use.
    embedded
        Start an API server in this process and watch its Pods; the URL is printed.
    namespace
        Watch only this namespace; default: all.
    selector
        Watch only Pods with these labels, such as app=web,tier!=db.
    output
        text for a line per change; json for a JSON object per line, with the whole Pod as ``object``; yaml for a
        document per change: the line as a comment, and the whole Pod.
    workers
        The number of Pods processed concurrently.
    resync
        Seconds after which every Pod is checked again; 0 means never. Unchanged Pods are not logged again.
    max_retries
        The number of retries before a Pod whose line could not be written is dropped.
    """
    configure("text", "WARNING").addFilter(_NotTwice())

    async def work() -> None:
        async with _client(kubeconfig, context, embedded) as client:
            await watch(
                client,
                sys.stdout,
                namespace=namespace,
                selector=selector,
                output=output,
                workers=workers,
                resync=resync,
                max_retries=max_retries,
            )

    run("chronos", work())


async def watch(
    client: Client,
    stream: TextIO,
    *,
    namespace: str | None = None,
    selector: str | None = None,
    output: Output = "text",
    workers: int = 2,
    resync: float = 0,
    max_retries: int = 5,
) -> None:
    """Logs the Pods of ``client``'s server to ``stream`` until it is cancelled.

    Raises:
        ApiError: the server refuses to list Pods; the message is the server's.
        TransportError: the server can't be reached.
        CacheSyncError: the first list failed and is not retried.
    """
    # A refusal ends the program at once, not after the informer's retries; later outages are waited out.
    await client.list(Pod, namespace=namespace, selector=selector, limit=1)

    async def write(entry: Entry) -> None:
        match output:
            case "json":
                lines = entry.json()
            case "yaml":
                lines = entry.yaml()
            case "text":
                lines = visible(entry.text())
        stream.write(lines + "\n")
        stream.flush()

    def dropped(key: ObjectKey, problem: Exception) -> None:
        logger.error("dropping pod %s after %d retries: %s", key, max_retries, problem)

    async with InformerFactory(client, sync_timeout=SYNC_TIMEOUT) as factory:
        pods = factory.informer(Pod, namespace=namespace, selector=selector)
        controller = Chronos(pods, write, workers=workers, resync=resync, max_retries=max_retries, on_drop=dropped)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(controller.run(), name="chronos")
            await factory.wait_for_cache_sync()
            await running


@asynccontextmanager
async def _client(kubeconfig: Path | None, context: str | None, embedded: bool) -> AsyncIterator[Client]:
    if not embedded:
        async with Client.from_environment(kubeconfig, context=context, field_manager="chronos") as client:
            yield client
        return
    async with EmbeddedCluster() as cluster:
        print(f"chronos: watching the embedded API server at {cluster.url}", file=sys.stderr)  # noqa: T201
        yield cluster.client


class _NotTwice(logging.Filter):
    """Drops a log message that repeats the one just before it, so an outage is logged as one line, not as one line for
    each attempt.
    """

    def __init__(self) -> None:
        super().__init__()
        self._last = ""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        new, self._last = message != self._last, message
        return new


def main() -> None:
    """Runs the ``chronos`` command with the arguments of the process. The console script calls it by way of
    `setpoint.starting`.
    """
    with reported("chronos"):
        app()
