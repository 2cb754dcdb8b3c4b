"""The clusters of a fleet from ClusterProfiles of the Cluster Inventory API, with access providers."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

import setpoint as sp
from setpoint.client import Client, ClientConfig, ConfigError, NoMatchError
from setpoint.client.exec_plugin import ExecPlugin
from setpoint.manager import ClusterProfiles
from setpoint.meta import from_wire
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.testing import advance, virtual_time

from .test_fleet import World, manager, world

OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "clusterprofiles.multicluster.x-k8s.io",
        "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements/pull/4322"},
    },
    "spec": {
        "group": "multicluster.x-k8s.io",
        "names": {"kind": "ClusterProfile", "listKind": "ClusterProfileList", "plural": "clusterprofiles"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": OPEN, "status": OPEN}}},
            }
        ],
    },
}
PROVIDERS = {
    "providers": [
        {
            "name": "tokens",
            "execConfig": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": "/opt/tokens",
                "args": ["get"],
                "env": [{"name": "HOME", "value": "/tmp"}],
                "provideClusterInfo": True,
            },
            "profileSourcedCLIArgsPolicy": "Append",
            "profileSourcedEnvVarsPolicy": "AppendIfNotExists",
        },
        {"name": "plain", "execConfig": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/opt/plain"}},
    ]
}
EXTENSIONS = [
    {"name": "client.authentication.k8s.io/exec", "extension": {"clusterID": "42"}},
    {"name": "clusterprofiles.multicluster.x-k8s.io/exec/additional-args", "extension": ["--cluster", "one"]},
    {"name": "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs", "extension": {"HOME": "/x", "ZONE": "b"}},
]


class Connections:
    """Connects to the test's servers by name; keeps the configurations of the open connections."""

    def __init__(self, world: World) -> None:
        self.made = world
        self.open: list[ClientConfig] = []

    def __call__(self, config: ClientConfig) -> Client:
        connections = self.open
        connections.append(config)

        class Closing(Client):
            async def close(client) -> None:
                connections.remove(config)

        return Closing(self.made.wires[config.server.removeprefix("https://")])

    @property
    def servers(self) -> list[str]:
        return sorted(config.server.removeprefix("https://") for config in self.open)


class Profiles:
    """ClusterProfiles at home."""

    def __init__(self, home: Client) -> None:
        self.home = home

    async def write(self, name: str, **status: Any) -> None:
        kind = await self.home.kind("clusterprofiles")
        profile = {"metadata": {"name": name, "namespace": "default"}, "spec": {"clusterManager": {"name": "m"}}}
        if name not in [present.name for present in await self.home.list(kind, namespace="default")]:
            await self.home.create(kind.of(profile))
        await self.home.patch(kind, name, {"status": None}, namespace="default", subresource="status")
        await self.home.patch(kind, name, {"status": status}, namespace="default", subresource="status")

    async def delete(self, name: str) -> None:
        await self.home.delete(await self.home.kind("clusterprofiles"), name, namespace="default")


def access(server: str, provider: str = "plain", **cluster: Any) -> dict[str, Any]:
    return {"name": provider, "cluster": {"server": f"https://{server}", **cluster}}


