"""Finalizers: resources that are left behind, and objects that are never released."""

from __future__ import annotations

from typing import Any

from tests.simulation.corpus.pair import Pair

import setpoint as sp
from setpoint.meta import LabelSelector
from setpoint.models.apps_v1 import StatefulSet, StatefulSetSpec
from setpoint.models.core_v1 import ConfigMap, Container, PodSpec, PodTemplateSpec, Secret
from setpoint.simulation import External, Objects, call, never

FINALIZER = "corpus.example.com/own"


class MachineSpec(sp.Model):
    size: int = 1
    credentials: str = ""


class MachineStatus(sp.ConditionedStatus):
    id: str = ""
    phase: str = ""


class Machine(sp.CustomResource, group="corpus.example.com", version="v1"):
    """A machine in a cloud."""

    spec: MachineSpec = MachineSpec()
    status: MachineStatus = MachineStatus()


class Cloud(External):
    """Machines by their ids, each with the tag that it was made with."""

    def __init__(self) -> None:
        self.machines: dict[str, str] = {}
        self._made = 0

    def state(self) -> dict[str, Any]:
        return {"machines": len(self.machines)}

    @call
    async def create(self, tag: str) -> str:
        name = f"i-{len(self.machines) + 1}"
        while name in self.machines:
            name += "x"
        self.machines[name] = tag
        return name

    @call
    async def create_once(self, token: str) -> str:
        """As `create`, but the same token gives the same machine."""
        for name, tag in self.machines.items():
            if tag == token:
                return name
        name = f"i-{token}"
        self.machines[name] = token
        return name

    @call
    async def find(self, tag: str) -> str:
        return next((name for name, machine in self.machines.items() if machine == tag), "")

    @call
    async def delete(self, name: str) -> None:
        self.machines.pop(name, None)


cloud = Cloud()


async def create(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Machine.named("vm", "default"))
    await cluster.settle()


async def create_and_delete(cluster: sp.testing.Cluster) -> None:
    await create(cluster)
    await cluster.delete(await cluster.get(Machine, "vm"))
    await cluster.settle()


# -- the id comes into the status later --------------------------------------------------------------------------------


async def id_in_the_status(machine: Machine, ctx: sp.Context) -> None:
    if not machine.status.id:
        machine.status.id = await cloud.create(machine.uid)
    machine.status.phase = "Running"


async def id_of_the_token(machine: Machine, ctx: sp.Context) -> None:
    if not machine.status.id:
        machine.status.id = await cloud.create_once(machine.uid)
    machine.status.phase = "Running"


async def delete_by_status(machine: Machine, ctx: sp.Context) -> None:
    if machine.status.id:
        await cloud.delete(machine.status.id)


async def delete_by_token(machine: Machine, ctx: sp.Context) -> None:
    name = await cloud.find(machine.uid)
    if name:
        await cloud.delete(name)


# -- a mark that says that something is pending ------------------------------------------------------------------------


async def mark(machine: Machine, ctx: sp.Context, value: str | None) -> Machine:
    return await ctx.patch(machine, {"metadata": {"annotations": {"corpus.example.com/pending": value}}})


async def pending_for_ever(machine: Machine, ctx: sp.Context) -> None:
    if machine.status.id:
        return
    if "corpus.example.com/pending" in machine.annotations:
        ctx.log.error("a machine may have been made and forgotten: an operator has to look")
        return
    await mark(machine, ctx, "yes")
    machine.status.id = await cloud.create(machine.uid)
    machine.status.phase = "Running"
    await mark(machine, ctx, None)


async def pending_and_looked_after(machine: Machine, ctx: sp.Context) -> Any:
    if not machine.status.id:
        if "corpus.example.com/pending" not in machine.annotations:
            await mark(machine, ctx, "yes")
        machine.status.id = await cloud.create_once(machine.uid)
        machine.status.phase = "Running"
        return sp.retry("the mark goes when the id is written")
    if "corpus.example.com/pending" in machine.annotations:
        await mark(machine, ctx, None)
    return None


# -- children after the finalizer --------------------------------------------------------------------------------------


async def make_children(machine: Machine, ctx: sp.Context) -> None:
    for number in range(2):
        config_map = ConfigMap.named(f"{machine.name}-{number}", labels={"machine-uid": machine.uid})
        await ctx.apply(config_map, controlled=False)


