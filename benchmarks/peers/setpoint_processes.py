"""The program of processes.py: each reconcile writes its object once, so that the next one is due at once."""

from __future__ import annotations

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap


async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
    number = int((obj.data or {}).get("writes", "0")) + 1
    await ctx.client.patch(ConfigMap, obj.name, {"data": {"writes": str(number)}}, namespace=obj.namespace)


controller = sp.Controller(ConfigMap, reconcile, workers=8).needs(ConfigMap, "patch")

if __name__ == "__main__":
    sp.main(controller)
