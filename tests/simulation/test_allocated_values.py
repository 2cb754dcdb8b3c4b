"""Values of a pool may be given out in any order of events; two objects may not get the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.client import AlreadyExists
from setpoint.cluster.storage.volume_matching import HOLLOW
from setpoint.meta import Quantity
from setpoint.models.core_v1 import (
    ConfigMap,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Service,
    ServicePort,
    ServiceSpec,
    VolumeResourceRequirements,
)
from setpoint.models.storage_v1 import StorageClass
from setpoint.simulation import Budget, Counterexample, check
from setpoint.simulation.comparison.allocated_values import AllocatedValues
from setpoint.simulation.comparison.differences import find_differences
from setpoint.simulation.comparison.snapshot import Snapshot

SPECS = {"alpha": 3, "beta": 5, "gamma": 7}


def apps(**addresses: str) -> Snapshot:
    return {
        f"apps default/{name}": [{"spec": {"size": SPECS[name]}, "status": {"address": address}}]
        for name, address in addresses.items()
    }


def reserved(**addresses: str) -> Snapshot:
    """With an object for each address, as controllers have it that reserve theirs."""
    owners: Snapshot = {
        f"configmaps default/address-{address}": [{"metadata": {"name": f"address-{address}"}, "data": {"for": name}}]
        for name, address in addresses.items()
    }
    return apps(**addresses) | owners


def explained(expected: Snapshot, snapshot: Snapshot, *rests: Snapshot) -> bool:
    left = find_differences(expected, snapshot)
    assert left
    return any(not find_differences(way, snapshot) for _, way in AllocatedValues(rests).of(expected, snapshot, left))


FIRST, SECOND, THIRD = "10.0.0.1", "10.0.0.2", "10.0.0.3"


@pytest.mark.parametrize("state", [apps, reserved])
def test_two_objects_may_get_each_others_values(state: Any) -> None:
    assert explained(state(alpha=FIRST, beta=SECOND), state(alpha=SECOND, beta=FIRST))
    assert explained(state(alpha="30001", beta="30002"), state(alpha="30002", beta="30001"))


def test_an_object_may_get_what_another_had_before_it_or_the_next_if_that_is_not_free_yet() -> None:
    before = reserved(alpha=FIRST, beta=SECOND)
    expected = reserved(beta=SECOND, gamma=FIRST)
    assert explained(expected, reserved(beta=FIRST, gamma=SECOND), before, expected)
    assert explained(expected, reserved(beta=SECOND, gamma=THIRD), before, expected)
    assert explained(expected, reserved(beta=FIRST, gamma=THIRD), before, expected)
    assert explained(reserved(beta=SECOND), reserved(beta=FIRST), before)


@pytest.mark.parametrize("state", [apps, reserved])
def test_two_objects_may_not_have_the_same_value(state: Any) -> None:
    expected = apps(alpha=FIRST, beta=SECOND)
    assert not explained(expected, apps(alpha=FIRST, beta=FIRST), expected)
    assert not explained(expected, apps(alpha=SECOND, beta=SECOND), expected)


def test_a_reservation_that_nobody_knows_of_is_a_difference() -> None:
    expected = reserved(alpha=FIRST, beta=SECOND)
    assert not explained(expected, expected | reserved(gamma=THIRD), expected)
    assert not explained(expected, expected | apps(beta=THIRD), expected)


def test_the_wrong_one_of_several_members_is_a_difference() -> None:
    """Names alone are not given out: a set has to lose its last member."""

    def members(*numbers: int) -> Snapshot:
        return {f"pods default/main-{number}": [{"metadata": {"name": f"main-{number}"}}] for number in numbers}

    assert not explained(members(0, 1), members(0, 2), members(0, 1, 2), members(0, 1))


def test_of_two_objects_that_are_alike_either_may_get_the_last_of_a_pool() -> None:
    def services(**addresses: str) -> Snapshot:
        return {
            f"services default/{name}": [{"spec": {"app": name}, "status": {"address": address} if address else {}}]
            for name, address in addresses.items()
        } | {f"configmaps default/{name}-dns": [{}] for name, address in addresses.items() if address}

    def explained_for(*desired: str, expected: Snapshot, actual: Snapshot, alike: bool = True) -> bool:
        left = find_differences(expected, actual)
        values = AllocatedValues([expected], [f"services default/{name}" for name in desired])
        ways = values.of(expected, actual, left, alike=alike)
        return bool(left) and any(not find_differences(way, actual) for _, way in ways)

    first, second = services(one=FIRST, two=""), services(one="", two=FIRST)
    assert explained_for("one", "two", expected=first, actual=second)
    assert not explained_for("one", "two", expected=first, actual=second, alike=False)
    assert not explained_for(expected=first, actual=second), "names that the program has given"
    assert not explained_for("one", "two", expected=first, actual=services(one="", two="")), "it is lost"
    assert not explained_for("one", "two", expected=first, actual=services(one=FIRST, two=FIRST))
    other = {"services default/two": [{"spec": {"app": "two", "port": 80}, "status": {}}]}
    gets_it = {"services default/two": [{"spec": {"app": "two", "port": 80}, "status": {"address": FIRST}}]}
    assert not explained_for("one", "two", expected=first | other, actual=second | gets_it), "another desired state"


def test_of_two_objects_that_came_alike_either_may_have_got_the_last_of_a_pool_before_users_changed_one() -> None:
    def services(port: int, **addresses: str) -> Snapshot:
        return {
            f"services default/{name}": [
                {"spec": {"port": port if name == "two" else 80}, "status": {"address": address} if address else {}}
            ]
            for name, address in addresses.items()
        }

    def is_explained(before: Snapshot, actual: Snapshot, expected: Snapshot) -> bool:
        values = AllocatedValues([before, expected], [*expected])
        ways = values.of(expected, actual, find_differences(expected, actual), alike=True)
        return any(not find_differences(way, actual) for _, way in ways)

    alike, other = services(80, one=FIRST, two=""), services(443, one=FIRST, two="")
    changed, swapped = services(81, one=FIRST, two=""), services(81, one="", two=FIRST)
    assert is_explained(alike, swapped, changed)
    assert not is_explained(other, swapped, changed), "they never were alike"
    assert not is_explained(alike, services(80, one="", two=FIRST), changed), "the change is lost"
    assert not is_explained(alike, services(81, one=FIRST, two=FIRST), changed)


def test_a_deployment_may_take_another_hash_for_the_same_template() -> None:
    """As it does while the ReplicaSet of an earlier Deployment of its name is still there."""

    def web(value: str, image: str = "1", label: str = "") -> Snapshot:
        meta = {"name": f"web-{value}", "labels": {"pod-template-hash": label or value}}
        return {
            f"replicasets.apps default/web-{value}": [{"metadata": meta, "spec": {"image": image}}],
            f"pods default/web-{value}-*": [{"metadata": {"labels": {"pod-template-hash": label or value}}}],
        }

    assert explained(web("5c57378"), web("b8b4d1e"))
    assert not explained(web("5c57378"), web("b8b4d1e", image="2")), "another template"
    assert not explained(web("5c57378"), web("5c57378") | web("b8b4d1e")), "one more is there"
    assert not explained(web("5c57378", label="x"), web("b8b4d1e", label="x")), "a name that the program has given"


def child(owner: str, **data: str) -> list[Any]:
    return [{"metadata": {"ownerReferences": [{"uid": owner, "controller": True}]}, "data": data}]


def test_what_the_children_of_one_object_get_is_up_to_that_object() -> None:
    def roles(one: str, other: str) -> Snapshot:
        return {"configmaps default/a": child("main", role=one), "configmaps default/b": child("main", role=other)}

    expected = roles("active", "standby")
    assert not explained(expected, roles("standby", "active"), expected)


def test_what_an_object_had_itself_is_not_anothers() -> None:
    def releases(alpha: int, beta: int) -> Snapshot:
        return {
            "configmaps default/alpha": child("alpha", release=f"alpha-v{alpha}"),
            "configmaps default/beta": child("beta", release=f"beta-v{beta}"),
        }

    assert not explained(releases(2, 2), releases(1, 2), releases(1, 1), releases(2, 2))
    assert not explained(releases(2, 2), releases(3, 2), releases(1, 1), releases(2, 2))


def test_what_an_external_system_gives_out_may_be_anothers() -> None:
    def leases(**addresses: str) -> Snapshot:
        return {"external ipam": [{"leases": addresses}]}

    expected = leases(alpha=FIRST, beta=SECOND)
    assert explained(expected, leases(alpha=SECOND, beta=FIRST), expected)
    assert not explained(expected, leases(alpha=FIRST, beta=FIRST), expected)


@pytest.mark.parametrize("text", ["{}", "vlan {}", '{{"number": "{}"}}'])
def test_numbers_within_texts_are_given_out_too(text: str) -> None:
    def state(alpha: int, beta: int) -> Snapshot:
        numbers = apps(alpha=text.format(alpha), beta=text.format(beta))
        return numbers | {"configmaps default/registry": [{"data": {"taken": f'{{"alpha": {alpha}, "beta": {beta}}}'}}]}

    expected = state(101, 102)
    assert explained(expected, state(102, 101), expected)
    assert not explained(expected, state(101, 101), expected)


def test_what_users_wish_for_is_not_given_out() -> None:
    def child_of(**sizes: int) -> Snapshot:
        children: Snapshot = {f"sets default/{name}": [{"spec": {"size": size}}] for name, size in sizes.items()}
        return apps(alpha=FIRST, beta=SECOND) | children

    assert not explained(child_of(alpha=3, beta=5), child_of(alpha=5, beta=3))


@pytest.mark.parametrize("order", [lambda *names: [*names], lambda *names: " ".join(names)])
def test_another_order_within_an_object_is_a_difference(order: Any) -> None:
    def named(*names: str) -> Snapshot:
        return {f"configmaps default/{item}": [{"data": {"names": order(*names)}}] for item in ("one", "two")}

    assert not explained(named("first", "second"), named("second", "first"), named("first", "second"))


def test_a_single_object_does_not_make_a_pool() -> None:
    one = apps(alpha=FIRST)
    assert not explained(one, apps(alpha=SECOND), one)


@given(st.permutations(sorted(SPECS)), st.permutations([FIRST, SECOND, THIRD]))
def test_any_order_of_giving_out_is_one_of_them(names: list[str], addresses: list[str]) -> None:
    expected = reserved(alpha=FIRST, beta=SECOND, gamma=THIRD)
    result = reserved(**dict(zip(names, addresses, strict=True)))
    assert result == expected or explained(expected, result, expected)


@given(st.text("ab/+ .", max_size=9), st.text("ab/+ .", max_size=9))
def test_any_two_texts_can_be_compared(one: str, other: str) -> None:
    expected, current_apps = apps(alpha=one, beta=other), apps(alpha=other, beta=one)
    ways = AllocatedValues([expected]).of(expected, current_apps, find_differences(expected, current_apps))
    assert all(len(way) == len(expected) for _, way in ways)


# -- in a simulation ---------------------------------------------------------------------------------------------------


async def two_apps(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(App.named("one", "default"))
    await cluster.apply(App.named("two", "default"))
    await cluster.settle()


async def reserve(app: App, ctx: sp.Context) -> None:
    mine = f"for-{app.uid}"
    for item in (await ctx.client.list(ConfigMap, namespace=app.namespace)).items:
        if mine in item.labels:
            app.status.note = item.name
            return
    for port in range(30001, 30009):
        try:
            await ctx.create(ConfigMap.named(f"port-{port}", labels={mine: "yes"}))
        except AlreadyExists:
            continue
        app.status.note = f"port-{port}"
        return


def test_who_of_two_is_first_is_not_a_finding() -> None:
    report = check(two_apps, lambda: [sp.Controller(App, reserve).owns(ConfigMap)], budget=Budget(runs=80))
    assert report.singles
    assert not report.masks


def test_two_that_have_the_same_are_a_finding() -> None:
    async def reconcile(app: App, ctx: sp.Context) -> None:
        if not app.status.note:
            taken = {app.status.note for app in await ctx.list(App)}
            app.status.note = next(f"port-{port}" for port in range(30001, 30009) if f"port-{port}" not in taken)

    with pytest.raises(Counterexample):
        check(two_apps, lambda: [sp.Controller(App, reconcile)], budget=Budget(runs=80))


def claim(name: str, size: str) -> PersistentVolumeClaim:
    requests = VolumeResourceRequirements(requests={"storage": size})
    spec = PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=requests, storage_class_name="grows")
    return PersistentVolumeClaim.named(name, spec=spec)


async def keep_a_volume(app: App, ctx: sp.Context) -> None:
    there = await ctx.get(PersistentVolumeClaim, app.name)
    wanted = claim(app.name, f"{app.spec.size}Gi")
    if there is None:
        await ctx.apply(wanted)
    elif there.status.phase == "Bound" and size(there) < size(wanted):
        await ctx.patch(there, {"spec": {"resources": {"requests": {"storage": f"{app.spec.size}Gi"}}}})


def size(volume: PersistentVolumeClaim) -> Quantity:
    assert volume.spec.resources is not None
    return Quantity(volume.spec.resources.requests["storage"])


async def larger_and_smaller(cluster: sp.testing.Cluster) -> None:
    for size in (1, 3, 2):
        await cluster.apply(App.named("one", "default", spec=AppSpec(size=size)))
        await cluster.settle()


def test_a_volume_that_has_been_larger_stays_so() -> None:
    grows = StorageClass.named("grows", provisioner=HOLLOW, allow_volume_expansion=True)
    report = check(
        larger_and_smaller,
        lambda: [sp.Controller(App, keep_a_volume).owns(PersistentVolumeClaim)],
        objects=[grows],
        budget=Budget(runs=60),
    )
    assert report.singles


async def keep_services(app: App, ctx: sp.Context) -> None:
    spec = ServiceSpec(ports=[ServicePort(port=80)])
    await ctx.keep(Service, [Service.named(f"{app.name}-{number}", spec=spec) for number in range(app.spec.size)])


async def fewer_services(cluster: sp.testing.Cluster) -> None:
    for size in (2, 1):
        await cluster.apply(App.named("one", "default", spec=AppSpec(size=size)))
        await cluster.settle()


def test_it_does_not_matter_which_address_a_deleted_service_had() -> None:
    report = check(fewer_services, lambda: [sp.Controller(App, keep_services).owns(Service)], budget=Budget(runs=60))
    assert report.singles
