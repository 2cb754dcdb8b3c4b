"""Site operators: jobs, rotated secrets, names in DNS, namespaces, several controllers, mappings."""

from __future__ import annotations

from typing import Any

from tests.simulation.corpus.pair import Pair

import setpoint as sp
from setpoint.client import AlreadyExists
from setpoint.meta import Head, LabelSelector
from setpoint.models.apps_v1 import Deployment, DeploymentSpec, StatefulSet, StatefulSetSpec
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
from setpoint.simulation import External, call


class SiteSpec(sp.Model):
    replicas: int = 1
    version: str = "1"
    host: str = ""
    tenants: list[str] = []
    revision: int = 1


class SiteStatus(sp.ConditionedStatus):
    migrated: str = ""
    phase: str = ""
    password_of: int = 0
    serving: str = ""


class Site(sp.CustomResource, group="corpus.example.com", version="v1"):
    """A web site with a database."""

    spec: SiteSpec = SiteSpec()
    status: SiteStatus = SiteStatus()


def changes(*specs: SiteSpec) -> Any:
    async def scenario(cluster: sp.testing.Cluster) -> None:
        for spec in specs:
            await cluster.apply(Site.named("shop", "default", spec=spec))
            await cluster.settle()

    return scenario


def pod(image: str) -> PodSpec:
    return PodSpec(containers=[Container(name="main", image=image)])


def web(site: Site, *, image: str, replicas: int) -> Deployment:
    labels = {"site": site.name}
    template = PodTemplateSpec(metadata=sp.ObjectMeta(labels=labels), spec=pod(image))
    spec = DeploymentSpec(replicas=replicas, selector=LabelSelector(match_labels=labels), template=template)
    return Deployment.named(site.name, spec=spec)


# -- a migration that is noted before it has begun ---------------------------------------------------------------------


def migration(site: Site) -> Job:
    template = PodTemplateSpec(spec=PodSpec(containers=[Container(name="m", image="m")], restart_policy="Never"))
    return Job.named(f"{site.name}-migrate-{site.spec.version}", spec=JobSpec(template=template))


async def notes_the_migration_first(site: Site, ctx: sp.Context) -> None:
    if site.status.migrated != site.spec.version:
        await ctx.patch(site, {"status": {"migrated": site.spec.version}}, subresource="status")
        await ctx.create(migration(site))
    await ctx.apply(web(site, image=f"shop:{site.spec.version}", replicas=1))


async def notes_the_migration_afterwards(site: Site, ctx: sp.Context) -> None:
    if site.status.migrated != site.spec.version:
        try:
            await ctx.create(migration(site))
        except AlreadyExists:
            ctx.log.info("it has begun already")
        site.status.migrated = site.spec.version
    await ctx.apply(web(site, image=f"shop:{site.spec.version}", replicas=1))


# -- a password that is rotated in two places --------------------------------------------------------------------------


class Database(External):
    """A database with one user."""

    def __init__(self) -> None:
        self.password = ""

    @call
    async def set_password(self, password: str) -> None:
        self.password = password


database = Database()


async def rotates_the_secret_first(site: Site, ctx: sp.Context) -> None:
    if site.status.password_of != site.spec.revision:
        password = f"secret-{site.spec.revision}"
        present = await ctx.get(Secret, f"{site.name}-db")
        if present is None or present.labels.get("revision") != str(site.spec.revision):
            labels = {"revision": str(site.spec.revision)}
            await ctx.apply(Secret.named(f"{site.name}-db", labels=labels, string_data={"password": password}))
            await database.set_password(password)
        site.status.password_of = site.spec.revision


async def rotates_both_each_time(site: Site, ctx: sp.Context) -> None:
    password = f"secret-{site.spec.revision}"
    labels = {"revision": str(site.spec.revision)}
    await ctx.apply(Secret.named(f"{site.name}-db", labels=labels, string_data={"password": password}))
    if site.status.password_of != site.spec.revision:
        await ctx.ensure_current()
        await database.set_password(password)
        site.status.password_of = site.spec.revision


# -- the name in DNS ---------------------------------------------------------------------------------------------------


