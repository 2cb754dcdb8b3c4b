"""A controller of apps with children, a status and a clean-up: correct, and hit by faults in several tests."""

from __future__ import annotations

from tests.simulation.kinds import App

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap, Secret


async def reconcile(app: App, ctx: sp.Context) -> None:
    maps = [ConfigMap.named(f"{app.name}-{number}") for number in range(app.spec.size)]
    await ctx.keep(ConfigMap, maps)
    await ctx.apply(Secret.named(f"of-{app.name}", labels={"app": app.name}), controlled=False)
    app.status.note = f"{len(maps)} maps"


async def finalize(app: App, ctx: sp.Context) -> None:
    for secret in await ctx.list(Secret, selector={"app": app.name}):
        await ctx.delete(secret)


def controllers() -> list[sp.Controller[App]]:
    return [sp.Controller(App, reconcile).owns(ConfigMap).reads(Secret).finalize(finalize)]
