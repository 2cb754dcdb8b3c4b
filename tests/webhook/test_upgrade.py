"""Mykind's upgrade from its first version to the second and back, while both are written all the time.

Only the network between pods is made up: the embedded server calls a `WebhookServer` over TLS by its Service's name,
with certificates from a Secret that it was told to trust.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import mykind as first
import pytest
from mykinds import Mykind, MykindSpec, MykindV1alpha1, MykindV1alpha1Spec, admission, controller, default_template

import setpoint as sp
from setpoint.apiserver import ApiServer, HttpCaller
from setpoint.apps.storage_migration import StorageMigration
from setpoint.client import Client, Conflict, InProcessTransport
from setpoint.crd import Versions, crd_for
from setpoint.meta import from_wire, to_wire
from setpoint.models.admissionregistration_v1 import MutatingWebhookConfiguration
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.models.core_v1 import Namespace
from setpoint.webhook import (
    Rotation,
    SecretCertificates,
    ServiceTarget,
    Webhooks,
    WebhookServer,
    install,
    service_names,
    trusting,
    uninstall,
)
from setpoint.webhook.certificate_authority import split

from .load import Load, Owner, passer_by, reader

pytestmark = pytest.mark.wall_clock

DEFINITION = "mykinds.grp.example.com"
SERVICE = ServiceTarget("mykind-webhook", "system")
SERVED = (admission, Versions.of(Mykind))
LIFE = Rotation(authority_lifetime=timedelta(days=20), serving_lifetime=timedelta(days=20), overlap=timedelta(hours=1))


class Deployment:
    """Replicas of the webhooks behind their Service; they share a Secret and nothing else."""

    def __init__(self) -> None:
        self.client: Client
        self.behind: WebhookServer | None = None
        # TLS goes by the real clock, so what was made long ago was made before the test.
        self.time = datetime.now(UTC) - timedelta(days=13.5)
        self._tasks: dict[WebhookServer, asyncio.Task[None]] = {}

    def resolve(self, service: tuple[str, str, int]) -> str | None:
        assert service == ("system", "mykind-webhook", 443)
        return f"127.0.0.1:{self.behind.port}" if self.behind is not None else None

    async def start(self) -> SecretCertificates:
        """One replica more, which gets all requests from now on."""
        certificates = SecretCertificates(
            self.client,
            "mykind-webhook-tls",
            "system",
            names=service_names("mykind-webhook", "system"),
            trusting=trusting(SERVED, "mykind"),
            rotation=LIFE,
            now=lambda: self.time,
        )
        server = WebhookServer(Webhooks(*SERVED), certificates, host="127.0.0.1", port=0, drain_delay=0.1)
        self._tasks[server] = asyncio.create_task(server.run())
        await server.ready.wait()
        self.behind = server
        return certificates

    async def stop(self, *servers: WebhookServer) -> None:
        for server in servers or [*self._tasks]:
            if self.behind is server:
                self.behind = None
            server.stop()
            await self._tasks.pop(server)


@asynccontextmanager
async def world() -> AsyncIterator[tuple[Client, Deployment, Load]]:
    deployment = Deployment()
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(ApiServer(webhook_caller=HttpCaller(deployment.resolve)))
        client = deployment.client = await stack.enter_async_context(
            Client(InProcessTransport(server.handle), on_warning=lambda _: None)
        )
        stack.push_async_callback(deployment.stop)
        await client.create(Namespace.named("system"))
        await client.create(from_wire(CustomResourceDefinition, crd_for(first.Mykind)))
        async with client.watch(CustomResourceDefinition) as events:
            async for event in events:
                if isinstance(event.object, CustomResourceDefinition) and event.object.is_established:
                    break
        async with asyncio.TaskGroup() as tasks:
            load = Load(tasks)
            yield client, deployment, load
            await load.end()


async def forget_version(client: Client, name: str) -> None:
    """Removes the managed fields of v1alpha2: while an object has some, applies are refused without that version."""
    while True:
        obj = await client.get(MykindV1alpha1, name, namespace="default")
        managed = to_wire(obj)["metadata"]["managedFields"]
        metadata = {
            "resourceVersion": obj.metadata.resource_version,
            "managedFields": [entry for entry in managed if not entry["apiVersion"].endswith("/v1alpha2")],
        }
        try:
            await client.patch(MykindV1alpha1, name, {"metadata": metadata}, namespace="default")
        except Conflict:
            continue
        return


# -- who writes what ---------------------------------------------------------------------------------------------------


def owner_of_numpods(client: Client, name: str, how: Any) -> Owner:
    """Owns ``numpods`` of v1alpha1."""

    def put(obj: MykindV1alpha1, value: int) -> None:
        obj.spec.numpods = value

    return Owner(
        client,
        MykindV1alpha1,
        name,
        value=lambda number: number % 3,
        get=lambda obj: obj.spec.numpods,
        put=put,
        patch=lambda value: {"spec": {"numpods": value}},
        applied=old,
        how=how,
    )


def owner_of_image(client: Client, name: str, how: Any) -> Owner:
    """Owns the template's image of v1alpha2."""

    def template(image: str) -> Any:
        new_default_template = default_template()
        new_default_template.spec.containers[0].image = image
        return new_default_template

    def put(obj: Mykind, value: str) -> None:
        obj.spec.template = template(value)

    def get(obj: Mykind) -> str:
        return obj.spec.template.spec.containers[0].image or "" if obj.spec.template is not None else ""

    return Owner(
        client,
        Mykind,
        name,
        value=lambda number: f"busybox:{number}",
        get=get,
        put=put,
        patch=lambda value: {"spec": {"template": to_wire(template(value))}},
        applied=lambda name, value: Mykind.named(name, "default", spec=MykindSpec(template=template(value))),
        how=how,
    )


