"""failover.py: which server of a database is the primary: the one whose pod has the label ``data.example.com/role``.

A server begins as a standby, whatever it was before; only a command in its container makes it the primary. The choice
is in the status before anything is done about it, and every step after that may be done twice.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from dbkinds import GROUP, Database

import setpoint as sp
from setpoint.client import ApiError, TransportError
from setpoint.models.core_v1 import Pod

ROLE, PRIMARY = f"{GROUP}/role", "primary"
PROMOTED = f"{GROUP}/promoted"
"""The run of the container that was made the primary: after a restart it is a standby again."""
CONTAINER = "postgres"

BEGIN = r"""set -e
export PGPASSWORD="$POSTGRES_PASSWORD"
from="host=$PRIMARY user=postgres"
if [ "$SERVERS" = 1 ]; then
  rm -f "$PGDATA/standby.signal"
elif [ -s "$PGDATA/PG_VERSION" ]; then
  if pg_isready --quiet --host="$PRIMARY"; then
    # For the recovery that pg_rewind does first: without them it would lose what it then needs.
    printf '%s\n' 'wal_log_hints = on' 'wal_keep_size = 1GB' >> "$PGDATA/postgresql.auto.conf"
    pg_rewind --target-pgdata="$PGDATA" --source-server="$from dbname=postgres"
  fi
  touch "$PGDATA/standby.signal"
elif [ "${HOSTNAME##*-}" != 0 ] || pg_isready --quiet --host="$PRIMARY"; then
  mkdir -p -m 0700 "$PGDATA"
  until pg_basebackup --dbname="$from" --pgdata="$PGDATA" --checkpoint=fast; do
    find "$PGDATA" -mindepth 1 -delete; sleep 1
  done
  touch "$PGDATA/standby.signal"
fi
hba="$(mktemp)"
printf '%s\n' 'local all all trust' 'host all all all scram-sha-256' 'host replication all all scram-sha-256' > "$hba"
exec docker-entrypoint.sh postgres -c hba_file="$hba" -c primary_conninfo="$from" \
  -c wal_log_hints=on -c wal_keep_size=1GB
"""
"""The command of a server. The only one of its database is never a standby; it lets a second one copy it."""
PROMOTE = "select case when pg_is_in_recovery() then pg_promote() else true end"
POSITION = """select greatest(timeline_id, min_recovery_end_timeline), pg_wal_lsn_diff(case when pg_is_in_recovery()
then greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) else pg_current_wal_lsn() end, '0/0')
from pg_control_checkpoint(), pg_control_recovery()"""


class CommandFailed(Exception):
    """A command in a server's container has failed."""


class Servers:
    """The servers, by commands in their containers."""

    def __init__(self, client: sp.Client) -> None:
        self._client = client

    async def promote(self, namespace: str, pod: str) -> None:
        """Makes the server of a pod the primary. One that is the primary stays so."""
        # The checkpoint shows pg_rewind on other servers that this one is on another timeline now.
        if (answer := await self._ask(namespace, pod, PROMOTE, "checkpoint")) != "t":
            raise CommandFailed(f"the server of {pod} is not the primary after pg_promote: {answer}")

    async def position(self, namespace: str, pod: str) -> tuple[int, int]:
        """The timeline that a server is on, and the place in it up to which it has what was written."""
        timeline, _, place = (await self._ask(namespace, pod, POSITION)).partition("|")
        return int(timeline), int(place)

    async def _ask(self, namespace: str, pod: str, *queries: str) -> str:
        command = ["psql", "--username=postgres", "--no-psqlrc", "--quiet", "-At", "-v", "ON_ERROR_STOP=1"]
        command += [f"--command={query}" for query in queries]
        try:
            result = await self._client.exec(pod, command, namespace=namespace, container=CONTAINER, timeout=90)
        except (ApiError, TransportError) as problem:
            raise CommandFailed(f"psql in {pod}: {problem}") from problem
        if result.exit_code:
            raise CommandFailed(f"psql in {pod}: {result.stderr.decode('utf-8', 'replace').strip()}")
        return result.stdout.decode().strip()


