"""The first release of the operator of examples/database: one version of the kind, and webhooks for it."""

from __future__ import annotations

import secrets

from database import labels_of, secret_of, service_of, stateful_set_of
from dbkinds import GROUP, DatabaseStatus, DatabaseV1alpha1Spec
from dbkinds import Database as Newer

import setpoint as sp
from setpoint.crd import Versions
from setpoint.models.apps_v1 import StatefulSet
from setpoint.models.core_v1 import Secret, Service


class Database(sp.CustomResource, group=GROUP, version="v1alpha1", short_names=("db",)):
    """A PostgreSQL database, as it was."""

    spec: DatabaseV1alpha1Spec = DatabaseV1alpha1Spec()
    status: DatabaseStatus = DatabaseStatus()


def fill_in(database: Database) -> None:
    database.metadata.annotations.setdefault(f"{GROUP}/seen", "yes")


def judge(database: Database, review: sp.Review[Database]) -> None:
    if review.old is not None and database.spec.size != review.old.spec.size:
        review.forbidden("spec.size", "the volume of a database keeps its size")


async def reconcile(database: Database, ctx: sp.Context) -> None:
    wanted = Versions.of(Newer).convert_object(database, Newer)  # the children are those of the next release
    if await ctx.get(Secret, secret_of(wanted)) is None:
        data = {"password": secrets.token_urlsafe(24)}
        await ctx.create(Secret.named(secret_of(wanted), labels=labels_of(wanted), string_data=data))
    await ctx.keep(Service, [service_of(wanted)])
    (result,) = await ctx.keep(StatefulSet, [stateful_set_of(wanted)])
    ctx.set_condition("Ready", result.status.ready_replicas == 1, "Serving")


controller = (
    sp.Controller(Database, reconcile)
    .owns(StatefulSet)
    .owns(Service)
    .watches(Secret, lambda head: [])
    .needs(Secret, "create")
)
admission = sp.Admission(Database).defaults(fill_in).validates(judge)

if __name__ == "__main__":
    sp.main(controller, admission)
