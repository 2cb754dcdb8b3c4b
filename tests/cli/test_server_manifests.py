"""``setpoint server --manifests`` and ``--write-kubeconfig=-``: a server with objects, or with a reason why not."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from tests.programs import program, server

from setpoint.apps.error_reports import UsageError
from setpoint.cli.manifest_files import manifests_in
from setpoint.client import Client
from setpoint.client.dynamic import dynamic
from setpoint.meta.user_error import UserError
from setpoint.models.core_v1 import ConfigMap, Namespace

GADGET = """\
apiVersion: grp.example.com/v1
kind: Gadget
metadata: {name: first, namespace: team}
spec: {size: 1}
---
apiVersion: v1
kind: Namespace
metadata: {name: team}
"""
LIST = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: b}
"""
DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.grp.example.com}
spec:
  group: grp.example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer}}}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files whose order of names is not the order in which a server can take them."""
    place = tmp_path / "manifests"
    (place / "later").mkdir(parents=True)
    (place / "gadget.yaml").write_text(GADGET)
    (place / "list.yml").write_text(LIST)
    (place / "later" / "definition.yaml").write_text(DEFINITION)
    (place / "notes.txt").write_text("not: [an object")
    return place


async def test_a_server_begins_with_the_objects_of_a_directory_whatever_their_order(
    tmp_path: Path, folder: Path
) -> None:
    options = ("--no-control-plane", "--manifests", folder)
    async with server(tmp_path, *options) as (running, _, kubeconfig), Client.from_kubeconfig(kubeconfig) as client:
        await running.until(lambda seen: len(seen.out) == 2, "the line about the objects")
        assert running.out[1] == f"setpoint: 5 objects of {folder} applied"
        assert (await client.get(Namespace, "team")).name == "team"
        assert [config.name for config in (await client.list(ConfigMap, namespace="default")).items] == ["a", "b"]
        gadget = dynamic(await client.rest_mapper.resource("gadgets"))
        assert (await client.get(gadget, "first", namespace="team"))["spec"] == {"size": 1}


async def test_a_server_that_starts_again_with_its_data_changes_nothing(tmp_path: Path, folder: Path) -> None:
    options = ("--no-control-plane", "--manifests", folder, "--data-dir", tmp_path / "data")
    versions = []
    for _ in range(2):
        async with server(tmp_path, *options) as (_, _, kubeconfig), Client.from_kubeconfig(kubeconfig) as client:
            versions.append((await client.get(ConfigMap, "a", namespace="default")).metadata.resource_version)
    assert versions[0] == versions[1]


async def test_an_object_that_the_server_refuses_is_named_with_file_and_document(tmp_path: Path, folder: Path) -> None:
    (folder / "gadget.yaml").write_text(GADGET.replace("size: 1", "size: big"))
    words = ("-m", "setpoint", "server", "--port", "0", "--no-control-plane", "--manifests", folder)
    async with program(*words, home=tmp_path) as running:
        assert await running.ended() == 1
        (line,) = running.err
        assert line.startswith(f"setpoint: {folder}/gadget.yaml, document 1: Gadget first: ")
        assert "size" in line
        assert running.out == []


async def test_a_kind_that_nobody_defines_is_named_with_what_to_do(tmp_path: Path, folder: Path) -> None:
    (folder / "later" / "definition.yaml").unlink()
    words = ("-m", "setpoint", "server", "--port", "0", "--no-control-plane", "--manifests", folder)
    async with program(*words, home=tmp_path) as running:
        assert await running.ended() == 1
        assert running.err == [
            f"setpoint: {folder}/gadget.yaml, document 1: the server does not serve Gadget of grp.example.com/v1: add "
            "its CustomResourceDefinition to the directory, or correct apiVersion and kind"
        ]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.yaml", "a: [", "{folder}/x.yaml: not YAML: "),
        (
            "x.yaml",
            "kind: ConfigMap",
            "{folder}/x.yaml, document 1: an object needs apiVersion, kind and metadata.name",
        ),
        (
            "x.yaml",
            LIST.replace("name: b", "labels: {}"),
            "{folder}/x.yaml, document 1, item 2: an object needs apiVersion, kind and metadata.name",
        ),
        ("x.txt", GADGET, "--manifests {folder}: no object is in its .yaml, .yml, .json files"),
    ],
)
def test_files_that_can_not_be_objects_are_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError) as refused:
        manifests_in(tmp_path)
    assert str(refused.value).startswith(message.format(folder=tmp_path))


def test_a_directory_that_is_missing_or_a_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--manifests .*none: there is no such directory"):
        manifests_in(tmp_path / "none")
    file = tmp_path / "file.yaml"
    file.touch()
    with pytest.raises(UsageError, match=r"--manifests .*file.yaml: is not a directory"):
        manifests_in(file)


async def test_standard_output_is_a_kubeconfig_that_reaches_a_server_on_all_addresses(
    tmp_path: Path,
) -> None:
    words = (
        "-m",
        "setpoint",
        "server",
        "--port",
        "0",
        "--no-control-plane",
        "--write-kubeconfig=-",
        "--host",
        "0.0.0.0",
    )
    async with program(*words, "--auth", home=tmp_path) as running:
        await running.until(lambda seen: any("serving" in line for line in seen.out), "where it serves")
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text("\n".join(running.out))
        (cluster,) = yaml.safe_load(kubeconfig.read_text())["clusters"]
        url = cluster["cluster"]["server"]
        assert url.startswith("https://127.0.0.1:")
        assert running.out[-1] == f"# setpoint: serving Kubernetes 1.37 at {url} (objects in memory)"
        async with Client.from_kubeconfig(kubeconfig) as client:
            assert (await client.get(Namespace, "default")).name == "default"