async def make_children_of_what_is_there(machine: Machine, ctx: sp.Context) -> None:
    await ctx.ensure_current()
    await make_children(machine, ctx)


async def drop_children(machine: Machine, ctx: sp.Context) -> None:
    mine = {"machine-uid": machine.uid}
    for item in (await ctx.client.list(ConfigMap, namespace=machine.namespace, selector=mine)).items:
        await ctx.delete(item)


async def lets_go_first(machine: Machine, ctx: sp.Context) -> None:
    if machine.is_deleting:
        if FINALIZER in machine.metadata.finalizers:
            left = [finalizer for finalizer in machine.metadata.finalizers if finalizer != FINALIZER]
            await ctx.patch(machine, {"metadata": {"finalizers": left}})
            await drop_children(machine, ctx)
        return
    if FINALIZER not in machine.metadata.finalizers:
        machine.metadata.finalizers.append(FINALIZER)
        await ctx.client.update(machine)
    await make_children(machine, ctx)


# -- a machine before the finalizer ------------------------------------------------------------------------------------


async def finalizer_afterwards(machine: Machine, ctx: sp.Context) -> None:
    if machine.is_deleting:
        if FINALIZER in machine.metadata.finalizers:
            await cloud.delete(await cloud.find(machine.uid))
            machine.metadata.finalizers.remove(FINALIZER)
            await ctx.client.update(machine)
        return
    await cloud.create_once(machine.uid)
    if FINALIZER not in machine.metadata.finalizers:
        machine.metadata.finalizers.append(FINALIZER)
        await ctx.client.update(machine)


async def make_machine(machine: Machine, ctx: sp.Context) -> None:
    await cloud.create_once(machine.uid)


# -- goes on when it is over -------------------------------------------------------------------------------------------


async def goes_on(machine: Machine, ctx: sp.Context) -> None:
    if machine.is_deleting and FINALIZER in machine.metadata.finalizers:
        await drop_children(machine, ctx)
        machine.metadata.finalizers.remove(FINALIZER)
        await ctx.client.update(machine)
    elif not machine.is_deleting and FINALIZER not in machine.metadata.finalizers:
        machine.metadata.finalizers.append(FINALIZER)
        machine = await ctx.client.update(machine)
    await make_children(machine, ctx)


async def deleted_for_good(cluster: sp.testing.Cluster) -> None:
    await create_and_delete(cluster)
    assert not await cluster.list(ConfigMap, selector="machine-uid"), "children are left behind"


# -- what it needs to let go went first --------------------------------------------------------------------------------


async def delete_with_credentials(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Secret.named("account", "default", string_data={"account": "4711"}))
    await cluster.apply(Machine.named("vm", "default", spec=MachineSpec(credentials="account")))
    await cluster.settle()
    await cluster.delete(await cluster.get(Machine, "vm"))
    await cluster.settle()
    await cluster.delete(await cluster.get(Secret, "account"))
    await cluster.settle()


async def with_credentials(machine: Machine, ctx: sp.Context) -> Any:
    if await ctx.get(Secret, machine.spec.credentials) is None:
        return sp.retry("there are no credentials")
    await cloud.create_once(machine.uid)
    return None


async def needs_credentials(machine: Machine, ctx: sp.Context) -> Any:
    if await ctx.get(Secret, machine.spec.credentials) is None:
        return sp.retry("there are no credentials")
    await cloud.delete(await cloud.find(machine.uid))
    return None


async def with_a_copy(machine: Machine, ctx: sp.Context) -> Any:
    copy = await ctx.get(Secret, f"{machine.name}-account")
    if copy is None:
        given = await ctx.get(Secret, machine.spec.credentials)
        if given is None:
            return sp.retry("there are no credentials")
        await ctx.apply(Secret.named(f"{machine.name}-account", data=given.data))
    await cloud.create_once(machine.uid)
    return None


async def has_a_copy(machine: Machine, ctx: sp.Context) -> Any:
    """Without a copy no machine was made."""
    if await ctx.get(Secret, f"{machine.name}-account") is not None:
        await cloud.delete(await cloud.find(machine.uid))
    return None


# -- the set of an earlier machine -------------------------------------------------------------------------------------


