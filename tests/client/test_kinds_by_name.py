"""Verbs on kinds that are given by name, against the embedded server."""

from __future__ import annotations

import asyncio

import pytest

import setpoint as sp
from setpoint import blocking
from setpoint.apiserver import ApiServer, HttpFront
from setpoint.client import Client, ClientConfig, DynamicObject, InProcessTransport, NoMatchError, NotFound
from setpoint.crd import crd_for
from setpoint.meta import decode, encode
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import virtual_time


class GadgetSpec(sp.Model):
    size: int = 1


class Gadget(sp.CustomResource, group="grp.example.com", version="v1"):
    spec: GadgetSpec = GadgetSpec()


@virtual_time
async def test_verbs_take_a_kind_by_its_name() -> None:
    async with ApiServer() as server, Client(InProcessTransport(server.handle), namespace="default") as client:
        for name in ("a", "b"):
            await client.create(ConfigMap.named(name, data={"n": name}))
        result = await client.get("configmaps", "a")
        assert isinstance(result, DynamicObject)
        assert result["data"] == {"n": "a"}
        result["data"]["n"] = "c"
        await client.update(result)
        assert (await client.get("cm", "a"))["data"] == {"n": "c"}
        patched = await client.patch("ConfigMap", "b", {"data": {"m": "d"}})
        assert patched["data"] == {"n": "b", "m": "d"}
        assert [item.name for item in await client.list("cm", namespace="default")] == ["a", "b"]
        assert [page.name async for page in client.pages("cm", namespace="default", limit=1)] == ["a", "b"]
        await client.delete("cm", "a")
        with pytest.raises(NotFound):
            await client.get("cm", "a")
        await client.delete_all("configmaps")
        assert not (await client.list("cm", namespace="default")).items
        with pytest.raises(NoMatchError, match=r"no resource 'configmapz' \(is configmaps meant\?\)"):
            await client.get("configmapz", "a")


@virtual_time
async def test_a_custom_kind_is_found_by_name_as_soon_as_it_is_installed() -> None:
    async with ApiServer() as server, Client(InProcessTransport(server.handle), namespace="default") as client:
        with pytest.raises(NoMatchError):
            await client.get("gadgets", "a")
        await client.create(decode(CustomResourceDefinition, encode(crd_for(Gadget))))
        await client.wait(CustomResourceDefinition.named("gadgets.grp.example.com"), "Established")
        await asyncio.sleep(1)
        await client.create(Gadget.named("a", spec=GadgetSpec(size=3)))
        for name in ("gadget", "Gadget", "gadgets.grp.example.com", "gadgets.v1.grp.example.com"):
            assert (await client.get(name, "a"))["spec"] == {"size": 3}
        kind = await client.kind("gadgets")
        result = await client.create(kind.of({"metadata": {"name": "b", "namespace": "default"}, "spec": {"size": 4}}))
        assert result["spec"] == {"size": 4}


async def test_scripts_without_await_take_a_kind_by_its_name() -> None:
    async with ApiServer() as server, HttpFront(server) as front:

        def script() -> None:
            with blocking.Client.from_config(ClientConfig(server=front.url)) as client:
                client.create(ConfigMap.named("a", "default", data={"n": "1"}))
                assert client.get("cm", "a")["data"] == {"n": "1"}
                assert client.wait(client.get("cm", "a"), lambda result: result["data"]["n"] == "1").name == "a"
                assert [page.name for page in client.pages("cm", namespace="default")] == ["a"]
                client.delete("cm", "a")
                assert not client.list("cm", namespace="default").items

        await asyncio.to_thread(script)
