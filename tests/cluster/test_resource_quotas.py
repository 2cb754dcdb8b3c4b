"""ResourceQuotas and LimitRanges: what is counted, what is refused and in which words, what is freed."""

from __future__ import annotations

from typing import Any

import pytest

import setpoint as sp
from setpoint.client import AlreadyExists, Forbidden
from setpoint.crd import crd_for
from setpoint.meta import Object, from_wire
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.models.core_v1 import (
    ConfigMap,
    LimitRange,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ResourceQuota,
    Secret,
    Service,
)
from setpoint.models.resource_v1 import ResourceClaim
from setpoint.testing import Cluster, cluster, virtual_time


class Thing(sp.CustomResource, group="quota.example.com", version="v1"):
    """A custom kind that is counted."""

    spec: dict[str, int] = {}


def quota(name: str = "most", scopes: list[str] | None = None, **hard: str) -> ResourceQuota:
    limited = {key.replace("__", "/").replace("_", "."): value for key, value in hard.items()}
    spec = {"hard": limited, **({"scopes": scopes} if scopes else {})}
    return from_wire(ResourceQuota, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})


def pod(name: str, cpu: str | None = None, memory: str | None = None, limit: str | None = None, **spec: Any) -> Pod:
    requests = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value}
    resources = {"requests": requests, **({"limits": {"cpu": limit}} if limit else {})}
    result = {"containers": [{"name": "main", "image": "web:1", "resources": resources}], **spec}
    return from_wire(Pod, {"metadata": {"name": name, "namespace": "default"}, "spec": result})


async def refusal(world: Cluster, obj: Object) -> str:
    with pytest.raises(Forbidden) as raised:
        await world.create(obj)
    return raised.value.message


async def used(world: Cluster, name: str = "most") -> dict[str, str]:
    return (await world.get(ResourceQuota, name)).status.used


@virtual_time
async def test_what_would_be_over_the_quota_is_refused() -> None:
    async with cluster(objects=[quota(pods="2", requests_cpu="1")]) as world:
        await world.settle()
        assert await used(world) == {"pods": "0", "requests.cpu": "0"}
        await world.create(pod("a", "600m"))
        assert await used(world) == {"pods": "1", "requests.cpu": "600m"}, "counted with the pod, not later"
        assert await refusal(world, pod("b", "500m")) == (
            'pods "b" is forbidden: exceeded quota: most, requested: requests.cpu=500m, used: requests.cpu=600m, '
            "limited: requests.cpu=1"
        )
        assert await refusal(world, pod("b")) == (
            'pods "b" is forbidden: failed quota: most: must specify requests.cpu for: main'
        )
        await world.create(pod("b", "400m"))
        assert await refusal(world, pod("c", "1m")) == (
            'pods "c" is forbidden: exceeded quota: most, requested: pods=1,requests.cpu=1m, '
            "used: pods=2,requests.cpu=1, limited: pods=2,requests.cpu=1"
        )
        assert len(await world.list(Pod)) == 2


@virtual_time
async def test_what_goes_or_ends_makes_room() -> None:
    ends = {"hollow.setpoint.io/run-seconds": "5"}
    async with cluster(objects=[quota(pods="2")]) as world:
        await world.settle()
        await world.create(pod("a"))
        ending = pod("b", restartPolicy="Never")
        ending.metadata.annotations = ends
        await world.create(ending)
        await world.settle()
        await world.delete(await world.get(Pod, "a"))
        await world.eventually(lambda: _is_used(world, "pods", "0"), within=60)
        await world.create(pod("c"))


async def _is_used(world: Cluster, name: str, amount: str | None) -> bool:
    return (await used(world)).get(name) == amount


@virtual_time
async def test_nothing_is_enforced_before_the_quota_is_counted() -> None:
    async with cluster(objects=[quota(pods="0")], control_plane=False) as world:
        await world.create(pod("a"))
        await world.client.patch(ResourceQuota, "most", {"status": {"hard": {"pods": "0"}}}, subresource="status")
        assert await refusal(world, pod("b")) == (
            'pods "b" is forbidden: status unknown for quota: most, resources: pods'
        )


