"""The definitions that a test's cluster installs: classes, documents, and the files of other projects."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

import setpoint as sp
from setpoint.client import ApiError
from setpoint.crd import DefinitionError, crd_for
from setpoint.crd.files import DefinitionFileError
from setpoint.testing import virtual_time


class GadgetSpec(sp.Model):
    """Two of the fields that its project defines."""

    size: int = 0


class Gadget(sp.CustomResource, group="gadgets.example.org", version="v1", installed_by="gadgets"):
    spec: GadgetSpec = GadgetSpec()


class OlderSpec(sp.Model):
    width: int = 0


class Order(sp.CustomResource, group="orders.example.com", version="v1"):
    pass


THEIRS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.gadgets.example.org"},
    "spec": {
        "group": "gadgets.example.org",
        "names": {"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "listKind": "GadgetList"},
        "scope": "Namespaced",
        "conversion": {
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": {"service": {"name": "theirs", "namespace": "gadgets", "path": "/convert"}},
                "conversionReviewVersions": ["v1"],
            },
        },
        "versions": [
            {
                "name": name,
                "served": True,
                "storage": name == "v2",
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "size": {"type": "integer", "maximum": 9},
                                    "color": {"type": "string"},
                                },
                            }
                        },
                    }
                },
            }
            for name in ("v1", "v2")
        ],
    },
}


async def own_a_gadget(order: Order, ctx: sp.Context) -> None:
    await ctx.apply(Gadget.named(order.name, spec=GadgetSpec(size=3)))


def owner() -> sp.Controller[Order]:
    return sp.Controller(Order, own_a_gadget).owns(Gadget)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "crds" / "gadgets.yaml"
    path.parent.mkdir()
    path.write_text(json.dumps(THEIRS) + "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n")
    return path


@pytest.mark.parametrize("named", ["file", "folder", "text"])
@virtual_time
async def test_the_definition_of_another_project_comes_from_its_file(file: Path, named: str) -> None:
    path: Any = {"file": file, "folder": file.parent, "text": str(file)}[named]
    async with sp.testing.cluster(owner(), crds=[path]) as cluster:
        await cluster.create(Order.named("one", "default"))
        await cluster.settle()
        gadget = await cluster.get(Gadget, "one")
        gadget.spec.size = 10
        with pytest.raises(ApiError, match=r"spec\.size: Invalid value: 10: spec\.size in body should be less than"):
            await cluster.update(gadget)
        theirs = {"apiVersion": "gadgets.example.org/v1", "kind": "Gadget", "metadata": {"name": "two"}}
        path = "/apis/gadgets.example.org/v1/namespaces/default/gadgets"
        body = json.dumps(theirs | {"spec": {"size": 1, "color": "red"}}).encode()
        await cluster.client.request("POST", path, body=body)
        assert b'"color":"red"' in (await cluster.client.request("GET", f"{path}/two")).replace(b" ", b"")


@virtual_time
async def test_without_a_file_the_definition_is_made_of_the_class_and_a_warning_says_so() -> None:
    world = sp.testing.cluster(owner())
    with pytest.warns(UserWarning, match="made of the class Gadget.*the definition of gadgets: crds="):
        await world.__aenter__()
    async with AsyncExitStack() as stack:
        stack.push_async_exit(world)
        await world.create(Order.named("one", "default"))
        await world.settle()
        assert (await world.get(Gadget, "one")).spec.size == 3


@virtual_time
async def test_a_path_without_a_definition_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DefinitionFileError, match=r"nothing\.yaml: there is no such file"):
        sp.testing.cluster(crds=[tmp_path / "nothing.yaml"])
    (tmp_path / "other.yaml").write_text("kind: ConfigMap\n")
    with pytest.raises(DefinitionFileError, match="no CustomResourceDefinition in any of its"):
        sp.testing.cluster(crds=[tmp_path])


def test_versions_of_another_projects_kind_need_no_conversion_and_no_stored_version() -> None:
    class Older(
        sp.CustomResource,
        group="gadgets.example.org",
        version="v1beta1",
        kind="Gadget",
        storage=False,
        installed_by="gadgets",
    ):
        spec: OlderSpec = OlderSpec()

    versions = crd_for(Gadget, Older)["spec"]["versions"]
    assert [(version["name"], version["storage"]) for version in versions] == [("v1", True), ("v1beta1", False)]
    assert crd_for(Older)["spec"]["versions"][0]["storage"] is True


@pytest.mark.parametrize("name", ["", " ", 3])
def test_the_project_has_a_name(name: Any) -> None:
    with pytest.raises(DefinitionError, match="must be the name of the project"):
        type(sp.CustomResource)(
            "Odd", (sp.CustomResource,), {}, group="gadgets.example.org", version="v1", installed_by=name
        )


def test_the_conversions_of_another_projects_kind_are_not_ours() -> None:
    with pytest.raises(DefinitionError, match="gadgets converts the versions of its kinds"):

        class Newer(
            sp.CustomResource,
            group="gadgets.example.org",
            version="v2",
            kind="Gadget",
            installed_by="gadgets",
            conversions=(sp.Conversion(Gadget),),
        ):
            pass
