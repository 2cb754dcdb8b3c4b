"""backups.py: for each Backup, runs a command in a pod of the database and notes how much it wrote.

python examples/backups.py run --embedded
"""

from __future__ import annotations

import setpoint as sp
from setpoint.models.core_v1 import Pod


class BackupSpec(sp.Model):
    database: str
    """The database: its pods have the label ``app`` with this value."""


class BackupStatus(sp.ConditionedStatus):
    pod: str = ""
    bytes: int = 0


class Backup(sp.CustomResource, group="db.example.com", version="v1"):
    """One backup of a database; it is made once."""

    spec: BackupSpec
    status: BackupStatus = BackupStatus()


async def reconcile(backup: Backup, ctx: sp.Context) -> sp.Outcome:
    if any(condition.type == "Complete" and condition.status == "True" for condition in backup.status.conditions):
        return sp.done()
    pods = await ctx.list(Pod, selector={"app": backup.spec.database})
    ready = next((pod for pod in pods if pod.is_ready and not pod.is_deleting), None)
    if ready is None:
        ctx.set_condition("Complete", False, "NoPod", f"no pod of {backup.spec.database} is ready")
        return sp.done()  # a pod that becomes ready is an event, see below
    result = await ctx.client.exec(ready, ["pg_dump", "--format=custom"], timeout=600)
    if result.exit_code:
        ctx.set_condition("Complete", False, "DumpFailed", result.stderr.decode("utf-8", "replace").strip())
        return sp.retry("pg_dump failed", after=30)
    backup.status.pod, backup.status.bytes = ready.name, len(result.stdout)
    ctx.set_condition("Complete", True, "Dumped")
    ctx.event("Normal", "Dumped", f"pg_dump in {ready.name} wrote {len(result.stdout)} bytes")
    return sp.done()


def backups_of(pod: sp.Head, caches: sp.CacheReader) -> list[sp.ObjectKey]:
    """The backups of the database that a pod belongs to."""
    backups = caches.lister(Backup)
    return backups.keys(index=("database", f"{pod.namespace}/{pod.labels['app']}")) if "app" in pod.labels else []


controller = (
    sp.Controller(Backup, reconcile)
    .index("database", lambda backup: f"{backup.namespace}/{backup.spec.database}")
    .watches(Pod, backups_of)
    .needs(Pod, "get", "create", subresource="exec")
)

if __name__ == "__main__":
    sp.main(controller)
