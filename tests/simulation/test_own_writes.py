"""The reads of a reconcile show its own writes under faults: children that it creates, patches and deletes."""

from __future__ import annotations

from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.meta import ObjectMeta
from setpoint.models.core_v1 import ConfigMap
from setpoint.simulation import Budget, Plan, always, check
from setpoint.simulation.faults.plan import fault
from setpoint.simulation.scenario.temporal_properties import Objects

WRONG: list[str] = []


class Data(sp.Model):
    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] | None = None


async def compare(ctx: sp.Context, name: str, value: str | None) -> None:
    """Notes each way to read that does not show the child with this value; None if it was deleted."""
    lister = ctx.lister(ConfigMap)
    shown = {
        "get": await ctx.get(ConfigMap, name),
        "list": next((obj for obj in await ctx.list(ConfigMap, selector="child=yes") if obj.name == name), None),
        "owned": next((obj for obj in ctx.owned(ConfigMap) if obj.name == name), None),
        "index": next((obj for obj in lister.list(index=("value", value or "x")) if obj.name == name), None),
        "as_": lister.try_get(name, ctx.object.namespace, as_=Data),
    }
    for way, obj in shown.items():
        actual = None if obj is None or obj.metadata.deletion_timestamp else (obj.data or {}).get("value")
        if actual != value:
            WRONG.append(f"{way} shows {actual}, not {value}")


async def reconcile(app: App, ctx: sp.Context) -> None:
    """Keeps as many children of generated names as the size says, with a value."""
    children = [child for child in ctx.owned(ConfigMap) if not child.is_deleting]
    while len(children) < app.spec.size:
        metadata = ObjectMeta(generate_name=f"{app.name}-", labels={"child": "yes"})
        created = await ctx.create(ConfigMap(metadata=metadata, data={"value": "new"}))
        await compare(ctx, created.name, "new")
        children = [child for child in ctx.owned(ConfigMap) if not child.is_deleting]
    for child in children[app.spec.size :]:
        await ctx.delete(child)
        await compare(ctx, child.name, None)
    wanted = "on" if app.spec.feature else "off"
    for child in ctx.owned(ConfigMap):
        if not child.is_deleting and (child.data or {}).get("value") != wanted:
            await ctx.patch(child, {"data": {"value": wanted}})
            await compare(ctx, child.name, wanted)


def controllers() -> list[sp.Controller[App]]:
    controller = sp.Controller(App, reconcile).owns(ConfigMap)
    return [controller.index("value", lambda child: (child.data or {}).get("value"), of=ConfigMap)]


async def scenario(cluster: sp.testing.Cluster) -> None:
    for size, feature in ((2, False), (3, True), (1, True)):
        await cluster.apply(App.named("one", "default", spec=AppSpec(size=size, feature=feature)))
        await cluster.settle()


def nothing_is_wrong(objects: Objects) -> bool:
    return not WRONG


def test_no_fault_hides_a_write_from_the_reads_of_its_reconcile() -> None:
    check(scenario, controllers, predicates=[always(nothing_is_wrong)], budget=Budget(runs=12))


async def make_again(app: App, ctx: sp.Context) -> None:
    """Replaces a child that was made for another size."""
    child = await ctx.get(ConfigMap, "child")
    if child is None:
        await ctx.create(ConfigMap.named("child", data={"size": str(app.spec.size)}))
    elif (child.data or {}).get("size") != str(app.spec.size) and not child.is_deleting:
        await ctx.delete(child)


async def change_size(cluster: sp.testing.Cluster) -> None:
    for size in (1, 2):
        await cluster.apply(App.named("one", "default", spec=AppSpec(size=size)))
        await cluster.settle()


def test_a_reconcile_follows_when_an_object_that_it_wrote_is_gone_before_the_cache_showed_it() -> None:
    """Neither its creation nor its deletion is an event for a cache that lists again after both."""
    unseen = Plan((fault("lag", "ADDED configmaps default/child #1", until="step", relist=True),))
    check(change_size, lambda: [sp.Controller(App, make_again).owns(ConfigMap)], replay=unseen.token(), workers=0)
