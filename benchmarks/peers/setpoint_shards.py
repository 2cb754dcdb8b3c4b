"""The program of shards.py: it reconciles pods, and a reconcile only reads its pod."""

from __future__ import annotations

import setpoint as sp
from setpoint.models.core_v1 import Pod


async def reconcile(pod: Pod, ctx: sp.Context) -> None:
    pass


controller = sp.Controller(Pod, reconcile, name="shards.bench.example.com")

if __name__ == "__main__":
    sp.main(controller)
