"""The replacement for ``etcd``: it reports that it is healthy, and tells `setpoint.apps.envtest.kube_apiserver` in
which directory to store objects. It stores no objects itself.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from setpoint.apps.envtest.flags import Flag, FlagError, help_text, http_address, parse

DIRECTORY = "/setpoint/data-dir"
"""The path under which the directory is served; etcd itself has no such path."""
_ABOUT = "Replaces etcd for setpoint's kube-apiserver: keeps the directory in which objects are stored."
_TEXTS = (
    *("advertise-client-urls", "initial-advertise-peer-urls", "initial-cluster", "initial-cluster-state"),
    *("initial-cluster-token", "listen-metrics-urls", "listen-peer-urls", "log-format", "log-level", "log-outputs"),
    *("logger", "name", "auto-compaction-mode", "auto-compaction-retention", "wal-dir", "metrics", "feature-gates"),
)
_NUMBERS = (
    *("election-timeout", "heartbeat-interval", "max-request-bytes", "max-snapshots", "max-txn-ops", "max-wals"),
    *("quota-backend-bytes", "snapshot-count"),
)
FLAGS = {
    "data-dir": Flag("text", "the directory in which objects are kept; created if it is missing (default.etcd)"),
    "listen-client-urls": Flag("list", "the URLs to listen on, http://HOST:PORT (http://localhost:2379)"),
    "unsafe-no-fsync": Flag("bool", "accepted: objects survive the end of the programs, not always a loss of power"),
    **{name: Flag("text") for name in _TEXTS},
    **{name: Flag("int") for name in _NUMBERS},
    **dict.fromkeys(("force-new-cluster", "pre-vote", "strict-reconfig-check", "enable-pprof"), Flag("bool")),
    "version": Flag("bool", "print the version and exit"),
    "help": Flag("bool", "print this help and exit"),
}


def main(arguments: Sequence[str]) -> int:
    """Runs until SIGTERM or SIGINT, and returns the exit status."""
    try:
        flags = parse(FLAGS, ["--help" if argument == "-h" else argument for argument in arguments])
        if flags.true("help", False):
            print(help_text("etcd", _ABOUT, FLAGS))  # noqa: T201
            return 0
        if flags.true("version", False):
            print("etcd Version: 3.6.0\nsetpoint's replacement for it")  # noqa: T201
            return 0
        directory = Path(flags.text("data-dir", "default.etcd")).absolute()
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        asyncio.run(_until_stopped(flags.several("listen-client-urls") or ["http://localhost:2379"], directory))
    except (FlagError, OSError) as problem:
        print(f"etcd: {problem}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


async def _until_stopped(urls: Sequence[str], directory: Path) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with answering(urls, directory):
        await stopped.wait()


@asynccontextmanager
async def answering(urls: Sequence[str], directory: Path) -> AsyncIterator[list[int]]:
    """Serves HTTP at ``urls`` within the block, and yields the ports; port 0 in a URL picks a free one.

    Raises:
        FlagError: a URL is not of the form http://HOST:PORT.
        OSError: a port is taken.
    """
    answers = {
        "/health": {"health": "true", "reason": ""},
        "/version": {"etcdserver": "3.6.0", "etcdcluster": "3.6.0"},
        DIRECTORY: {"directory": str(directory)},
    }

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(5):
                head = await reader.readuntil(b"\r\n\r\n")
                parts = head.split(b" ", 2)
                answer = answers.get(parts[1].decode("latin-1").partition("?")[0]) if len(parts) == 3 else None
                body = json.dumps(answer).encode() if answer else b"404 page not found\n"
                status = b"200 OK" if answer else b"404 Not Found"
                writer.write(b"HTTP/1.1 %s\r\nContent-Type: application/json\r\n" % status)
                writer.write(b"Content-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body))
                await writer.drain()
        except (TimeoutError, ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client is gone
        finally:
            writer.close()

    ports: list[int] = []
    async with AsyncExitStack() as stack:
        for url in urls:
            server = await asyncio.start_server(answer, *http_address("listen-client-urls", url))
            await stack.enter_async_context(server)
            ports.append(server.sockets[0].getsockname()[1])
        yield ports


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
