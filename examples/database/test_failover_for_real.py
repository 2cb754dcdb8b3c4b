"""The commands of failover.py, with two real servers: PostgreSQL of Debian, in processes of this machine."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from failover import BEGIN, Servers
from tests.ports import reserved_port

from setpoint.client import CommandResult

PATIENCE = 120.0
"""Seconds. Generous: the machine may be busy."""
FOLDERS = [
    *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True),
    Path(shutil.which("postgres") or "/").parent,
]
PATH = ":".join([*map(str, FOLDERS), os.environ["PATH"]])
NOBODY: dict[str, Any] = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
"""PostgreSQL refuses to be run by root."""
ENTRYPOINT = r"""#!/bin/sh
# As that of the image: it fills an empty volume.
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  echo "$POSTGRES_PASSWORD" > "$PGDATA.password"
  initdb --username=postgres --pwfile="$PGDATA.password" --auth=scram-sha-256 --pgdata="$PGDATA" --no-sync
fi
exec "$@" -c listen_addresses="$ADDRESS" -c unix_socket_directories="$SOCKETS" -c fsync=off
"""

pytestmark = [
    pytest.mark.generated,
    pytest.mark.skipif(shutil.which("pg_rewind", path=PATH) is None, reason="needs the package postgresql of Debian"),
    pytest.mark.skipif(sys.platform != "linux", reason="needs several addresses of this machine"),
]


class Machine:
    """Pods as processes: each has an address, a volume and a folder for its socket."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = str(port)
        (folder / "bin").mkdir()
        entrypoint = folder / "bin" / "docker-entrypoint.sh"
        entrypoint.write_text(ENTRYPOINT)
        entrypoint.chmod(0o755)
        self.servers = "several"
        self.running: dict[str, subprocess.Popen[Any]] = {}

    def address(self, pod: str) -> str:
        return f"127.0.0.{int(pod[-1]) + 2}"

    def environment(self, pod: str, primary: str) -> dict[str, str]:
        return {
            "PATH": f"{self.folder}/bin:{PATH}", "HOSTNAME": pod, "PRIMARY": self.address(primary),
            "PGDATA": f"{self.folder}/{pod}", "SOCKETS": str(self.folder / f"{pod}.sockets"), "PGPORT": self.port,
            "ADDRESS": self.address(pod), "POSTGRES_PASSWORD": "secret", "SERVERS": self.servers,
            "HOME": str(self.folder), "LC_ALL": "C",
        }  # fmt: skip

    def start(self, pod: str, primary: str) -> None:
        """Starts a server as its container does, where the Service leads to ``primary``."""
        for name in (pod, f"{pod}.sockets"):
            (self.folder / name).mkdir(mode=0o700, exist_ok=True)
            if NOBODY:
                shutil.chown(self.folder / name, NOBODY["user"])
        with (self.folder / f"{pod}.log").open("ab") as log:
            self.running[pod] = subprocess.Popen(
                ["/bin/bash", "-c", BEGIN], env=self.environment(pod, primary), stdout=log, stderr=log, **NOBODY
            )

    def kill(self, pod: str) -> None:
        """Ends a server at once, as SIGKILL does; its processes go with it."""
        process = self.running.pop(pod)
        process.send_signal(signal.SIGQUIT)
        process.wait(PATIENCE)

    def log(self) -> str:
        return "\n".join(
            f"--- {file.name}\n{file.read_text(encoding='utf-8')}" for file in sorted(self.folder.glob("*.log"))
        )

    async def exec(self, pod: str, command: Sequence[str], **options: Any) -> CommandResult:
        environment = {**self.environment(pod, pod), "PGHOST": str(self.folder / f"{pod}.sockets")}
        running = await asyncio.create_subprocess_exec(
            *command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **NOBODY
        )
        stdout, stderr = await running.communicate()
        assert running.returncode is not None
        return CommandResult(running.returncode, stdout, stderr)

    async def ask(self, pod: str, query: str) -> str:
        result = await self.exec(pod, ["psql", "--username=postgres", "-At", f"--command={query}"])
        return result.stdout.decode().strip()

    async def until(self, holds: Callable[[str], bool], pod: str, query: str = "select true") -> None:
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while not holds(await self.ask(pod, query)):
            assert asyncio.get_running_loop().time() < deadline, self.log()
            await asyncio.sleep(0.1)


@pytest.fixture
def machine() -> Iterator[Machine]:
    with reserved_port() as port, tempfile.TemporaryDirectory(prefix="setpoint-failover-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        machine_ = Machine(folder, port)
        try:
            yield machine_
        finally:
            for pod in [*machine_.running]:
                machine_.kill(pod)


def has(rows: str) -> Callable[[str], bool]:
    return lambda actual: actual == rows


async def test_a_standby_takes_over_and_the_former_primary_follows_it_without_what_it_had_not_sent(
    machine: Machine,
) -> None:
    servers, rows = Servers(cast("Any", machine)), "select string_agg(a::text, ',' order by a) from t"
    machine.servers = "1"
    machine.start("orders-0", primary="orders-0")
    await machine.until(has("t"), "orders-0")
    machine.servers = "several"  # a second one can copy the first before that is started anew
    await servers.promote("default", "orders-0")
    machine.start("orders-1", primary="orders-0")
    await machine.until(has("t"), "orders-1")
    await machine.ask("orders-0", "create table t (a int); insert into t values (1)")
    await machine.until(has("1"), "orders-1", rows)
    assert await machine.ask("orders-1", "select pg_is_in_recovery()") == "t"
    here, standby_position = (
        await servers.position("default", "orders-0"),
        await servers.position("default", "orders-1"),
    )
    assert here[0] == standby_position[0] == 1
    assert here >= standby_position

    machine.kill("orders-1")
    await machine.ask("orders-0", "insert into t values (666)")  # never sent
    machine.kill("orders-0")
    machine.start("orders-1", primary="orders-1")
    await machine.until(has("t"), "orders-1")
    assert await machine.ask("orders-1", "select pg_is_in_recovery()") == "t", "it begins as a standby"
    await servers.promote("default", "orders-1")
    await servers.promote("default", "orders-1")  # an answer was lost
    await machine.ask("orders-1", "insert into t values (2)")
    assert await machine.ask("orders-1", rows) == "1,2"

    machine.start("orders-0", primary="orders-1")
    await machine.until(has("1,2"), "orders-0", rows)
    assert await machine.ask("orders-0", "select pg_is_in_recovery()") == "t"
    here, standby_position = (
        await servers.position("default", "orders-0"),
        await servers.position("default", "orders-1"),
    )
    assert here[0] == standby_position[0] == 2

    machine.kill("orders-0")
    machine.servers = "1"
    machine.start("orders-0", primary="orders-0")
    await machine.until(has("f"), "orders-0", "select pg_is_in_recovery()")
    assert await machine.ask("orders-0", rows) == "1,2", "alone again, it is not a standby"
