"""Custom resources of a test's own, and how they come and go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from setpoint.client import Client, NotFound
from setpoint.crd import Column, ConditionedStatus, CustomResource, Field, ScaleSubresource, crd_for
from setpoint.meta import Model, Quantity, from_wire
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.models.core_v1 import PodTemplateSpec


class GizmoSpec(Model):
    size: Annotated[int, Field(ge=0, le=10)] = 1


class GizmoStatus(ConditionedStatus):
    ready: int = 0


class Gizmos(CustomResource, group="example.com", version="v1", kind="Gizmo", plural="gizmos"):
    """The base of the classes of `gizmos_in`, for type checkers."""

    spec: GizmoSpec = GizmoSpec()
    status: GizmoStatus = GizmoStatus()


def gizmos_in(group: str) -> type[Gizmos]:
    """A class of Gizmos in a group of the test's own, so that tests don't meet on one server."""

    class Gizmo(
        Gizmos,
        group=group,
        version="v1",
        kind="Gizmo",
        plural="gizmos",
        short_names=("gz",),
        columns=(Column("Size", ".spec.size"),),
        scale=ScaleSubresource(spec_replicas=".spec.size", status_replicas=".status.ready"),
    ):
        """A thing of some size."""

    return Gizmo


class Color(StrEnum):
    RED = "red"
    GREEN = "green"


class Part(Model):
    name: str
    count: Annotated[int, Field(gt=0)] = 1


class EverythingSpec(Model):
    color: Color = Color.RED
    parts: Annotated[list[Part], Field(list_map_keys=("name",), max_length=9)] = []
    tags: set[str] = set()
    options: Annotated[dict[str, str], Field(map_type="atomic", max_properties=5)] = {}
    amount: Quantity | None = None
    port: Annotated[int | str, Field()] = 80
    since: datetime | None = None
    secret: bytes = b""
    ratio: Annotated[float, Field(ge=0, multiple_of=0.25)] = 0.5
    name: Annotated[str, Field(pattern="^[a-z]*$", min_length=0, max_length=20)] = ""
    address: Annotated[str, Field(format="ipv4")] = "10.0.0.1"
    maybe: Annotated[str | None, Field(nullable=True)] = None
    anything: Annotated[dict[str, Any], Field(preserve_unknown_fields=True)] = {}
    template: PodTemplateSpec | None = None


def everything_in(group: str) -> type[CustomResource]:
    """A class with fields of every sort."""

    class Everything(CustomResource, group=group, version="v1", plural="everythings", scope="Cluster"):
        spec: EverythingSpec = EverythingSpec()
        status: GizmoStatus = GizmoStatus()

    return Everything


@asynccontextmanager
async def installed(client: Client, *classes: type[CustomResource]) -> AsyncIterator[CustomResourceDefinition]:
    """Applies the definition of the classes, waits until the server serves it, and deletes it at the end."""
    wanted = from_wire(CustomResourceDefinition, crd_for(*classes))
    result = await client.apply(wanted)
    try:
        await until(lambda: _served(client, classes[0]))
        yield result
    finally:
        await client.delete(CustomResourceDefinition, result.name)


async def _served(client: Client, kind: type[CustomResource]) -> bool:
    try:
        await client.list(kind, limit=1)
    except NotFound:
        return False
    return True


async def until(holds: Callable[[], Any], timeout: float = 30.0) -> Any:
    """Asks until the answer is true, and returns it. There is no other way to wait for another process."""
    async with asyncio.timeout(timeout):
        while not (result := await holds()):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        return result