@asynccontextmanager
async def lifespan(program: sp.Program[None]) -> AsyncGenerator[Servers]:
    yield Servers(program.manager.client)


def labels_of(database: Database) -> dict[str, str]:
    return {"app.kubernetes.io/name": "database", "app.kubernetes.io/instance": database.name}


def is_up(pod: Pod | None) -> bool:
    return pod is not None and pod.is_ready and not pod.is_deleting


def is_primary(pod: Pod) -> bool:
    return pod.labels.get(ROLE) == PRIMARY


def run_of(pod: Pod) -> str:
    """The run of a pod's server, which changes with each restart of its container."""
    return next(
        (str(container.restart_count) for container in pod.status.container_statuses if container.name == CONTAINER), ""
    )


def names_of(database: Database) -> list[str]:
    return [f"{database.name}-{number}" for number in range(database.spec.replicas)]


def patience(database: Database, chosen: Pod | None, ctx: sp.Context) -> float:
    """The seconds for which the chosen server is waited for; 0 if another one is to be chosen now."""
    status, now = database.status, ctx.now()
    if status.primary not in names_of(database):
        return 0.0
    status.primary_lost = None if is_up(chosen) else min(status.primary_lost or now, now)
    if status.primary_lost is None:
        return database.spec.failover_after.total_seconds()
    return max((status.primary_lost + database.spec.failover_after - now).total_seconds(), 0.0)


async def choose(database: Database, pods: list[Pod], ctx: sp.Context) -> str:
    """The server that has most of what was written, and of equals the first; "" if none is up."""
    up = [name for name in names_of(database) if any(pod.name == name and is_up(pod) for pod in pods)]
    if len(up) < 2:
        return "".join(up)
    positions = {name: await ctx.state(Servers).position(database.namespace, name) for name in up}
    return max(up, key=lambda name: positions[name])


async def hand_over(database: Database, ctx: sp.Context) -> Pod | None:
    """Makes the chosen server the primary, and shows it by the label, after the label is gone from all others.

    The pod of an earlier primary is deleted: its server may not know that it is one no more, and begins as a standby.
    """
    await ctx.ensure_current()
    selector, several = labels_of(database), database.spec.replicas > 1
    pods = await ctx.client.list(Pod, namespace=database.namespace, selector=selector)  # no cache: it may be behind
    for pod in pods.items:
        if is_primary(pod) and pod.name != database.status.primary:
            if several and not pod.is_deleting:
                await ctx.delete(pod)
            await mark(pod, {"labels": {ROLE: None}}, ctx)
    chosen = next((pod for pod in pods.items if pod.name == database.status.primary), None)
    if chosen is None or not is_up(chosen):
        return None
    if several:
        await ctx.state(Servers).promote(database.namespace, chosen.name)
    return await mark(chosen, {"labels": {ROLE: PRIMARY}, "annotations": {PROMOTED: run_of(chosen)}}, ctx)


async def mark(pod: Pod, metadata: dict[str, dict[str, str | None]], ctx: sp.Context) -> Pod:
    """Changes the very pod that was looked at."""
    return await ctx.patch(pod, {"metadata": {**metadata, "uid": pod.uid}})


async def keep_primary(database: Database, ctx: sp.Context) -> tuple[Pod | None, float | None]:
    """The pod of the primary, None if there is none now; and the seconds after which to look again."""
    status = database.status
    pods = await ctx.list(Pod, selector=labels_of(database))
    chosen = next((pod for pod in pods if pod.name == status.primary), None)
    patience_left = patience(database, chosen, ctx)
    if not patience_left:
        await ctx.ensure_current()
        if not (successor := await choose(database, pods, ctx)):
            return None, None
        if successor != status.primary:
            ctx.event("Normal", "Chosen", f"the server of {successor} is the primary from now on")
        status.primary, status.primary_lost = successor, None
        return None, 0.0
    if chosen is None or not is_up(chosen):
        return None, patience_left
    marked = [pod.name for pod in pods if is_primary(pod)]
    if marked == [chosen.name] and chosen.annotations.get(PROMOTED) == run_of(chosen):
        return chosen, None
    return await hand_over(database, ctx), None