def old(name: str, number: int) -> MykindV1alpha1:
    return MykindV1alpha1.named(name, "default", spec=MykindV1alpha1Spec(numpods=number))


def new(name: str, number: int) -> Mykind:
    return Mykind.named(name, "default", spec=MykindSpec(replicas=number))


def sound_old(document: dict[str, Any]) -> bool:
    return document["apiVersion"] == "grp.example.com/v1alpha1" and document["spec"].keys() == {"numpods"}


def sound_new(document: dict[str, Any]) -> bool:
    return document["apiVersion"] == "grp.example.com/v1alpha2" and {"replicas"} <= document["spec"].keys() <= {
        "replicas",
        "template",
    }


async def stored(client: Client) -> list[str]:
    return (await client.get(CustomResourceDefinition, DEFINITION)).status.stored_versions


async def store_in(client: Client, version: str) -> None:
    """Moves the storage flag: ``storage=False`` goes from one class to the other."""
    definition = await client.get(CustomResourceDefinition, DEFINITION)
    for one_version in definition.spec.versions:
        one_version.storage = one_version.name == version
    await client.update(definition)


async def trusted(client: Client) -> int:
    """The number of authorities that the API server is told to trust."""
    (webhook,) = (await client.get(MutatingWebhookConfiguration, "mykind")).webhooks
    assert webhook.client_config.ca_bundle is not None
    return len(split(webhook.client_config.ca_bundle))