async def create_delete_create_smaller(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Machine.named("vm", "default", spec=MachineSpec(size=3)))
    await cluster.settle()
    await cluster.delete(await cluster.get(Machine, "vm"))
    await cluster.settle()
    await cluster.apply(Machine.named("vm", "default", spec=MachineSpec(size=1)))
    await cluster.settle()


def workers(machine: Machine) -> StatefulSet:
    labels = {"app": machine.name}
    pod = PodSpec(containers=[Container(name="worker", image="worker:1")])
    spec = StatefulSetSpec(
        replicas=machine.spec.size,
        selector=LabelSelector(match_labels=labels),
        template=PodTemplateSpec(metadata=sp.ObjectMeta(labels=labels), spec=pod),
    )
    return StatefulSet.named(machine.name, spec=spec)


async def shrinks_what_is_there(machine: Machine, ctx: sp.Context) -> None:
    present = await ctx.get(StatefulSet, machine.name)
    if present is None:
        await ctx.create(workers(machine))
    elif present.spec.replicas != machine.spec.size:
        await ctx.patch(present, {"spec": {"replicas": machine.spec.size}})


async def applies_its_own(machine: Machine, ctx: sp.Context) -> None:
    await ctx.apply(workers(machine))


def an_earlier_set_is_shrunk(objects: Objects) -> bool:
    """The set of a machine that is gone is shrunk."""
    uids = {machine.uid for machine in objects.list(Machine)}
    return any(
        item.spec.replicas == 1 and item.metadata.controller is not None and item.metadata.controller.uid not in uids
        for item in objects.list(StatefulSet)
    )


PAIRS = [
    Pair(
        name="external-id-lost-before-status-write",
        root="R26",
        source="crossplane-runtime #277; derived",
        scenario=create,
        buggy=lambda: [sp.Controller(Machine, id_in_the_status).finalize(delete_by_status)],
        correct=lambda: [sp.Controller(Machine, id_of_the_token).finalize(delete_by_token)],
        options={"externals": [cloud]},
    ),
    Pair(
        name="pending-annotation-never-resolved",
        root="R27",
        source="crossplane-runtime #340",
        scenario=create,
        buggy=lambda: [sp.Controller(Machine, pending_for_ever).finalize(delete_by_token)],
        correct=lambda: [sp.Controller(Machine, pending_and_looked_after).finalize(delete_by_token)],
        options={"externals": [cloud]},
    ),
    Pair(
        name="finalizer-removed-before-children",
        root="R29",
        source="kro #1171",
        scenario=create_and_delete,
        buggy=lambda: [sp.Controller(Machine, lets_go_first, reconcile_deleting=True)],
        correct=lambda: [sp.Controller(Machine, make_children_of_what_is_there).finalize(drop_children)],
    ),
    Pair(
        name="machine-created-before-finalizer",
        root="R31",
        source="derived; promised by kube-rs finalizer.rs",
        scenario=create_and_delete,
        buggy=lambda: [sp.Controller(Machine, finalizer_afterwards, reconcile_deleting=True)],
        correct=lambda: [sp.Controller(Machine, make_machine).finalize(delete_by_token)],
        options={"externals": [cloud]},
    ),
    Pair(
        name="continues-after-finalizer-removed",
        root="R73",
        source="zookeeper-operator #410, K8SPSMDB-590",
        scenario=deleted_for_good,
        buggy=lambda: [sp.Controller(Machine, goes_on, reconcile_deleting=True)],
        correct=lambda: [sp.Controller(Machine, make_children_of_what_is_there).finalize(drop_children)],
    ),
    Pair(
        name="credentials-deleted-before-finalization",
        root="R75",
        source="derived",
        scenario=delete_with_credentials,
        buggy=lambda: [sp.Controller(Machine, with_credentials).reads(Secret).finalize(needs_credentials)],
        correct=lambda: [sp.Controller(Machine, with_a_copy).owns(Secret).finalize(has_a_copy)],
        options={"externals": [cloud]},
    ),
    Pair(
        name="statefulset-of-earlier-object-shrunk",
        root="R74",
        source="anvil #211",
        scenario=create_delete_create_smaller,
        buggy=lambda: [sp.Controller(Machine, shrinks_what_is_there).owns(StatefulSet)],
        correct=lambda: [sp.Controller(Machine, applies_its_own).owns(StatefulSet)],
        options={"predicates": [never(an_earlier_set_is_shrunk)]},
    ),
]