def problems(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [vars(record)["fields"]["error"] for record in caplog.records if record.message == "a cluster can't be used"]


@pytest.fixture
def providers(tmp_path: Path) -> Path:
    file = tmp_path / "providers.json"
    file.write_text(json.dumps(PROVIDERS))
    return file


@virtual_time
async def test_every_profile_with_a_known_access_provider_is_a_cluster(
    providers: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with world("east", "west") as new_world:
        connect, home = Connections(new_world), new_world.admin["home"]
        await home.create(from_wire(CustomResourceDefinition, DEFINITION))
        profiles = Profiles(home)
        fleet = sp.Fleet(new_world.controller(), provider=ClusterProfiles("default", providers, connect=connect))
        async with manager(new_world, fleet):
            await profiles.write("one")
            await advance(1)
            assert list(fleet) == [], "its cluster manager has not said yet how it is reached"
            await profiles.write("one", accessProviders=[access("east")])
            await profiles.write("two", credentialProviders=[access("west")])
            await advance(1)
            assert (await new_world.marked("east"), await new_world.marked("west")) == ("1", "1")
            assert sorted(cluster.name for cluster in fleet) == ["one", "two"]
            await profiles.write("two", accessProviders=[access("west", "unknown")])
            await advance(1)
            assert problems(caplog) == [
                f"ClusterProfile default/two has the access providers unknown, and {providers} has none of them"
            ]
            assert connect.servers == ["east", "west"], "the last usable access stays"
            await profiles.write("one", accessProviders=[access("west")])
            await profiles.write("two")
            await advance(1)
            assert ([cluster.name for cluster in fleet], connect.servers) == (["one"], ["west"])
            await profiles.delete("one")
            await advance(1)
            assert (list(fleet), connect.open) == ([], [])


@virtual_time
async def test_a_profile_adds_to_the_plugin_what_the_file_permits_and_names_no_file_of_this_machine(
    providers: Path,
) -> None:
    async with world("east") as new_world:
        connect, home = Connections(new_world), new_world.admin["home"]
        await home.create(from_wire(CustomResourceDefinition, DEFINITION))
        profiles = Profiles(home)
        fleet = sp.Fleet(new_world.controller(), provider=ClusterProfiles("default", providers, connect=connect))
        async with manager(new_world, fleet):
            hostile = {"certificate-authority": "/etc/passwd", "exec": {"command": "/bin/rm"}}
            both = [
                access("east", "plain", extensions=EXTENSIONS, **hostile),
                access("east", "tokens", extensions=EXTENSIONS, **hostile),
            ]
            await profiles.write("one", accessProviders=both)
            await advance(1)
            (config,) = connect.open
            assert isinstance(config.credentials, ExecPlugin)
            plugin = config.credentials._config
            assert plugin.command == "/opt/tokens", "the first of the file"
            assert plugin.args == ("get", "--cluster", "one")
            assert plugin.env == {"HOME": "/tmp", "ZONE": "b"}
            assert plugin.interactive_mode == "Never"
            assert plugin.cluster == {"server": "https://east", "config": {"clusterID": "42"}}
            assert config.ca_file is None
            await profiles.write("one", accessProviders=both[:1])
            await advance(1)
            (config,) = connect.open
            assert isinstance(config.credentials, ExecPlugin)
            plugin = config.credentials._config
            assert (plugin.command, plugin.args, plugin.env) == ("/opt/plain", (), {})


@virtual_time
async def test_certificates_that_can_not_be_used_are_told_and_the_cluster_is_no_member(
    providers: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with world("east") as new_world:
        connect, home = Connections(new_world), new_world.admin["home"]
        await home.create(from_wire(CustomResourceDefinition, DEFINITION))
        profiles = Profiles(home)
        fleet = sp.Fleet(new_world.controller(), provider=ClusterProfiles("default", providers, connect=connect))
        async with manager(new_world, fleet):
            bad = base64.b64encode(b"not PEM").decode()
            await profiles.write("one", accessProviders=[access("east", **{"certificate-authority-data": bad})])
            await advance(1)
            assert (list(fleet), len(problems(caplog))) == ([], 1)
            assert "certificate-authority-data" in problems(caplog)[0]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "No such file"),
        ("{", "truncated"),
        ('{"providers": [{"name": "a"}]}', r"missing required field `execConfig` - at `\$\.providers\[0\]`"),
        (
            '{"providers": [{"name": "a", "execConfig": {}, "profileSourcedCLIArgsPolicy": "Prepend"}]}',
            "Invalid enum value 'Prepend'",
        ),
    ],
)
@virtual_time
async def test_a_file_of_access_providers_that_can_not_be_used_ends_the_manager(
    content: str | None, problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "providers.json"
    if content is not None:
        file.write_text(content)
    async with world() as new_world:
        with pytest.raises(ConfigError, match=f"the access providers {file}: .*{problem}"):
            await ClusterProfiles("default", file).run(sp.Fleet(), new_world.admin["home"])


@virtual_time
async def test_a_home_without_cluster_profiles_is_an_error_that_names_them(providers: Path) -> None:
    async with world() as new_world:
        with pytest.raises(NoMatchError, match="clusterprofiles"):
            await ClusterProfiles("default", providers).run(sp.Fleet(), new_world.admin["home"])
