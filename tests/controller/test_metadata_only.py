"""A controller that watches metadata alone works with every class, and loses nothing that it does not see."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import pytest

import setpoint as sp
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import cluster, virtual_time

from .world import Wires, config


class VaultSpec(sp.Model):
    name: Annotated[str, sp.Field(min_length=1)]
    every: sp.Duration


class VaultStatus(sp.ConditionedStatus):
    keys: int = 0


class Vault(sp.CustomResource, group="metadata.example.com", version="v1"):
    spec: VaultSpec
    status: VaultStatus = VaultStatus()


OTHER = sp.Condition(
    type="Other",
    status="True",
    reason="Set",
    message="by others",
    last_transition_time=datetime(2025, 1, 1, tzinfo=UTC),
)


def vault(name: str) -> Vault:
    return Vault.named(name, "default", spec=VaultSpec(name="x", every=sp.Duration(hours=1)))


async def set_status(world: Any) -> None:
    """Writes a status, as another program does, and changes a label, so the controller reconciles."""
    stored = await world.get(Vault, "a")
    stored.status = VaultStatus(keys=7, conditions=[OTHER])
    await world.client.update_status(stored)
    await world.client.patch(Vault, "a", {"metadata": {"labels": {"x": "y"}}})
    await world.settle(failing=True)


@pytest.mark.parametrize("fails", [False, True])
@virtual_time
async def test_it_leaves_the_status_as_it_is(fails: bool) -> None:
    events: list[str] = []

    async def reconcile(obj: Vault, ctx: sp.Context) -> None:
        events.append("reconcile")
        if fails:
            raise OSError("no")

    async def finalize(obj: Vault, ctx: sp.Context) -> None:
        events.append("finalize")

    controller = sp.Controller(Vault, reconcile, metadata_only=True).finalize(finalize)
    async with cluster(controller, control_plane=False, rbac=False) as world:
        await world.create(vault("a"))
        await world.settle(failing=True)
        await set_status(world)
        assert (await world.get(Vault, "a")).status == VaultStatus(keys=7, conditions=[OTHER])
        await world.client.delete(Vault, "a")
        await world.settle(failing=True)
        assert {*events} == {"reconcile", "finalize"}
        assert await world.list(Vault) == []


@virtual_time
async def test_a_condition_that_it_sets_stands_beside_those_of_others() -> None:
    async def reconcile(obj: Vault, ctx: sp.Context) -> None:
        ctx.set_condition("Seen", True, "Seen")

    wires = Wires()
    controller = sp.Controller(Vault, reconcile, metadata_only=True)
    async with cluster(controller, control_plane=False, rbac=False).over(wires) as world:
        await world.create(vault("a"))
        await world.settle()
        await set_status(world)
        status = (await world.get(Vault, "a")).status
        assert (status.keys, [condition.type for condition in status.conditions]) == (7, ["Other", "Seen"])
        written = len(wires.wire.writes())
        await world.client.patch(Vault, "a", {"metadata": {"labels": {"x": "z"}}})
        await world.settle()
        assert len(wires.wire.writes()) == written


def test_it_can_not_own_the_status() -> None:
    async def reconcile(obj: Vault, ctx: sp.Context) -> None:
        """Nothing to do."""

    with pytest.raises(ValueError, match="it can't own the status, which metadata_only hides"):
        sp.Controller(Vault, reconcile, metadata_only=True, owns_status=True)


@virtual_time
async def test_lists_and_indexes_have_every_object_of_another_kind() -> None:
    names: list[list[str]] = []

    async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
        listed = await ctx.list(Vault)
        labelled = await ctx.list(Vault, index=("label", "y"))
        one = await ctx.get(Vault, "a")
        names.append([item.name for item in (*listed, *labelled, *([one] if one else []))])

    controller = (
        sp.Controller(ConfigMap, reconcile)
        .reads(Vault, metadata_only=True)
        .index("label", lambda obj: obj.labels.get("x"), of=Vault)
    )
    async with cluster(controller, control_plane=False, rbac=False) as world:
        labelled = vault("b")
        labelled.labels["x"] = "y"
        await world.create(vault("a"))
        await world.create(labelled)
        await world.create(config("reader"))
        await world.settle()
        assert names[-1] == ["a", "b", "b", "a"]