@virtual_time
async def test_objects_of_any_kind_are_counted_custom_ones_too() -> None:
    limited = quota(count__things_quota_example_com="1", count__configmaps="3", secrets="1")
    async with cluster(objects=[limited], crds=[Thing]) as world:
        await world.settle()
        assert await used(world) == {
            "count/configmaps": "1", "count/things.quota.example.com": "0", "secrets": "0",
        }  # fmt: skip
        thing = await world.create(Thing.named("a", "default"))
        assert "exceeded quota: most, requested: count/things.quota.example.com=1" in (
            await refusal(world, Thing.named("b", "default"))
        )
        await world.create(Secret.named("a", "default"))
        assert "requested: secrets=1, used: secrets=1, limited: secrets=1" in (
            await refusal(world, Secret.named("b", "default"))
        )
        await world.delete(thing)
        await world.settle()
        await world.create(Thing.named("b", "default"))


@virtual_time
async def test_a_kind_that_comes_goes_and_comes_again_is_counted_while_it_is_there() -> None:
    name = "count/things.quota.example.com"
    async with cluster(objects=[quota(count__things_quota_example_com="3")]) as world:
        await world.settle()
        assert await used(world) == {}
        for _ in range(2):
            definition = await world.create(from_wire(CustomResourceDefinition, crd_for(Thing)))
            await world.eventually(lambda: _is_used(world, name, "0"), within=60)
            thing = await world.create(Thing.named("a", "default"))
            assert await used(world) == {name: "1"}
            await world.delete(thing)
            await world.eventually(lambda: _is_used(world, name, "0"), within=60)
            await world.create(Thing.named("b", "default"))
            await world.delete(definition)
            await world.eventually(lambda: _is_used(world, name, None), within=60)


@virtual_time
async def test_a_request_that_is_refused_later_or_is_a_trial_is_not_counted() -> None:
    async with cluster(objects=[quota(configmaps="5")]) as world:
        await world.settle()
        await world.create(ConfigMap.named("a", "default"))
        await world.client.create(ConfigMap.named("b", "default"), dry_run=True)
        with pytest.raises(AlreadyExists):
            await world.create(ConfigMap.named("a", "default"))
        assert await used(world) == {"configmaps": "2"}


@virtual_time
async def test_quotas_count_what_is_in_their_scopes() -> None:
    quotas = [
        quota("urgent", ["PriorityClass"], pods="0"),
        quota("short", ["Terminating"], pods="0"),
        quota("cheap", ["BestEffort"], pods="1"),
    ]
    async with cluster(objects=quotas) as world:
        await world.settle()
        assert "exceeded quota: urgent" in await refusal(world, pod("a", priorityClassName="system-node-critical"))
        assert "exceeded quota: short" in await refusal(world, pod("a", activeDeadlineSeconds=5))
        await world.create(pod("a"))
        assert "exceeded quota: cheap" in await refusal(world, pod("b"))
        await world.create(pod("b", "1"))


@virtual_time
async def test_what_leaves_a_scope_makes_room() -> None:
    steady = quota("steady", ["NotTerminating"], pods="1")
    async with cluster(objects=[steady, quota("brief", ["Terminating"], pods="1")]) as world:
        await world.settle()
        await world.create(pod("a"))
        await world.settle()
        assert (await used(world, "steady"), await used(world, "brief")) == ({"pods": "1"}, {"pods": "0"})
        await world.client.patch(Pod, "a", {"spec": {"activeDeadlineSeconds": 600}})
        await world.settle()
        assert (await used(world, "steady"), await used(world, "brief")) == ({"pods": "0"}, {"pods": "1"})
        await world.create(pod("b"))


