"""CustomResourceDefinitions made of classes, against a whole API server: none is refused, none leads to a warning."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from setpoint.apps.storage_migration import StorageMigration
from setpoint.cli.program_declarations import declared_by
from setpoint.cli.program_loader import loaded
from setpoint.client import Client, Invalid, dynamic
from setpoint.crd import Conversion, CustomResource, crd_for
from setpoint.deploy.crds import definitions_of
from setpoint.meta import Model, from_wire
from setpoint.models.apiextensions_v1 import CustomResourceDefinition

from .kinds import GizmoSpec, everything_in, gizmos_in, installed, until


class RangeSpec(Model):
    low: int = 0
    high: int = 10


EXAMPLES = Path(__file__).parents[2] / "examples"
CLASSES = [
    str(path.relative_to(EXAMPLES))
    for path in sorted(EXAMPLES.rglob("*.py"))
    if "CustomResource," in path.read_text() and not path.name.startswith("test_")
]


def test_there_are_examples() -> None:
    assert CLASSES


@pytest.mark.parametrize("server_side", [False, True], ids=["apply", "server-side"])
@pytest.mark.parametrize("file", [*CLASSES, "everything"])
async def test_kubectl_applies_the_definitions_without_a_warning(
    client: Client, namespace: str, kubectl: Callable[..., list[str]], tmp_path: Path, file: str, server_side: bool
) -> None:
    documents = _documents(file, namespace)
    (manifest := tmp_path / "crds.yaml").write_text(yaml.safe_dump_all(documents))
    extra = ["--server-side", "--force-conflicts"] if server_side else []
    try:
        for outcome in (
            (("created",), ("unchanged", "configured")) if not server_side else (("serverside-applied",),) * 2
        ):
            printed, warned = await _run(kubectl("apply", *extra, "-f", str(manifest)))
            assert warned == ""
            assert all(line.endswith(outcome) for line in printed.splitlines()), printed
    finally:
        await _run(kubectl("delete", "--ignore-not-found", "-f", str(manifest)))


async def _run(command: list[str]) -> tuple[str, str]:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    printed, warned = await process.communicate()
    assert process.returncode == 0, warned.decode()
    return printed.decode(), warned.decode()


def _documents(file: str, namespace: str) -> list[dict[str, Any]]:
    """The definitions that a file's classes make, in a group of the test's own."""
    if file == "everything":
        return [crd_for(everything_in(f"{namespace}.example.com"))]
    with loaded(str(EXAMPLES / file)) as program:
        result = definitions_of(declared_by(program.values).all_kinds)
    for document in result:
        document["spec"]["group"] = f"{namespace}.{document['spec']['group']}"
        document["metadata"]["name"] = f"{namespace}-{document['metadata']['name']}"
        document["metadata"]["name"] = f"{document['spec']['names']['plural']}.{document['spec']['group']}"
    return result


async def test_a_class_with_fields_of_every_sort_is_served_as_it_was_meant(
    client: Client, namespace: str, warnings: list[str]
) -> None:
    kind = everything_in(f"{namespace}.example.com")
    async with installed(client, kind):
        new_kind = await client.create(kind.named("all"))
        free = dynamic(kind.resource)
        result = await client.get(free, "all")
        assert (result["spec"]["color"], result["spec"]["port"], result["spec"]["ratio"]) == ("red", 80, 0.5)
        spec: dict[str, Any] = {
            "parts": [{"name": "a"}],
            "port": "http",
            "amount": "1500m",
            "anything": {"kept": {"as": ["it", 1, "is"]}},
            "tags": ["x", "y"],
            "maybe": None,
            "template": {"spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 1}]}]}},
        }
        document = {
            "apiVersion": new_kind.api_version,
            "kind": new_kind.kind,
            "metadata": {"name": "all"},
            "spec": spec,
        }
        applied = await client.apply(free.of(document), field_manager="tests")
        assert applied["spec"]["parts"] == [{"name": "a", "count": 1}]
        assert applied["spec"]["anything"] == spec["anything"]
        assert applied["spec"]["maybe"] is None
        for wrong, words in (
            ({"color": "blue"}, "spec.color"),
            ({"ratio": 0.3}, "spec.ratio"),
            ({"address": "nowhere"}, "spec.address"),
            ({"tags": ["x", "x"]}, "spec.tags"),
            ({"parts": [{"name": "a"}, {"name": "a"}]}, "spec.parts"),
            ({"name": "UPPER"}, "spec.name"),
        ):
            with pytest.raises(Invalid, match=words):
                await client.patch(free, "all", {"spec": wrong})
        assert warnings == []


async def test_rules_are_checked_by_the_server(client: Client, namespace: str, version: tuple[int, int]) -> None:
    if version < (1, 25):
        pytest.skip(f"rules in schemas are on by default since 1.25, this is {version[0]}.{version[1]}")

    class Range(
        CustomResource,
        group=f"{namespace}.example.com",
        version="v1",
        rules=["self.spec.low <= self.spec.high"],
    ):
        spec: RangeSpec = RangeSpec()

    async with installed(client, Range):
        await client.create(Range.named("good", namespace))
        with pytest.raises(Invalid, match=r"self\.spec\.low <= self\.spec\.high"):
            await client.create(Range.named("bad", namespace, spec=RangeSpec(low=11)))


async def test_stored_objects_move_to_a_new_version(client: Client, namespace: str) -> None:
    group = f"{namespace}.example.com"

    class First(CustomResource, group=group, version="v1", kind="Thing"):
        spec: GizmoSpec = GizmoSpec()

    class Old(CustomResource, group=group, version="v1", kind="Thing", storage=False):
        spec: GizmoSpec = GizmoSpec()

    class Thing(CustomResource, group=group, version="v2", conversions=[Conversion(Old)]):
        spec: GizmoSpec = GizmoSpec()

    async with installed(client, First) as definition:
        for number in range(5):
            await client.create(First.named(f"t{number}", namespace, spec=GizmoSpec(size=number)))
        await client.apply(from_wire(CustomResourceDefinition, crd_for(Thing)))

        async def both() -> bool:
            current_definition = await client.get(CustomResourceDefinition, definition.name)
            return current_definition.status.stored_versions == ["v1", "v2"]

        await until(both)
        assert await StorageMigration(client, definition.name).run() == 5
        assert (await client.get(CustomResourceDefinition, definition.name)).status.stored_versions == ["v2"]
        assert [thing.spec.size for thing in await client.list(Thing, namespace=namespace)] == [0, 1, 2, 3, 4]


async def test_an_apply_of_a_field_that_the_schema_does_not_know_is_said_so(client: Client, namespace: str) -> None:
    gizmo = gizmos_in(f"{namespace}.example.com")
    async with installed(client, gizmo):
        document = {
            "apiVersion": gizmo.resource.api_version,
            "kind": "Gizmo",
            "metadata": {"name": "g", "namespace": namespace},
            "spec": {"sise": 1},
        }
        with pytest.raises(Exception, match=r"\.spec\.sise: field not declared in schema"):
            await client.apply(dynamic(gizmo.resource).of(document))