class Dns(External):
    """Names and where they point to."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    @call
    async def point(self, name: str, target: str) -> None:
        self.names[name] = target

    @call
    async def forget(self, name: str) -> None:
        self.names.pop(name, None)

    @call(nothing=[])
    async def of(self, target: str) -> list[str]:
        return sorted(name for name, one_name in self.names.items() if one_name == target)


dns = Dns()


class RemembersHosts:
    """Forgets the old name when it sees the new one."""

    def __init__(self) -> None:
        self.last: dict[str, str] = {}

    async def reconcile(self, site: Site, ctx: sp.Context) -> None:
        before = self.last.get(site.uid)
        if before is not None and before != site.spec.host:
            await dns.forget(before)
        await dns.point(site.spec.host, site.name)
        self.last[site.uid] = site.spec.host


async def asks_for_hosts(site: Site, ctx: sp.Context) -> Any:
    await dns.point(site.spec.host, site.name)
    names = await dns.of(site.name)
    for name in names:
        if name != site.spec.host:
            await dns.forget(name)
    return None if site.spec.host in names else sp.retry("an answer without the name that was just written")


# -- namespaces of tenants ---------------------------------------------------------------------------------------------


async def tenants_by_events(site: Site, ctx: sp.Context) -> None:
    for tenant in site.spec.tenants:
        if await ctx.get(Namespace, f"{site.name}-{tenant}") is None:
            space = Namespace.named(f"{site.name}-{tenant}", labels={"site": site.name})
            await ctx.create(space, controlled=False)
            limits = ConfigMap.named("limits", f"{site.name}-{tenant}", data={"pods": "10"})
            await ctx.create(limits, controlled=False)


async def tenants_each_by_itself(site: Site, ctx: sp.Context) -> None:
    for tenant in site.spec.tenants:
        await ctx.apply(Namespace.named(f"{site.name}-{tenant}", labels={"site": site.name}), controlled=False)
        limits = ConfigMap.named("limits", f"{site.name}-{tenant}", data={"pods": "10"})
        await ctx.apply(limits, controlled=False)


# -- two controllers that hand over by a phase -------------------------------------------------------------------------


async def prepares(site: Site, ctx: sp.Context) -> None:
    if site.status.phase == "":
        await ctx.patch(site, {"status": {"phase": "Prepared"}}, subresource="status")
        await ctx.apply(ConfigMap.named(f"{site.name}-env", data={"version": site.spec.version}))


async def prepares_first(site: Site, ctx: sp.Context) -> None:
    await ctx.apply(ConfigMap.named(f"{site.name}-env", data={"version": site.spec.version}))
    if site.status.phase == "":
        await ctx.patch(site, {"status": {"phase": "Prepared"}}, subresource="status")


async def serves(site: Site, ctx: sp.Context) -> None:
    if site.status.phase == "Prepared":
        await ctx.apply(web(site, image=f"shop:{site.spec.version}", replicas=site.spec.replicas))


def two(first: Any) -> Any:
    return lambda: [
        sp.Controller(Site, first, name="prepare", owns_status=False).owns(ConfigMap),
        sp.Controller(Site, serves, name="serve", owns_status=False).owns(Deployment),
    ]


# -- sites that use a shared configuration -----------------------------------------------------------------------------


async def copies_the_configuration(site: Site, ctx: sp.Context) -> None:
    shared = await ctx.get(ConfigMap, "shared")
    value = shared.data.get("theme", "") if shared is not None else "none"
    await ctx.apply(ConfigMap.named(f"{site.name}-theme", data={"theme": value}))


def only_the_first(head: Head, caches: sp.CacheReader) -> list[sp.ObjectKey]:
    return [sp.ObjectKey.of("default", "shop")] if head.name == "shared" else []


def all_of_them(head: Head, caches: sp.CacheReader) -> list[sp.ObjectKey]:
    return [item.key for item in caches.lister(Site).list()] if head.name == "shared" else []


async def two_sites_and_a_theme(cluster: sp.testing.Cluster) -> None:
    await cluster.apply(ConfigMap.named("shared", "default", data={"theme": "dark"}))
    for name in ("blog", "shop"):
        await cluster.apply(Site.named(name, "default"))
    await cluster.settle()
    await cluster.apply(ConfigMap.named("shared", "default", data={"theme": "light"}))
    await cluster.settle()


# -- blue and green ----------------------------------------------------------------------------------------------------


def colour(site: Site, version: str) -> ConfigMap:
    return ConfigMap.named(f"{site.name}-{version}", labels={"site": site.name}, data={"version": version})


async def switches_and_forgets(site: Site, ctx: sp.Context) -> None:
    before = site.status.serving
    if before == site.spec.version:
        return
    await ctx.apply(colour(site, site.spec.version))
    spec = ServiceSpec(selector={"version": site.spec.version}, ports=[ServicePort(port=80)])
    await ctx.apply(Service.named(site.name, spec=spec))
    await ctx.patch(site, {"status": {"serving": site.spec.version}}, subresource="status")
    if before and (old := await ctx.get(ConfigMap, f"{site.name}-{before}")) is not None:
        await ctx.delete(old)


async def switches_and_tidies(site: Site, ctx: sp.Context) -> None:
    await ctx.apply(colour(site, site.spec.version))
    spec = ServiceSpec(selector={"version": site.spec.version}, ports=[ServicePort(port=80)])
    await ctx.apply(Service.named(site.name, spec=spec))
    site.status.serving = site.spec.version
    await ctx.keep(ConfigMap, [colour(site, site.spec.version)])


# -- claims of a set that shrinks --------------------------------------------------------------------------------------


def claim(site: Site, number: int) -> PersistentVolumeClaim:
    size = VolumeResourceRequirements(requests={"storage": "1Gi"})
    spec = PersistentVolumeClaimSpec(access_modes=["ReadWriteOnce"], resources=size)
    return PersistentVolumeClaim.named(f"{site.name}-{number}", labels={"site": site.name}, spec=spec)


def database_set(site: Site) -> StatefulSet:
    labels = {"site": site.name}
    template = PodTemplateSpec(metadata=sp.ObjectMeta(labels=labels), spec=pod("db"))
    selector = LabelSelector(match_labels=labels)
    spec = StatefulSetSpec(replicas=site.spec.replicas, service_name=site.name, selector=selector, template=template)
    return StatefulSet.named(site.name, spec=spec)


async def claims_by_the_set(site: Site, ctx: sp.Context) -> None:
    present = await ctx.get(StatefulSet, site.name)
    had = present.spec.replicas or 0 if present is not None else 0
    for number in range(site.spec.replicas):
        await ctx.apply(claim(site, number))
    await ctx.apply(database_set(site))
    for number in range(site.spec.replicas, had):
        surplus = await ctx.get(PersistentVolumeClaim, f"{site.name}-{number}")
        if surplus is not None:
            await ctx.delete(surplus)


async def claims_as_wanted(site: Site, ctx: sp.Context) -> None:
    await ctx.apply(database_set(site))
    await ctx.keep(PersistentVolumeClaim, [claim(site, number) for number in range(site.spec.replicas)])


# -- a helper pod that is waited for -----------------------------------------------------------------------------------


async def waits_in_memory(site: Site, ctx: sp.Context) -> Any:
    if site.status.phase == "Ready":
        return None
    helper = await ctx.get(Pod, f"{site.name}-helper")
    if site.status.phase == "":
        site.status.phase = "Helping"
        await ctx.patch(site, {"status": {"phase": "Helping"}}, subresource="status")
        await ctx.apply(Pod.named(f"{site.name}-helper", spec=pod("helper")))
        return None
    if helper is not None and helper.is_ready:
        await ctx.delete(helper)
        site.status.phase = "Ready"
    return None


async def waits_for_what_is_there(site: Site, ctx: sp.Context) -> Any:
    if site.status.phase == "Ready":
        for left in ctx.owned(Pod):
            await ctx.delete(left)
        return None
    helper = await ctx.apply(Pod.named(f"{site.name}-helper", spec=pod("helper")))
    if helper.is_ready:
        site.status.phase = "Ready"
        return sp.retry("the helper has to go")
    site.status.phase = "Helping"
    return None


# -- as kopf's handlers do ---------------------------------------------------------------------------------------------


class Handlers:
    """Calls one function for a new object and another one for a changed field, by what it has seen of it last."""

    def __init__(self) -> None:
        self.seen: dict[str, SiteSpec] = {}

    async def reconcile(self, site: Site, ctx: sp.Context) -> None:
        before = self.seen.get(site.uid)
        self.seen[site.uid] = site.spec
        if before is None:
            await self.on_create(site, ctx)
        elif before.version != site.spec.version:
            await self.on_version(before.version, site, ctx)

    async def on_create(self, site: Site, ctx: sp.Context) -> None:
        await ctx.apply(colour(site, site.spec.version))

    async def on_version(self, before: str, site: Site, ctx: sp.Context) -> None:
        await ctx.apply(colour(site, site.spec.version))
        old = await ctx.get(ConfigMap, f"{site.name}-{before}")
        if old is not None:
            await ctx.delete(old)


async def by_what_is_there(site: Site, ctx: sp.Context) -> None:
    await ctx.keep(ConfigMap, [colour(site, site.spec.version)])


ONE_AND_TWO = changes(SiteSpec(version="1"), SiteSpec(version="2"))
DERIVED = "derived; no single report"

PAIRS = [
    Pair(
        name="migration-recorded-before-job",
        root="R23",
        source=DERIVED,
        scenario=ONE_AND_TWO,
        buggy=lambda: [sp.Controller(Site, notes_the_migration_first).owns(Job).owns(Deployment)],
        correct=lambda: [sp.Controller(Site, notes_the_migration_afterwards).owns(Job).owns(Deployment)],
    ),
    Pair(
        name="password-rotated-in-secret-only",
        root="R19",
        source=DERIVED,
        scenario=changes(SiteSpec(revision=1), SiteSpec(revision=2)),
        buggy=lambda: [sp.Controller(Site, rotates_the_secret_first).owns(Secret)],
        correct=lambda: [sp.Controller(Site, rotates_both_each_time).owns(Secret)],
        options={"externals": [database]},
    ),
    Pair(
        name="old-dns-name-in-memory",
        root="R34",
        source=DERIVED,
        scenario=changes(SiteSpec(host="a.example.com"), SiteSpec(host="b.example.com")),
        buggy=lambda: [sp.Controller(Site, RemembersHosts().reconcile)],
        correct=lambda: [sp.Controller(Site, asks_for_hosts)],
        options={"externals": [dns]},
    ),
    Pair(
        name="tenant-limits-skipped-after-crash",
        root="R19",
        source=DERIVED,
        scenario=changes(SiteSpec(tenants=["a"]), SiteSpec(tenants=["a", "b"])),
        buggy=lambda: [sp.Controller(Site, tenants_by_events).reads(Namespace)],
        correct=lambda: [sp.Controller(Site, tenants_each_by_itself).reads(Namespace)],
    ),
    Pair(
        name="phase-set-before-work",
        root="R21",
        source=DERIVED,
        scenario=changes(SiteSpec(replicas=1)),
        buggy=two(prepares),
        correct=two(prepares_first),
    ),
    Pair(
        name="mapping-to-first-object-only",
        root="R41",
        source=DERIVED,
        scenario=two_sites_and_a_theme,
        buggy=lambda: [sp.Controller(Site, copies_the_configuration).watches(ConfigMap, only_the_first)],
        correct=lambda: [sp.Controller(Site, copies_the_configuration).watches(ConfigMap, all_of_them)],
    ),
    Pair(
        name="blue-not-deleted-after-switch",
        root="R23",
        source=DERIVED,
        scenario=ONE_AND_TWO,
        buggy=lambda: [sp.Controller(Site, switches_and_forgets).owns(ConfigMap).owns(Service)],
        correct=lambda: [sp.Controller(Site, switches_and_tidies).owns(ConfigMap).owns(Service)],
    ),
    Pair(
        name="claims-by-current-statefulset-size",
        root="R25",
        source=DERIVED,
        scenario=changes(SiteSpec(replicas=3), SiteSpec(replicas=1)),
        buggy=lambda: [sp.Controller(Site, claims_by_the_set).owns(StatefulSet).owns(PersistentVolumeClaim)],
        correct=lambda: [sp.Controller(Site, claims_as_wanted).owns(StatefulSet).owns(PersistentVolumeClaim)],
    ),
    Pair(
        name="phase-set-before-helper-pod",
        root="R21",
        source=DERIVED,
        scenario=changes(SiteSpec()),
        buggy=lambda: [sp.Controller(Site, waits_in_memory).owns(Pod)],
        correct=lambda: [sp.Controller(Site, waits_for_what_is_there).owns(Pod)],
    ),
    Pair(
        name="create-and-update-handlers-in-memory",
        root="R38",
        source=DERIVED,
        scenario=ONE_AND_TWO,
        buggy=lambda: [sp.Controller(Site, Handlers().reconcile).owns(ConfigMap)],
        correct=lambda: [sp.Controller(Site, by_what_is_there).owns(ConfigMap)],
    ),
]