@virtual_time
async def test_a_volume_is_counted_in_its_class_until_it_has_changed_to_another() -> None:
    def of_class(name: str) -> ResourceQuota:
        selector = {"scopeName": "VolumeAttributesClass", "operator": "In", "values": [name]}
        spec = {"hard": {"persistentvolumeclaims": "1"}, "scopeSelector": {"matchExpressions": [selector]}}
        return from_wire(ResourceQuota, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})

    async def counts(world: Cluster) -> list[str]:
        await world.settle()
        return [(await used(world, name))["persistentvolumeclaims"] for name in ("gold", "silver")]

    async with cluster(objects=[of_class("gold"), of_class("silver")]) as world:
        await world.settle()
        spec = {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "", "volumeAttributesClassName": "gold", "volumeName": "v",
        }  # fmt: skip
        claim = {"metadata": {"name": "a", "namespace": "default"}, "spec": spec}
        volume = {
            "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "volumeAttributesClassName": "gold",
            "csi": {"driver": "example.com", "volumeHandle": "v"},
            "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "a"},
        }  # fmt: skip
        await world.create(from_wire(PersistentVolumeClaim, claim))
        await world.create(from_wire(PersistentVolume, {"metadata": {"name": "v"}, "spec": volume}))
        assert await counts(world) == ["1", "0"]
        await world.client.patch(PersistentVolumeClaim, "a", {"spec": {"volumeAttributesClassName": "silver"}})
        assert await counts(world) == ["1", "1"]
        status = {"currentVolumeAttributesClassName": "silver"}
        await world.client.patch(PersistentVolumeClaim, "a", {"status": status}, subresource="status")
        assert await counts(world) == ["0", "1"]


@virtual_time
async def test_claims_and_services_count_for_what_they_ask_for() -> None:
    limited = quota(
        requests_storage="5Gi", services_loadbalancers="1", services_nodeports="3", persistentvolumeclaims="9"
    )
    async with cluster(objects=[limited]) as world:
        await world.settle()
        spec: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "3Gi"}}}
        claim = {"metadata": {"name": "a", "namespace": "default"}, "spec": spec}
        await world.create(from_wire(PersistentVolumeClaim, claim))
        claim["metadata"]["name"] = "b"
        assert await refusal(world, from_wire(PersistentVolumeClaim, claim)) == (
            'persistentvolumeclaims "b" is forbidden: exceeded quota: most, requested: requests.storage=3Gi, '
            "used: requests.storage=3Gi, limited: requests.storage=5Gi"
        )
        ports = [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]
        web = {"metadata": {"name": "web", "namespace": "default"}, "spec": {"ports": ports, "type": "ClusterIP"}}
        await world.create(from_wire(Service, web))
        await world.client.patch(Service, "web", {"spec": {"type": "NodePort"}})
        assert (await used(world))["services.nodeports"] == "2"
        other = {**web, "metadata": {"name": "edge", "namespace": "default"}}
        other["spec"] = {"ports": ports, "type": "LoadBalancer"}
        assert "requested: services.nodeports=2, used: services.nodeports=2" in (
            await refusal(world, from_wire(Service, other))
        )
        await world.client.patch(Service, "web", {"spec": {"type": "ClusterIP"}})
        await world.settle()
        await world.create(from_wire(Service, other))


def device_claim(name: str, *requests: dict[str, Any]) -> ResourceClaim:
    spec = {"devices": {"requests": [{"name": f"r{number}", **request} for number, request in enumerate(requests)]}}
    return from_wire(ResourceClaim, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})


@virtual_time
async def test_claims_count_for_the_devices_of_a_class_that_they_may_get() -> None:
    gold = "gold.deviceclass.resource.k8s.io/devices"
    hard: dict[str, Any] = {gold: "40", "count__resourceclaims_resource_k8s_io": "9"}
    limited = quota(**hard)
    async with cluster(objects=[limited]) as world:
        await world.settle()
        count = "count/resourceclaims.resource.k8s.io"
        assert await used(world) == {count: "0", gold: "0"}
        exactly = {"exactly": {"deviceClassName": "gold", "count": 3}}
        await world.create(device_claim("a", exactly, {"exactly": {"deviceClassName": "tin"}}))
        assert await used(world) == {count: "1", gold: "3"}
        either = {
            "firstAvailable": [
                {"name": "one", "deviceClassName": "gold", "count": 2},
                {"name": "two", "deviceClassName": "gold", "count": 1},
                {"name": "three", "deviceClassName": "tin", "count": 9},
            ]
        }
        await world.create(device_claim("b", either))
        assert await used(world) == {count: "2", gold: "5"}
        everything = {"exactly": {"deviceClassName": "gold", "allocationMode": "All"}}
        await world.create(device_claim("c", everything))
        assert await used(world) == {count: "3", gold: "37"}
        assert await refusal(world, device_claim("d", {"exactly": {"deviceClassName": "gold", "count": 4}})) == (
            f'resourceclaims.resource.k8s.io "d" is forbidden: exceeded quota: most, requested: {gold}=4, '
            f"used: {gold}=37, limited: {gold}=40"
        )
        await world.delete(await world.get(ResourceClaim, "c"))
        await world.settle()
        assert await used(world) == {count: "2", gold: "5"}


