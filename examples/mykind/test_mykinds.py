"""The grown-up Mykind: both versions, defaults, checks, and what was there before."""

from __future__ import annotations

from typing import Any

import mykind as first
import pytest
from mykinds import Mykind, MykindSpec, MykindV1alpha1, MykindV1alpha1Spec, admission, controller, default_template

import setpoint as sp
from setpoint.client import Invalid
from setpoint.crd import Versions
from setpoint.models.core_v1 import Container, Pod, PodSpec, PodTemplateSpec
from setpoint.models.events_v1 import Event


def cluster(**options: Any) -> sp.testing.Cluster:
    return sp.testing.cluster(controller, webhooks=[admission], **options)


def test_no_object_loses_anything_on_its_way_through_the_other_version() -> None:
    sp.testing.check_conversions(Mykind)


@sp.testing.virtual_time
async def test_a_template_is_filled_in_and_pods_are_made_from_it() -> None:
    async with cluster() as c:
        mykind = await c.create(Mykind.named("sample", "default", spec=MykindSpec(replicas=2)))
        assert mykind.spec.template == default_template()
        await c.settle()
        assert [(pod.name, pod.labels["mylabel"]) for pod in await c.list(Pod)] == [
            ("sample-0", "mylabel"),
            ("sample-1", "mylabel"),
        ]
        assert (await c.get(Mykind, "sample")).status.ready == 2


@sp.testing.virtual_time
async def test_who_writes_numpods_reads_numpods() -> None:
    async with cluster() as c:
        await c.create(MykindV1alpha1.named("old", "default", spec=MykindV1alpha1Spec(numpods=3)))
        await c.settle()
        assert len(await c.list(Pod)) == 3
        new = await c.get(Mykind, "old")
        assert new.spec == MykindSpec(replicas=3, template=default_template())
        new.spec.replicas = 1
        await c.update(new)
        await c.settle()
        old = await c.get(MykindV1alpha1, "old")
        assert (old.spec.numpods, old.status.ready) == (1, 1)
        old.spec.numpods = 2  # a user who does not know templates keeps them
        await c.update(old)
        assert (await c.get(Mykind, "old")).spec == MykindSpec(replicas=2, template=default_template())


@sp.testing.virtual_time
async def test_replicas_are_judged_by_the_schema_and_the_template_by_the_webhook() -> None:
    async with cluster() as c:
        with pytest.raises(Invalid, match=r"spec\.replicas: Invalid value: -1"):
            await c.create(Mykind.named("sample", "default", spec=MykindSpec(replicas=-1)))
        once = PodTemplateSpec(
            spec=PodSpec(containers=[Container(name="main", image="busybox")], restart_policy="Never")
        )
        with pytest.raises(Invalid, match=r"spec\.template\.spec\.restartPolicy: Invalid value: \"Never\""):
            await c.create(Mykind.named("sample", "default", spec=MykindSpec(template=once)))


@sp.testing.virtual_time
async def test_without_webhooks_the_controller_fills_in_and_judges_its_own_copy() -> None:
    once = PodTemplateSpec(spec=PodSpec(containers=[Container(name="main", image="busybox")], restart_policy="Never"))
    async with sp.testing.cluster(controller) as c:
        await c.create(Mykind.named("plain", "default", spec=MykindSpec(replicas=1)))
        await c.create(Mykind.named("wrong", "default", spec=MykindSpec(template=once)))
        await c.settle()
        assert [(pod.name, pod.labels["mylabel"]) for pod in await c.list(Pod)] == [("plain-0", "mylabel")]
        assert (await c.get(Mykind, "plain")).spec.template is None  # the spec is its author's
        wrong = await c.get(Mykind, "wrong")
        assert [(condition.type, condition.status) for condition in wrong.status.conditions] == [
            ("Reconciled", "False"),
            ("Stalled", "True"),
        ]
        assert any("restartPolicy" in (event.note or "") for event in await c.list(Event))


@sp.testing.virtual_time
async def test_objects_from_before_the_upgrade_still_work() -> None:
    async with sp.testing.cluster(crds=[first.Mykind]) as c:
        await c.create(first.Mykind.named("old", "default", spec=first.MykindSpec(numpods=2)))
        await c.serve(admission, Versions.of(Mykind))
        assert (await c.get(Mykind, "old")).spec == MykindSpec(replicas=2)  # as it was stored: no webhook has seen it
        async with sp.Manager(
            c.client, controllers=[controller], options=sp.ManagerOptions(now=c.now, random=c.random)
        ):
            await c.eventually(lambda: pods_are(c, 2))
            await c.client.patch(first.Mykind, "old", {"spec": {"numpods": 3}})
            await c.eventually(lambda: pods_are(c, 3))
        assert (await c.get(Mykind, "old")).spec == MykindSpec(replicas=3, template=default_template())


async def pods_are(c: sp.testing.Cluster, number: int) -> bool:
    return sum(pod.is_ready for pod in await c.list(Pod)) == number


async def scenario(c: sp.testing.Cluster) -> None:
    for number in (2, 3, 1):
        await c.apply(Mykind.named("sample", "default", spec=MykindSpec(replicas=number)))
        await c.settle()


def simulated(budget: sp.simulation.Budget, **options: Any) -> sp.simulation.Report:
    """Simulates the scenario under faults; test_survival.py runs it."""
    return sp.simulation.check(scenario, lambda: [controller], webhooks=[admission], budget=budget, **options)
