"""databases.py: a Database whose password is in a Secret: which Databases refer to a Secret is an index, kept with the
cache.

python examples/databases.py run --embedded
"""

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap, Secret


class DatabaseSpec(sp.Model):
    password_secret: str = ""


class DatabaseStatus(sp.ConditionedStatus):
    password_version: str = ""


class Database(sp.CustomResource, group="db.example.com", version="v1"):
    """A database, and the Secret that its password is in."""

    spec: DatabaseSpec = DatabaseSpec()
    status: DatabaseStatus = DatabaseStatus()


def secrets_of(database: Database) -> list[str]:
    """The keys of the Secrets that a Database refers to: the values by which it is found."""
    return [f"{database.namespace}/{database.spec.password_secret}"]


def databases_of(secret: sp.Head, caches: sp.CacheReader) -> list[sp.ObjectKey]:
    """The keys of the Databases to reconcile when a Secret has changed."""
    return caches.lister(Database).keys(index=("secret", secret.key))


async def reconcile(database: Database, ctx: sp.Context) -> None:
    """Says in a ConfigMap how to connect, and in the status which version of the password is in use."""
    if not database.spec.password_secret:
        ctx.set_condition("Ready", False, "NoSecret", "spec.passwordSecret names no Secret")
        return
    secret = await ctx.get(Secret, database.spec.password_secret)
    if secret is None:
        ctx.set_condition("Ready", False, "NoSecret", f"there is no Secret {database.spec.password_secret}")
        return
    data = {"host": f"{database.name}.{database.namespace}.svc", "passwordIn": secret.name}
    await ctx.keep(ConfigMap, [ConfigMap.named(database.name, data=data)])
    database.status.password_version = secret.metadata.resource_version
    ctx.set_condition("Ready", True, "Connected")


controller = (
    sp.Controller(Database, reconcile).index("secret", secrets_of).watches(Secret, databases_of).owns(ConfigMap)
)

if __name__ == "__main__":
    sp.main(controller)