@virtual_time
async def test_a_quota_that_is_changed_is_counted_again() -> None:
    async with cluster(objects=[quota(pods="9", secrets="9")]) as world:
        await world.create(pod("a"))
        await world.settle()
        await world.client.patch(ResourceQuota, "most", {"spec": {"hard": {"secrets": None, "configmaps": "4"}}})
        await world.settle()
        resource_quota = await world.get(ResourceQuota, "most")
        assert resource_quota.status.hard == {"configmaps": "4", "pods": "9"}
        assert resource_quota.status.used == {"configmaps": "1", "pods": "1"}


# -- limit ranges ------------------------------------------------------------------------------------------------------


def limits(*given: dict[str, Any]) -> LimitRange:
    return from_wire(LimitRange, {"metadata": {"name": "range", "namespace": "default"}, "spec": {"limits": given}})


@virtual_time
async def test_containers_get_the_requests_and_limits_of_the_namespace() -> None:
    given = {"type": "Container", "default": {"cpu": "1", "memory": "1Gi"}, "defaultRequest": {"cpu": "100m"}}
    async with cluster(objects=[limits(given)], control_plane=False) as world:
        current_pod = await world.create(pod("a"))
        resources = current_pod.spec.containers[0].resources
        assert resources is not None
        assert resources.limits == {"cpu": "1", "memory": "1Gi"}
        assert resources.requests == {"cpu": "100m", "memory": "1Gi"}
        assert current_pod.annotations == {
            "kubernetes.io/limit-ranger": (
                "LimitRanger plugin set: cpu, memory request for container main; cpu, memory limit for container main"
            )
        }


@pytest.mark.parametrize(
    ("kind", "limit", "refused", "why"),
    [
        *(
            (kind, limit, refused, why)
            for kind in ("Container", "Pod")
            for limit, refused, why in (
                (
                    {"min": {"cpu": "1"}},
                    pod("a", "500m", limit="2"),
                    "minimum cpu usage per {} is 1, but request is 500m",
                ),
                ({"max": {"cpu": "1"}}, pod("a", "1", limit="2"), "maximum cpu usage per {} is 1, but limit is 2"),
                (
                    {"maxLimitRequestRatio": {"cpu": "2"}},
                    pod("a", "1", limit="5"),
                    "cpu max limit to request ratio per {} is 2, but provided ratio is 5.000000",
                ),
            )
        ),
        # Bounds of containers are their defaults, too; those of pods are not.
        ("Pod", {"min": {"memory": "1"}}, pod("a"), "minimum memory usage per {} is 1.  No request is specified"),
        ("Pod", {"max": {"memory": "1"}}, pod("a"), "maximum memory usage per {} is 1.  No limit is specified"),
    ],
)
@virtual_time
async def test_pods_outside_of_the_range_are_refused(kind: str, limit: dict[str, Any], refused: Pod, why: str) -> None:
    async with cluster(objects=[limits({"type": kind, **limit})], control_plane=False) as world:
        assert await refusal(world, refused) == f'pods "a" is forbidden: {why.format(kind)}'


@virtual_time
async def test_claims_outside_of_the_range_are_refused() -> None:
    bounds = {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}}
    async with cluster(objects=[limits(bounds)], control_plane=False) as world:
        for size, why in (
            ("1Mi", "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi"),
            ("3Gi", "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"),
        ):
            spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
            claim = from_wire(PersistentVolumeClaim, {"metadata": {"name": "a", "namespace": "default"}, "spec": spec})
            assert await refusal(world, claim) == f'persistentvolumeclaims "a" is forbidden: {why}'
