"""The embedded server takes every definition without a warning, and serves what the classes say."""

from __future__ import annotations

from typing import Any

import mykind
import mykinds
import pytest

from setpoint.apiserver import ApiServer
from setpoint.cli.crd_sources import from_cluster
from setpoint.client import Client, InProcessTransport, Invalid
from setpoint.crd import crd_for
from setpoint.crd.diff import compare
from setpoint.meta import from_wire, to_wire
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.testing import virtual_time, wait_all_tasks_blocked

from . import test_conversion_direction, test_conversions, test_schema

KINDS: list[Any] = [
    test_schema.Gadget,
    test_conversion_direction.kind_of(test_conversion_direction.SpecModel),
    test_conversion_direction.kind_of(test_conversion_direction.SpecDataclass),
    test_conversion_direction.kind_of(test_conversion_direction.SpecPydantic),
    test_conversions.Mykind,
    test_conversions.C,
    mykind.Mykind,
    mykinds.Mykind,
]


async def installed(client: Client, kind: Any) -> CustomResourceDefinition:
    wanted = from_wire(CustomResourceDefinition, crd_for(kind))
    result = await client.create(wanted, field_validation="Strict")
    await wait_all_tasks_blocked()
    return await client.get(CustomResourceDefinition, result.name)


@virtual_time
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}")
async def test_the_embedded_server_takes_the_definition(kind: Any) -> None:
    warnings: list[str] = []
    async with ApiServer() as server, Client(InProcessTransport(server.handle), on_warning=warnings.append) as client:
        crd = await installed(client, kind)
        assert warnings == []
        assert crd.is_established
        assert [condition.type for condition in crd.status.conditions if condition.type == "NonStructuralSchema"] == []
        (expected,) = await from_cluster(client, [crd.name, "others.example.com"])
        assert expected["status"]["storedVersions"]
        assert compare(expected, crd_for(kind)) == []  # a server's defaults are not a change


@virtual_time
@pytest.mark.parametrize("spec", test_conversion_direction.SPECS)
async def test_instances_of_any_class_are_written_and_read(spec: Any) -> None:
    kind: Any = test_conversion_direction.kind_of(spec)
    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        await installed(client, kind)
        new_kind = await client.create(kind.named("g", "default", spec=spec()))
        assert (new_kind.spec.min_pods, new_kind.spec.max_pods, new_kind.spec.mode) == (
            1,
            10,
            test_conversion_direction.Mode.SAFE,
        )
        new_kind.spec.min_pods = 4
        new_kind = await client.update(new_kind)
        read = await client.get(kind, "g", namespace="default")
        assert type(read.spec) is spec
        assert read.spec.min_pods == 4
        assert to_wire(read)["spec"] == to_wire(new_kind)["spec"]
        new_kind.spec.min_pods = -1
        with pytest.raises(Invalid, match=r"spec\.minPods"):
            await client.update(new_kind)
