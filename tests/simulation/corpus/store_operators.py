"""Store operators: clouds, rollouts, adoption, copies in other namespaces, hashes of settings."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from tests.simulation.corpus.pair import Pair

import setpoint as sp
from setpoint.client import AlreadyExists
from setpoint.meta import Head, LabelSelector, OwnerReference
from setpoint.models.apps_v1 import Deployment, DeploymentSpec
from setpoint.models.batch_v1 import Job, JobSpec
from setpoint.models.core_v1 import (
    ConfigMap,
    Container,
    Namespace,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    PodSpec,
    PodTemplateSpec,
    Secret,
    Service,
    ServicePort,
    ServiceSpec,
    VolumeResourceRequirements,
)
from setpoint.simulation import External, ExternalError, Objects, always, call


class StoreSpec(sp.Model):
    replicas: int = 1
    image: str = "store:1"
    settings: dict[str, str] = {}
    spaces: list[str] = []
    ports: list[int] = []
    serial: int = 1
    key: str = "a"


class StoreStatus(sp.ConditionedStatus):
    phase: str = ""
    serial: int = 0
    address: str = ""
    current: str = ""
    members: list[str] = []
    count: int = 0


class Store(sp.CustomResource, group="strange.example.com", version="v1"):
    """A store of something."""

    spec: StoreSpec = StoreSpec()
    status: StoreStatus = StoreStatus()


FINALIZER = "strange.example.com/cleanup"
DERIVED = "derived; no single report"


def changes(*specs: StoreSpec, deletes: bool = False) -> Any:
    async def scenario(cluster: sp.testing.Cluster) -> None:
        for spec in specs:
            await cluster.apply(Store.named("main", "default", spec=spec))
            await cluster.settle()
        if deletes:
            await cluster.delete(await cluster.get(Store, "main"))
            await cluster.settle()

    return scenario


def pod(image: str) -> PodSpec:
    return PodSpec(containers=[Container(name="main", image=image)])


def deployment(store: Store, name: str, annotations: dict[str, str] | None = None) -> Deployment:
    labels = {"app": name}
    meta = sp.ObjectMeta(labels=labels, annotations=annotations or {})
    template = PodTemplateSpec(metadata=meta, spec=pod(store.spec.image))
    spec = DeploymentSpec(replicas=store.spec.replicas, selector=LabelSelector(match_labels=labels), template=template)
    return Deployment.named(name, labels={"store": store.name}, spec=spec)


async def found(kind: type[Any], name: str, ctx: sp.Context) -> Any:
    """The object as the server has it, None if there is none."""
    try:
        return await ctx.client.get(kind, name, namespace=ctx.object.namespace)
    except sp.NotFound:
        return None


def digest(settings: dict[str, str]) -> str:
    return sha256(repr(sorted(settings.items())).encode()).hexdigest()[:10]


# -- a bucket, and a finalizer that comes later ------------------------------------------------------------------------


class Buckets(External):
    """Buckets by name."""

    def __init__(self) -> None:
        self.buckets: dict[str, str] = {}

    @call
    async def ensure(self, name: str, owner: str) -> None:
        self.buckets.setdefault(name, owner)

    @call
    async def remove(self, name: str) -> None:
        self.buckets.pop(name, None)

    @call(nothing=[])
    async def list(self, owner: str) -> list[str]:
        return sorted(name for name, bucket in self.buckets.items() if bucket == owner)


buckets = Buckets()


async def bucket_then_finalizer(store: Store, ctx: sp.Context) -> None:
    if store.is_deleting:
        if FINALIZER in store.metadata.finalizers:
            await buckets.remove(store.name)
            left = [finalizer for finalizer in store.metadata.finalizers if finalizer != FINALIZER]
            await ctx.patch(store, {"metadata": {"finalizers": left}})
        return
    await buckets.ensure(store.name, store.uid)
    if FINALIZER not in store.metadata.finalizers:
        await ctx.patch(store, {"metadata": {"finalizers": [*store.metadata.finalizers, FINALIZER]}})


async def ensures_the_bucket(store: Store, ctx: sp.Context) -> None:
    await buckets.ensure(store.name, store.uid)
    store.status.phase = "Ready"


async def removes_the_bucket(store: Store, ctx: sp.Context) -> None:
    await buckets.remove(store.name)


async def removes_if_it_can(store: Store, ctx: sp.Context) -> None:
    try:
        await buckets.remove(store.name)
    except ExternalError:
        ctx.log.warning("the bucket could not be removed")


# -- a hash of the settings --------------------------------------------------------------------------------------------


async def hash_of_what_is_there(store: Store, ctx: sp.Context) -> None:
    there = await ctx.get(ConfigMap, store.name)
    wanted = ConfigMap.named(store.name, data=store.spec.settings)
    if there is None or there.data != store.spec.settings:
        await ctx.apply(wanted)
        there = there or wanted
    await ctx.apply(deployment(store, store.name, {"hash": digest(dict(there.data))}))


async def hash_of_what_is_wanted(store: Store, ctx: sp.Context) -> None:
    await ctx.apply(ConfigMap.named(store.name, data=store.spec.settings))
    await ctx.apply(deployment(store, store.name, {"hash": digest(store.spec.settings)}))


async def restarts_when_it_changed(store: Store, ctx: sp.Context) -> None:
    there = await ctx.get(ConfigMap, store.name)
    if there is None or there.data != store.spec.settings:
        await ctx.apply(ConfigMap.named(store.name, data=store.spec.settings))
        await ctx.apply(deployment(store, store.name, {"hash": digest(store.spec.settings)}))
    elif await ctx.get(Deployment, store.name) is None:
        await ctx.apply(deployment(store, store.name, {"hash": digest(store.spec.settings)}))


# -- blue and green ----------------------------------------------------------------------------------------------------


class Colours:
    """Rolls out by switching a service between two deployments."""

    def __init__(self) -> None:
        self.active = "blue"

    async def reconcile(self, store: Store, ctx: sp.Context) -> Any:
        live = await ctx.get(Deployment, f"{store.name}-{self.active}")
        if live is not None and live.spec.template.spec.containers[0].image != store.spec.image:
            self.active = "green" if self.active == "blue" else "blue"
        await ctx.apply(deployment(store, f"{store.name}-{self.active}"))
        ports = [ServicePort(port=80)]
        spec = ServiceSpec(selector={"app": f"{store.name}-{self.active}"}, ports=ports)
        await ctx.apply(Service.named(store.name, spec=spec))
        other = await ctx.get(Deployment, f"{store.name}-{'green' if self.active == 'blue' else 'blue'}")
        if other is not None:
            await ctx.delete(other)


def next_colour(store: Store, live: str, there: Deployment | None) -> str:
    if there is None or there.spec.template.spec.containers[0].image == store.spec.image:
        return live
    return "green" if live == "blue" else "blue"


async def switches_when_available(store: Store, ctx: sp.Context) -> Any:
    service = await found(Service, store.name, ctx)
    live = (service.spec.selector or {}).get("colour", "blue") if service is not None else "blue"
    there = await found(Deployment, f"{store.name}-{live}", ctx)
    wanted = next_colour(store, live, there)
    rolled = await ctx.apply(deployment(store, f"{store.name}-{wanted}"))
    if wanted != live and (rolled.status.available_replicas or 0) < store.spec.replicas:
        return None  # an event of the deployment's comes when it is
    spec = ServiceSpec(selector={"app": f"{store.name}-{wanted}", "colour": wanted}, ports=[ServicePort(port=80)])
    await ctx.apply(Service.named(store.name, spec=spec))
    other = await ctx.get(Deployment, f"{store.name}-{'green' if wanted == 'blue' else 'blue'}")
    newest = await found(Store, store.name, ctx)
    if other is not None and newest is not None and newest.metadata.generation == store.metadata.generation:
        await ctx.delete(other)
    store.status.phase = "Ready"
    return None


# -- copies in other namespaces ----------------------------------------------------------------------------------------


def copy_of(store: Store, space: str) -> Secret:
    labels = {"store": store.name, "store-uid": store.uid}
    return Secret.named("store-access", space, labels=labels, string_data={"key": store.spec.key})


async def copies(store: Store, ctx: sp.Context) -> None:
    for space in store.spec.spaces:
        await ctx.apply(copy_of(store, space), controlled=False)


async def copies_and_takes_away(store: Store, ctx: sp.Context) -> None:
    for space in store.spec.spaces:
        await ctx.apply(copy_of(store, space), controlled=False)
    for secret in await ctx.client.list(Secret, namespace="", selector={"store-uid": store.uid}):
        if secret.namespace not in store.spec.spaces:
            await ctx.delete(secret)


async def takes_all_away(store: Store, ctx: sp.Context) -> None:
    for secret in await ctx.client.list(Secret, namespace="", selector={"store-uid": store.uid}):
        await ctx.delete(secret)


SPACES = [Namespace.named("one"), Namespace.named("two")]


# -- generated names ---------------------------------------------------------------------------------------------------


def run_of(store: Store, *, name: str = "") -> Job:
    labels = {"store": store.name, "serial": str(store.spec.serial)}
    if name:
        meta = sp.ObjectMeta(name=name, labels=labels)
    else:
        meta = sp.ObjectMeta(generate_name=f"{store.name}-run-", labels=labels)
    template = PodTemplateSpec(spec=PodSpec(containers=pod("run").containers, restart_policy="Never"))
    return Job(metadata=meta, spec=JobSpec(template=template))


async def one_run_each_serial(store: Store, ctx: sp.Context) -> None:
    if store.status.serial != store.spec.serial:
        await ctx.create(run_of(store))
        store.status.serial = store.spec.serial


async def a_run_of_that_name(store: Store, ctx: sp.Context) -> None:
    try:
        await ctx.create(run_of(store, name=f"{store.name}-run-{store.spec.serial}"))
    except AlreadyExists:
        ctx.log.info("it is there already")
    store.status.serial = store.spec.serial


# -- adoption ----------------------------------------------------------------------------------------------------------


async def adopts_whatever_it_finds(store: Store, ctx: sp.Context) -> None:
    reference = {
        "apiVersion": "strange.example.com/v1", "kind": "Store", "name": store.name, "uid": store.uid,
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip
    for config_map in await ctx.list(ConfigMap, selector={"for": store.name}):
        if not any(owner.uid == store.uid for owner in config_map.metadata.owner_references):
            await ctx.patch(config_map, {"metadata": {"ownerReferences": [reference]}})
    store.status.count = len(await ctx.list(ConfigMap, selector={"for": store.name}))


async def adopts_what_nobody_has(store: Store, ctx: sp.Context) -> None:
    reference = {
        "apiVersion": "strange.example.com/v1", "kind": "Store", "name": store.name, "uid": store.uid,
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip
    mine = 0
    for config_map in await ctx.list(ConfigMap, selector={"for": store.name}):
        owner = config_map.controller_ref if hasattr(config_map, "controller_ref") else None
        owners = config_map.metadata.owner_references
        if not owners and owner is None:
            meta = {"resourceVersion": config_map.metadata.resource_version, "ownerReferences": [reference]}
            await ctx.patch(config_map, {"metadata": meta})
            mine += 1
        elif any(ref.uid == store.uid for ref in owners):
            mine += 1
    store.status.count = mine


async def found_and_foreign(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(ConfigMap.named("owner", "default"))
    owner = await cluster.get(ConfigMap, "owner")
    theirs = ConfigMap.named("theirs", "default", labels={"for": "main"})
    theirs.metadata.owner_references = [
        OwnerReference(api_version="v1", kind="ConfigMap", name="owner", uid=owner.uid, controller=True)
    ]
    await cluster.apply(theirs)
    await cluster.apply(ConfigMap.named("free", "default", labels={"for": "main"}))
    await cluster.settle()
    await cluster.apply(Store.named("main", "default"))
    await cluster.settle()
    await cluster.delete(await cluster.get(Store, "main"))
    await cluster.settle()


def theirs_stays(objects: Objects) -> bool:
    there = objects.get(ConfigMap, "theirs")
    return there is None or any(ref.kind == "ConfigMap" for ref in there.metadata.owner_references)


def by_label(head: Head) -> list[sp.ObjectKey]:
    return [sp.ObjectKey.of(head.namespace, head.labels["for"])] if "for" in head.labels else []


# -- claims of pods that go --------------------------------------------------------------------------------------------


def claim(store: Store, number: int) -> PersistentVolumeClaim:
    size = VolumeResourceRequirements(requests={"storage": "1Gi"})
    spec = PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=size)
    labels = {"store": store.name, "number": str(number)}
    return PersistentVolumeClaim.named(f"data-{store.name}-{number}", labels=labels, spec=spec)


def member(store: Store, number: int) -> Pod:
    return Pod.named(f"{store.name}-{number}", labels={"store": store.name}, spec=pod(store.spec.image))


async def pod_and_its_claim(store: Store, ctx: sp.Context) -> None:
    for number in range(store.spec.replicas):
        await ctx.apply(claim(store, number))
        if await ctx.get(Pod, f"{store.name}-{number}") is None:
            await ctx.create(member(store, number))
    for pod in ctx.owned(Pod):
        number = int(pod.name.rpartition("-")[2])
        if number >= store.spec.replicas:
            await ctx.delete(pod)
            volume = await ctx.get(PersistentVolumeClaim, f"data-{pod.name}")
            if volume is not None:
                await ctx.delete(volume)


async def pods_and_claims(store: Store, ctx: sp.Context) -> None:
    numbers = range(store.spec.replicas)
    await ctx.keep(PersistentVolumeClaim, [claim(store, number) for number in numbers])
    await ctx.keep(Pod, [member(store, number) for number in numbers])


# -- errors that are swallowed -----------------------------------------------------------------------------------------


async def swallows(store: Store, ctx: sp.Context) -> None:
    try:
        await ctx.apply(ConfigMap.named(store.name, data=store.spec.settings))
        await ctx.apply(Secret.named(store.name, string_data={"key": store.spec.key}))
        store.status.phase = "Ready"
    except Exception as problem:  # noqa: BLE001 - the bug
        ctx.log.error("failed: %s", problem)


async def reports(store: Store, ctx: sp.Context) -> None:
    try:
        await ctx.apply(ConfigMap.named(store.name, data=store.spec.settings))
        await ctx.apply(Secret.named(store.name, string_data={"key": store.spec.key}))
    except sp.ApiError:
        store.status.phase = "Failed"
        raise
    store.status.phase = "Ready"


# -- the address of a service ------------------------------------------------------------------------------------------


async def address_once(store: Store, ctx: sp.Context) -> None:
    ports = ServiceSpec(selector={"app": store.name}, ports=[ServicePort(port=80)])
    service = await ctx.apply(Service.named(store.name, spec=ports))
    await ctx.apply(Service.named(f"{store.name}-metrics", spec=ports))
    if not store.status.address:
        store.status.address = f"http://{service.spec.cluster_ip}:80"


async def address_each_time(store: Store, ctx: sp.Context) -> None:
    ports = ServiceSpec(selector={"app": store.name}, ports=[ServicePort(port=80)])
    service = await ctx.apply(Service.named(store.name, spec=ports))
    await ctx.apply(Service.named(f"{store.name}-metrics", spec=ports))
    store.status.address = f"http://{service.spec.cluster_ip}:80"


async def loses_its_service(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(Store.named("main", "default"))
    await cluster.settle()
    await cluster.delete(await cluster.get(Service, "main"))
    await cluster.apply(Service.named("other", "default", spec=ServiceSpec(ports=[ServicePort(port=80)])))
    await cluster.settle()


# -- a key that is rotated ---------------------------------------------------------------------------------------------


async def deletes_the_old_key_first(store: Store, ctx: sp.Context) -> None:
    name = f"{store.name}-key-{store.spec.serial}"
    for secret in ctx.owned(Secret):
        if secret.name != name:
            await ctx.delete(secret)
    await ctx.apply(Secret.named(name, string_data={"key": name}))
    store.status.current = name


async def deletes_the_old_key_last(store: Store, ctx: sp.Context) -> None:
    name = f"{store.name}-key-{store.spec.serial}"
    if any(secret.name != name for secret in ctx.owned(Secret)):
        await ctx.ensure_current()
    await ctx.apply(Secret.named(name, string_data={"key": name}))
    if store.status.current != name:
        await ctx.patch(store, {"status": {"current": name}}, subresource="status")
    for secret in ctx.owned(Secret):
        if secret.name != name:
            await ctx.delete(secret)


def key_is_there(objects: Objects) -> bool:
    return all(
        not store.status.current or objects.get(Secret, store.status.current) is not None
        for store in objects.list(Store)
    )


# -- a counter ---------------------------------------------------------------------------------------------------------


async def counts_up(store: Store, ctx: sp.Context) -> None:
    for number in range(store.spec.replicas):
        try:
            await ctx.create(ConfigMap.named(f"{store.name}-{number}"))
            store.status.count += 1
        except AlreadyExists:
            continue


async def counts_what_is_there(store: Store, ctx: sp.Context) -> None:
    config_map = await ctx.keep(ConfigMap, [ConfigMap.named(f"{store.name}-{n}") for n in range(store.spec.replicas)])
    store.status.count = len(config_map)


# -- batches -----------------------------------------------------------------------------------------------------------


class Batches:
    """Writes down what it has collected when there are enough."""

    def __init__(self) -> None:
        self.waiting: dict[str, str] = {}

    async def reconcile(self, store: Store, ctx: sp.Context) -> None:
        self.waiting[store.name] = store.spec.key
        if len(self.waiting) >= 2:
            there = await ctx.get(ConfigMap, "index")
            data = {**(there.data if there is not None else {}), **self.waiting}
            await ctx.apply(ConfigMap.named("index", data=data), controlled=False)
            self.waiting.clear()


async def writes_all_of_them(store: Store, ctx: sp.Context) -> None:
    data = {store.name: store.spec.key for store in await ctx.list(Store)}
    await ctx.apply(ConfigMap.named("index", data=data), controlled=False)


async def two_stores(cluster: sp.testing.Cluster) -> None:
    for name in ("main", "side"):
        await cluster.apply(Store.named(name, "default"))
        await cluster.settle()
    await cluster.apply(Store.named("main", "default", spec=StoreSpec(key="b")))
    await cluster.settle()


def made(reconcile: Any, *owned: Any, finalize: Any = None) -> Any:
    def factory() -> list[sp.Controller[Any]]:
        controller = sp.Controller(Store, reconcile() if isinstance(reconcile, type) else reconcile)
        for kind in owned:
            controller = controller.owns(kind)
        return [controller.finalize(finalize) if finalize is not None else controller]

    return factory


def of(cls: Any, *owned: Any) -> Any:
    return lambda: made(cls().reconcile, *owned)()


ONE_AND_TWO = changes(StoreSpec(image="store:1"), StoreSpec(image="store:2"))
SETTINGS = changes(StoreSpec(settings={"a": "1"}), StoreSpec(settings={"a": "2"}))
MADE_AND_GONE = changes(StoreSpec(), StoreSpec(replicas=2), deletes=True)

PAIRS = [
    Pair(
        name="bucket-created-before-finalizer",
        root="R31",
        source=DERIVED,
        scenario=MADE_AND_GONE,
        buggy=made(bucket_then_finalizer),
        correct=made(ensures_the_bucket, finalize=removes_the_bucket),
        options={"externals": [buckets]},
    ),
    Pair(
        name="failed-removal-ignored-in-finalizer",
        root="R29",
        source=DERIVED,
        scenario=MADE_AND_GONE,
        buggy=made(ensures_the_bucket, finalize=removes_if_it_can),
        correct=made(ensures_the_bucket, finalize=removes_the_bucket),
        options={"externals": [buckets]},
    ),
    Pair(
        name="hash-of-cached-settings",
        root="R42",
        source=DERIVED,
        scenario=SETTINGS,
        buggy=made(hash_of_what_is_there, Deployment),
        correct=made(hash_of_what_is_wanted, ConfigMap, Deployment),
    ),
    Pair(
        name="restart-only-on-config-write",
        root="R21",
        source=DERIVED,
        scenario=SETTINGS,
        buggy=made(restarts_when_it_changed, ConfigMap, Deployment),
        correct=made(hash_of_what_is_wanted, ConfigMap, Deployment),
    ),
    Pair(
        name="active-colour-in-memory",
        root="R34",
        source=DERIVED,
        scenario=ONE_AND_TWO,
        buggy=of(Colours, Deployment, Service),
        correct=made(switches_when_available, Deployment, Service),
    ),
    Pair(
        name="copies-in-namespaces-not-deleted",
        root="R72",
        source=DERIVED,
        scenario=changes(StoreSpec(spaces=["one", "two"]), StoreSpec(spaces=["one"]), deletes=True),
        buggy=lambda: [sp.Controller(Store, copies).reads(Secret)],
        correct=lambda: [sp.Controller(Store, copies_and_takes_away).reads(Secret).finalize(takes_all_away)],
        options={"objects": SPACES},
    ),
    Pair(
        name="run-with-generated-name-per-serial",
        root="R26",
        source=DERIVED,
        scenario=changes(StoreSpec(serial=1), StoreSpec(serial=2)),
        buggy=made(one_run_each_serial, Job),
        correct=made(a_run_of_that_name, Job),
    ),
    Pair(
        name="adopts-object-of-other-owner",
        root="R59",
        source=DERIVED,
        scenario=found_and_foreign,
        buggy=lambda: [sp.Controller(Store, adopts_whatever_it_finds).watches(ConfigMap, by_label)],
        correct=lambda: [sp.Controller(Store, adopts_what_nobody_has).watches(ConfigMap, by_label)],
        options={"predicates": [always(theirs_stays, "what others own stays theirs")]},
    ),
    Pair(
        name="claim-deleted-after-pod",
        root="R33",
        source=DERIVED,
        scenario=changes(StoreSpec(replicas=3), StoreSpec(replicas=1)),
        buggy=made(pod_and_its_claim, Pod, PersistentVolumeClaim),
        correct=made(pods_and_claims, Pod, PersistentVolumeClaim),
    ),
    Pair(
        name="exception-swallowed",
        root="R75",
        source=DERIVED,
        scenario=SETTINGS,
        buggy=made(swallows, ConfigMap, Secret),
        correct=made(reports, ConfigMap, Secret),
    ),
    Pair(
        name="address-in-status-never-updated",
        root="R47",
        source=DERIVED,
        scenario=loses_its_service,
        buggy=made(address_once, Service),
        correct=made(address_each_time, Service),
    ),
    Pair(
        name="old-key-deleted-before-new-is-published",
        root="R25",
        source=DERIVED,
        scenario=changes(StoreSpec(serial=1), StoreSpec(serial=2)),
        buggy=made(deletes_the_old_key_first, Secret),
        correct=made(deletes_the_old_key_last, Secret),
        options={"predicates": [always(key_is_there, "the current key is there")]},
    ),
    Pair(
        name="counts-own-creations",
        root="R46",
        source=DERIVED,
        scenario=changes(StoreSpec(replicas=2), StoreSpec(replicas=3)),
        buggy=made(counts_up, ConfigMap),
        correct=made(counts_what_is_there, ConfigMap),
    ),
    Pair(
        name="batch-buffer-in-memory",
        root="R38",
        source=DERIVED,
        scenario=two_stores,
        buggy=lambda: [sp.Controller(Store, Batches().reconcile)],
        correct=lambda: [sp.Controller(Store, writes_all_of_them)],
    ),
]
