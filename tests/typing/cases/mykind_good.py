"""A controller of one's own kind that no type checker may blame, and the types that it must see."""

from __future__ import annotations

from typing import assert_type

from mykind import Mykind, MykindSpec, MykindStatus

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap, Pod


async def reconcile(mykind: Mykind, ctx: sp.Context) -> sp.Outcome:
    assert_type(mykind.spec, MykindSpec)
    assert_type(mykind.status.ready, int)
    assert_type(ctx.owned(Pod), list[Pod])
    assert_type(await ctx.get(ConfigMap, "settings"), ConfigMap | None)
    assert_type(await ctx.list(Pod, selector={"app": "web"}), list[Pod])
    assert_type(await ctx.apply(Pod.named("a")), Pod)
    if mykind.is_deleting:
        return sp.after(30, "waiting for the last pod")
    return sp.retry("not yet")


def users_of(head: sp.Head) -> list[sp.ObjectKey]:
    return [sp.ObjectKey.of(head.namespace, head.labels["user"])]


sp.Controller(Mykind, reconcile, workers=2).owns(Pod).watches(ConfigMap, users_of)
assert_type(Mykind.named("a", spec=MykindSpec(numpods=2), status=MykindStatus()), Mykind)