async def test_no_object_and_no_request_is_lost_on_the_way_there_and_back() -> None:
    async with world() as (client, deployment, load):
        owners = {
            "old-patch": owner_of_numpods(client, "a", "patch"),
            "old-update": owner_of_numpods(client, "b", "update"),
            "old-apply": owner_of_numpods(client, "c", "apply"),
            "shared-old": owner_of_numpods(client, "s", "patch"),
        }
        for name in "abcs":
            await client.create(first.Mykind.named(name, "default", spec=first.MykindSpec(numpods=1)))
        uids = {item.name: item.uid for item in await client.list(first.Mykind)}
        load.start(**owners)
        load.start(old_reader=reader(client, MykindV1alpha1, sound_old, 4))
        load.watch(client, MykindV1alpha1, sound_old)
        async with sp.Manager(client, controllers=[first.controller]):
            await load.goes_on()

            # The second version: webhooks first, then the definition.
            certificates = await deployment.start()
            await install(client, SERVED, "mykind", SERVICE, bundle=certificates.bundle, definitions=True)
            await load.goes_on()
        owners |= {
            "new-patch": owner_of_image(client, "d", "patch"),
            "new-update": owner_of_image(client, "e", "update"),
            "new-apply": owner_of_image(client, "f", "apply"),
            "shared-new": owner_of_image(client, "s", "patch"),
        }
        for name in "def":
            uids[name] = (await client.create(Mykind.named(name, "default", spec=MykindSpec(replicas=2)))).uid
        modern = {name: owner for name, owner in owners.items() if owner.kind is Mykind} | {
            "new_reader": reader(client, Mykind, sound_new, 7),
            "there": passer_by(client, lambda number: old(f"there-{number}", number % 3), Mykind),
            "back": passer_by(client, lambda number: new(f"back-{number}", number % 3), MykindV1alpha1),
        }
        load.start(**modern)
        load.watch(client, Mykind, sound_new)
        async with sp.Manager(client, controllers=[controller]):
            await load.goes_on()

            # The webhooks are replaced, as a Deployment does it: no request fails.
            before = deployment.behind
            assert before is not None
            certificates = await deployment.start()
            await load.goes_on(1)
            await deployment.stop(before)
            await load.goes_on()
            assert load.excuses == 0

            # Their certificate is renewed, and then their authority: new and old are trusted together, before and
            # after a certificate of the new one is served.
            sizes, serving = [await trusted(client)], {certificates.current}
            deployment.time = datetime.now(UTC) - timedelta(hours=3)
            for _ in range(3):
                await certificates.check()
                await load.goes_on()
                sizes.append(await trusted(client))
                serving.add(certificates.current)
                deployment.time += timedelta(hours=1, seconds=1)
            assert (sizes, len(serving)) == ([1, 2, 2, 1], 3)
            assert load.excuses == 0

            # They are gone altogether: what needs them fails, and nothing else.
            load.excused = True
            await deployment.stop()
            await load.goes_on(2)
            certificates = await deployment.start()
            await load.goes_on(1)
            load.excused = False
            excuses = load.excuses
            assert excuses > 0

            # Every object moves to the new version.
            assert await stored(client) == ["v1alpha1", "v1alpha2"]
            await StorageMigration(client, DEFINITION, page=3).run()
            assert await stored(client) == ["v1alpha2"]
            await load.goes_on()

            # And back: the flag first, then the objects.
            await store_in(client, "v1alpha1")
            await load.goes_on()
            await StorageMigration(client, DEFINITION, page=3).run()
            assert await stored(client) == ["v1alpha1"]
            await load.end(*modern)
            held = {mykind.name: mykind.spec for mykind in await client.list(Mykind, namespace="default")}
        for name in held:
            await forget_version(client, name)
        await uninstall(client, SERVED, "mykind")
        await deployment.stop()
        await client.apply(from_wire(CustomResourceDefinition, crd_for(first.Mykind)), field_manager="x")
        async with sp.Manager(client, controllers=[first.controller]):
            await load.goes_on()
            await load.end()
        assert load.excuses == excuses

        # All objects are there, with the fields their owners wrote; those of the second version only have been kept.
        by_name = {item.name: item for item in await client.list(first.Mykind, namespace="default")}
        assert {name: value.uid for name, value in by_name.items() if not name.startswith(("there-", "back-"))} == uids
        for owner in owners.values():
            if owner.kind is MykindV1alpha1:
                assert by_name[owner.name].spec.numpods in owner.possible
            else:
                assert owner.get(Mykind(spec=held[owner.name])) in owner.possible
                back = Versions.of(Mykind).read(Mykind, to_wire(by_name[owner.name]))
                assert owner.get(back) in owner.possible
