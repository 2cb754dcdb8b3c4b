"""`Context.keep` on a cache that may begin with a state from before the program's start."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from setpoint.controller.children import Children
from setpoint.controller.context import Context
from setpoint.controller.failures import Outdated
from setpoint.crd import crd_for
from setpoint.meta import resource_of
from setpoint.models.core_v1 import Namespace
from setpoint.testing import cluster, virtual_time

from .world import Widget, widget


def looking(world: Any, owner: Widget, *, age: float | None = 1.0, old: bool = True, declared: bool = True) -> Any:
    """As much of a `Children` as looks at its owner."""
    resource = resource_of(Widget)
    made: Any = object.__new__(Children)
    informers = {resource.gvr: SimpleNamespace(may_begin_old=old)} if declared else {}
    made._env = SimpleNamespace(resource=resource, informers=informers, client=world.client)
    made._context = Context(made._env, SimpleNamespace(), owner, (), wrote=lambda *_: None, age=age)  # type: ignore[arg-type]
    return made


@virtual_time
async def test_an_owner_that_is_not_what_the_cache_shows_deletes_nothing() -> None:
    async with cluster(control_plane=False, crds=[crd_for(Widget)]) as world:
        await world.create(Namespace.named("other"))
        seen = await world.create(widget(namespace="other"))
        await looking(world, seen)._look_again()
        newer = await world.get(Widget, "a", namespace="other")
        newer.spec.size = 9
        newer = await world.update(newer)
        with pytest.raises(Outdated, match="Widget other/a is not what the cache shows any more"):
            await looking(world, seen)._look_again()
        await looking(world, newer)._look_again()
        await world.delete(newer)
        with pytest.raises(Outdated):
            await looking(world, newer)._look_again()


@pytest.mark.parametrize("how", [{"age": None}, {"old": False}, {"declared": False}])
@virtual_time
async def test_what_was_read_live_or_listed_anew_is_not_asked_for_once_more(how: dict[str, Any]) -> None:
    async with cluster(control_plane=False, crds=[crd_for(Widget)]) as world:
        seen = await world.create(widget())
        await world.delete(seen)
        await looking(world, seen, **how)._look_again()
