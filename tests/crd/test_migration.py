"""Stored objects move to the storage version; nothing is lost when it is stopped, and nothing is overwritten."""

from __future__ import annotations

import asyncio
from itertools import count, repeat
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.client.conftest import Answer
from tests.transports import Through

from setpoint.apiserver import ApiServer
from setpoint.apps.storage_migration import MigrationError, Progress, StorageMigration
from setpoint.client import Client, InProcessTransport
from setpoint.client.transport import Request, TransportError
from setpoint.crd import Conversion, CustomResource, crd_for
from setpoint.meta import Model, from_wire
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.testing import virtual_time

NAME = "things.example.com"


class Spec(Model):
    size: int = 1


class ThingV1(CustomResource, group="example.com", version="v1", kind="Thing"):
    spec: Spec = Spec()


class OldThing(CustomResource, group="example.com", version="v1", kind="Thing", storage=False):
    spec: Spec = Spec()


class Thing(CustomResource, group="example.com", version="v2", conversions=[Conversion(OldThing)]):
    spec: Spec = Spec()


class Recording(Through):
    """A transport that counts the patches of things, and may do something before one of them."""

    def __init__(self, server: ApiServer) -> None:
        super().__init__(InProcessTransport(server.handle))
        self.patched: list[str] = []
        self.before: dict[str, Any] = {}

    def send(self, request: Request) -> Any:
        if request.method == "PATCH" and "/things/" in request.path:
            self.patched.append(request.path.rpartition("/")[2])
        return self.inner.send(request)


async def world(server: ApiServer) -> tuple[Client, Recording]:
    transport = Recording(server)
    client = Client(transport)
    await client.create(from_wire(CustomResourceDefinition, crd_for(ThingV1)))
    await _established(client)
    for index in range(7):
        await client.create(ThingV1.named(f"t{index}", "default"))
    crd = await client.get(CustomResourceDefinition, NAME)
    await client.patch(CustomResourceDefinition, NAME, {"spec": {"versions": crd_for(Thing)["spec"]["versions"]}})
    await _established(client)
    assert crd.status.stored_versions == ["v1"]
    return client, transport


async def _established(client: Client) -> None:
    for _ in range(100):
        if (await client.get(CustomResourceDefinition, NAME)).is_established:
            return
        await asyncio.sleep(0.1)


async def stored(client: Client) -> list[str]:
    return (await client.get(CustomResourceDefinition, NAME)).status.stored_versions


@virtual_time
async def test_every_object_is_written_once_and_the_old_version_goes() -> None:
    async with ApiServer() as server:
        client, transport = await world(server)
        assert await stored(client) == ["v1", "v2"]
        assert await StorageMigration(client, NAME, page=3).run() == 7
        assert sorted(transport.patched) == [f"t{index}" for index in range(7)]
        assert await stored(client) == ["v2"]
        assert await StorageMigration(client, NAME).run() == 0
        await client.close()


@virtual_time
async def test_it_goes_on_where_it_was_stopped() -> None:
    class Stop(Exception):
        pass

    async with ApiServer() as server:
        client, transport = await world(server)
        reached: list[Progress] = []

        def stop(progress: Progress, written: int, remaining: int) -> None:
            reached.append(progress)
            if len(reached) == 2:
                raise Stop

        with pytest.raises(Stop):
            await StorageMigration(client, NAME, page=3, on_progress=stop).run()
        assert await stored(client) == ["v1", "v2"]
        transport.patched.clear()
        assert await StorageMigration(client, NAME, page=3, progress=reached[-1]).run() == 1
        assert transport.patched == ["t6"]
        assert await stored(client) == ["v2"]
        await client.close()


@virtual_time
async def test_progress_of_another_state_of_the_definition_does_not_count() -> None:
    async with ApiServer() as server:
        client, _ = await world(server)
        assert await StorageMigration(client, NAME, progress=Progress("other", 1, "v2", "default/t5")).run() == 7
        await client.close()


@virtual_time
async def test_what_others_write_or_delete_meanwhile_is_left_alone() -> None:
    async with ApiServer() as server:
        client, _ = await world(server)
        original = client.list

        async def late(*args: Any, **options: Any) -> Any:
            page = await original(*args, **options)
            await client.patch(Thing, "t1", {"spec": {"size": 5}}, namespace="default")
            await client.delete(Thing, "t2", namespace="default")
            return page

        client.list = late  # type: ignore[method-assign]
        await StorageMigration(client, NAME).run()
        assert (await client.get(Thing, "t1", namespace="default")).spec.size == 5
        assert await stored(client) == ["v2"]
        await client.close()


@virtual_time
async def test_a_definition_that_changes_meanwhile_keeps_its_stored_versions() -> None:
    async with ApiServer() as server:
        client, _ = await world(server)
        changes: list[int] = []
        original = client.patch

        async def late(kind: Any, *args: Any, **options: Any) -> Any:
            if not changes and kind is not CustomResourceDefinition:
                changes.append(1)
                await original(CustomResourceDefinition, NAME, {"spec": {"names": {"shortNames": ["th"]}}})
            return await original(kind, *args, **options)

        client.patch = late  # type: ignore[method-assign]
        with pytest.raises(MigrationError, match="was changed during the migration; run again"):
            await StorageMigration(client, NAME).run()
        assert await stored(client) == ["v1", "v2"]
        await client.close()


@pytest.mark.parametrize("token", ["the same", "new"])
@virtual_time
async def test_a_list_that_continues_without_end_is_given_up(token: str) -> None:
    async with ApiServer() as server:
        client, _ = await world(server)

        async def continues(request: Request) -> Answer:
            query = tuple(pair for pair in request.query if pair[0] != "continue")
            answer = await server.handle(replace(request, query=query))
            if request.method != "GET" or not request.path.endswith("/things"):
                return answer
            page = {**msgspec.json.decode(answer.body), "metadata": {"continue": f"{token} {next(numbers)}"}}
            return Answer(answer.status, answer.headers, msgspec.json.encode(page))

        numbers = repeat(1) if token == "the same" else count()
        endless = Client(InProcessTransport(continues))
        with pytest.raises(TransportError, match="continues its pages without end"):
            await StorageMigration(endless, NAME).run()
        assert token == "the same" or next(numbers) <= 12
        assert (await client.get(CustomResourceDefinition, NAME)).status.stored_versions == ["v1", "v2"]
