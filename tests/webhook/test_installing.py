"""Webhooks come into force and go again, over TLS, with an embedded server and its control plane."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from mykinds import Mykind, MykindSpec, MykindV1alpha1, MykindV1alpha1Spec, admission

from setpoint.apiserver import ApiServer
from setpoint.client import ApiError, Client, InProcessTransport, Invalid, NotFound
from setpoint.cluster import ControlPlane
from setpoint.crd import Versions
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.models.core_v1 import Namespace
from setpoint.webhook import (
    Admission,
    Match,
    MemoryCertificates,
    NotInForce,
    UrlTarget,
    Webhooks,
    WebhookServer,
    install,
    uninstall,
)
from setpoint.webhook.installation import generated_samples

from .serving import HOST

SAMPLE = Mykind.named("sample", "default", spec=MykindSpec())
DEFINITION = "mykinds.grp.example.com"


def may_go(mykind: Mykind) -> None:
    """Keeps no object, but is asked."""


parting = Admission(Mykind, name="parting").validates(may_go, on=("delete",))
SERVED = (admission, parting, Versions.of(Mykind))


@asynccontextmanager
async def api() -> AsyncIterator[Client]:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(ApiServer())
        client = await stack.enter_async_context(Client(InProcessTransport(server.handle), on_warning=lambda _: None))
        await stack.enter_async_context(ControlPlane(client))
        yield client


@asynccontextmanager
async def serving(certificates: MemoryCertificates, port: int = 0) -> AsyncIterator[WebhookServer]:
    server = WebhookServer(Webhooks(*SERVED), certificates, host=HOST, port=port)
    async with asyncio.TaskGroup() as group:
        group.create_task(server.run())
        await server.ready.wait()
        try:
            yield server
        finally:
            server.stop()


async def goes(client: Client, namespace: str) -> asyncio.Task[None]:
    """A task that ends when the namespace has gone. It is watched from before this returns."""
    watched = asyncio.Event()

    async def gone() -> None:
        async with asyncio.timeout(30), client.watch(Namespace) as events:
            async for event in events:
                if event.metadata.name == namespace:
                    watched.set()
                    if event.type == "DELETED":
                        return

    task = asyncio.create_task(gone())
    async with asyncio.timeout(30):
        await watched.wait()
    return task


async def test_install_returns_when_the_webhooks_are_in_force_and_not_before() -> None:
    certificates = MemoryCertificates()
    async with api() as client:
        async with serving(certificates) as server:
            target = UrlTarget(f"https://{HOST}:{server.port}")
        installing = asyncio.create_task(
            install(client, SERVED, "mykind", target, bundle=certificates.bundle, samples=[SAMPLE], definitions=True)
        )
        refused: list[str] = []
        while len(refused) < 3:  # it is registered, and its service does not exist
            try:
                await client.create(SAMPLE, dry_run=True)
            except NotFound:
                await asyncio.sleep(0)  # the definition is on its way
            except ApiError as problem:
                refused.append(problem.message)
        assert all("connection refused" in message for message in refused)
        assert not installing.done()
        async with serving(certificates, port=server.port):
            await installing
            result = await client.create(SAMPLE)
            assert result.spec.template is not None
            await install(client, SERVED, "mykind", target, bundle=certificates.bundle, samples=[SAMPLE])


async def test_who_is_not_trusted_is_not_in_force() -> None:
    async with api() as client, serving(MemoryCertificates()) as server:
        target, others = UrlTarget(f"https://{HOST}:{server.port}"), MemoryCertificates().bundle
        with pytest.raises(NotInForce, match=r"should mutate Mykind on create; .* tls: failed to verify certificate"):
            await install(
                client, SERVED, "mykind", target, bundle=others, samples=[SAMPLE], definitions=True, timeout=2.0
            )


async def test_a_namespace_whose_webhooks_are_dead_goes_when_they_are_uninstalled() -> None:
    certificates = MemoryCertificates()
    async with api() as client:
        await client.create(Namespace.named("doomed"))
        async with serving(certificates) as server:
            target = UrlTarget(f"https://{HOST}:{server.port}")
            await install(client, SERVED, "mykind", target, bundle=certificates.bundle, definitions=True)
            await client.create(Mykind.named("a", "doomed", spec=MykindSpec()))
            await client.create(MykindV1alpha1.named("b", "doomed", spec=MykindV1alpha1Spec()))
        await client.delete(Namespace, "doomed")
        async with asyncio.timeout(30), client.watch(Namespace) as events:
            async for event in events:
                space = event.object
                if isinstance(space, Namespace) and space.name == "doomed" and space.status.conditions:
                    failed = [condition for condition in space.status.conditions if condition.status == "True"]
                    if any("connection refused" in (item.message or "") for item in failed):
                        break  # stuck, and it says why
        assert len(await client.list(Mykind, namespace="doomed")) == 2
        going = await goes(client, "doomed")
        await uninstall(client, SERVED, "mykind")
        await going


async def test_a_namespace_goes_while_webhooks_are_uninstalled_and_stopped() -> None:
    certificates = MemoryCertificates()
    async with api() as client:
        await client.create(Namespace.named("doomed"))
        async with serving(certificates) as server:
            target = UrlTarget(f"https://{HOST}:{server.port}")
            await install(client, SERVED, "mykind", target, bundle=certificates.bundle, definitions=True)
            for number in range(20):
                await client.create(Mykind.named(f"m{number}", "doomed", spec=MykindSpec()))
            going = await goes(client, "doomed")
            await client.delete(Namespace, "doomed")
            await uninstall(client, SERVED, "mykind")
        await going


async def test_what_only_conversion_could_serve_is_not_served_without_it() -> None:
    certificates = MemoryCertificates()
    async with api() as client:
        async with serving(certificates) as server:
            target = UrlTarget(f"https://{HOST}:{server.port}")
            await install(client, SERVED, "mykind", target, bundle=certificates.bundle, definitions=True)
            await client.create(MykindV1alpha1.named("a", "default", spec=MykindV1alpha1Spec(numpods=3)))
            await uninstall(client, SERVED, "mykind", conversions=False)
        with pytest.raises(ApiError, match="connection refused"):
            await client.get(MykindV1alpha1, "a", namespace="default")
        await uninstall(client, SERVED, "mykind")
        with pytest.raises(NotFound):
            await client.patch(MykindV1alpha1, "a", {"spec": {"numpods": 1}}, namespace="default")
        assert (await client.get(Mykind, "a", namespace="default")).spec.replicas == 3
        served = {
            version.name: version.served
            for version in (await client.get(CustomResourceDefinition, DEFINITION)).spec.versions
        }
        assert served == {"v1alpha2": True, "v1alpha1": False}
        with pytest.raises(Invalid):
            await client.create(Mykind.named("b", "default", spec=MykindSpec(replicas=-1)))


def test_samples_are_made_of_what_is_looked_at_everywhere() -> None:
    (sample,) = generated_samples(SERVED, "space")
    assert (sample.name, sample.namespace, type(sample)) == ("sample", "space", Mykind)
    some = Admission(Mykind, match=Match(object_selector={"a": "b"})).defaults(may_go)
    assert generated_samples([some], "space") == []
