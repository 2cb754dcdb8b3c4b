"""The clusters of a fleet: one for each kubeconfig, in a folder or in Secrets."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.client.certificates import make

import setpoint as sp
from setpoint.client import Client, ClientConfig
from setpoint.manager import ClusterApiSecrets, KubeconfigFolder, KubeconfigSecrets
from setpoint.models.core_v1 import Secret
from setpoint.testing import advance, virtual_time

from .test_fleet import World, manager, world


def kubeconfig(server: str, user: str = "token: t") -> bytes:
    return f"""
apiVersion: v1
kind: Config
current-context: it
contexts: [{{name: it, context: {{cluster: it, user: it}}}}]
clusters: [{{name: it, cluster: {{server: "https://{server}"}}}}]
users: [{{name: it, user: {{{user}}}}}]
""".encode()


class Connections:
    """Connects to the test's servers by name, and knows which clients are closed."""

    def __init__(self, world: World) -> None:
        self.made = world
        self.open: list[str] = []

    def __call__(self, config: ClientConfig) -> Client:
        name = config.server.removeprefix("https://")
        wire = self.made.wires[name]
        self.open.append(name)

        class Closing(Client):
            async def close(client) -> None:
                self.open.remove(name)

        return Closing(wire)


@virtual_time
async def test_every_file_of_a_folder_is_a_cluster(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with world("east", "west") as new_world:
        connect = Connections(new_world)
        (tmp_path / "one.kubeconfig").write_bytes(kubeconfig("east"))
        (tmp_path / "..data").write_bytes(b"hidden")
        fleet = sp.Fleet(new_world.controller(), provider=KubeconfigFolder(tmp_path, connect=connect))
        async with manager(new_world, fleet):
            await advance(1)
            assert await new_world.marked("east") == "1"
            (tmp_path / "two.yaml").write_bytes(kubeconfig("west"))
            await advance(11)
            assert (await new_world.marked("west"), [cluster.name for cluster in fleet]) == ("1", ["one", "two"])
            # A damaged file changes nothing, and is told; so is an invalid name.
            (tmp_path / "one.kubeconfig").write_bytes(b"{")
            (tmp_path / "Three_3").write_bytes(kubeconfig("west"))
            await advance(11)
            problems = [record.fields for record in caplog.records if record.message == "a cluster can't be used"]  # type: ignore[attr-defined]
            assert [problem["cluster"] for problem in problems] == ["Three_3", "one"]
            assert "is not YAML" in problems[1]["error"]
            assert "cluster name 'Three_3'" in problems[0]["error"]
            await new_world.mark("east", "a", "2")
            await advance(1)
            assert await new_world.marked("east") == "2"
            # A changed one is another connection; one that goes takes its cluster along.
            (tmp_path / "one.kubeconfig").write_bytes(kubeconfig("west"))
            (tmp_path / "two.yaml").unlink()
            await advance(11)
            assert ([cluster.name for cluster in fleet], connect.open) == (["one"], ["west"])
        assert connect.open == []


@virtual_time
async def test_certificates_that_can_not_be_used_leave_the_last_ones_in_place_until_they_can(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "clusters"
    folder.mkdir()
    ca = tmp_path / "ca.pem"
    good = kubeconfig("east")
    named = good.replace(b'server: "https://east"', f'server: "https://east", certificate-authority: {ca}'.encode())
    assert named != good
    async with world("east") as new_world:
        connect = Connections(new_world)
        (folder / "one").write_bytes(good)
        fleet = sp.Fleet(new_world.controller(), provider=KubeconfigFolder(folder, connect=connect))
        async with manager(new_world, fleet):
            await advance(1)
            first = fleet["one"]
            ca.write_bytes(b"not yet")
            (folder / "one").write_bytes(named)
            await advance(200)
            assert fleet["one"] is first
            await new_world.mark("east", "a", "2")
            await advance(1)
            assert await new_world.marked("east") == "2"
            problems = [record for record in caplog.records if record.message == "a cluster can't be used"]
            assert len(problems) == 1
            assert "ca.pem contains no usable PEM certificate" in str(vars(problems[0])["fields"])
            ca.write_bytes(make("ca").cert_pem)
            await advance(61)
            assert fleet["one"] is not first


@virtual_time
async def test_every_labelled_secret_at_home_is_a_cluster(caplog: pytest.LogCaptureFixture) -> None:
    async with world("east", "west") as new_world:
        connect = Connections(new_world)
        home = new_world.admin["home"]

        async def secret(name: str, content: bytes) -> Secret:
            labels = {"fleet.setpoint.io/cluster": name}
            return await home.apply(Secret.named(f"kubeconfig-{name}", "default", labels, data={"kubeconfig": content}))

        fleet = sp.Fleet(new_world.controller(), provider=KubeconfigSecrets("default", connect=connect))
        async with manager(new_world, fleet):
            await advance(1)
            assert len(fleet) == 0
            made_secret = await secret("one", kubeconfig("east"))
            await advance(1)
            assert await new_world.marked("east") == "1"
            await secret(
                "two", kubeconfig("west", 'exec: {command: "rm", apiVersion: client.authentication.k8s.io/v1}')
            )
            await advance(1)
            (problem,) = [record.fields for record in caplog.records if record.message == "a cluster can't be used"]  # type: ignore[attr-defined]
            assert problem["cluster"] == "two"
            assert problem["error"] == (
                "user 'it' in kubeconfig of Secret default/kubeconfig-two: exec is not allowed in this kubeconfig, "
                "which must contain its certificates and credentials"
            )
            await secret("two", kubeconfig("west"))
            await advance(1)
            assert await new_world.marked("west") == "1"
            await home.delete(made_secret)
            await advance(1)
            assert ([cluster.name for cluster in fleet], connect.open) == (["two"], ["west"])
        assert connect.open == []


@virtual_time
async def test_every_kubeconfig_of_cluster_api_is_a_cluster_and_its_other_secrets_are_none(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with world("east", "west") as new_world:
        connect = Connections(new_world)
        home = new_world.admin["home"]

        async def secret(name: str, cluster: str, **content: bytes) -> None:
            labels = {"cluster.x-k8s.io/cluster-name": cluster}
            await home.apply(Secret.named(name, "default", labels, type="cluster.x-k8s.io/secret", data=content))

        fleet = sp.Fleet(new_world.controller(), provider=ClusterApiSecrets("default", connect=connect))
        async with manager(new_world, fleet):
            for name in ("one-ca", "one-etcd", "one-sa", "one-proxy"):
                await secret(name, "one", **{"tls.crt": b"c", "tls.key": b"k"})
            await secret("one-user-kubeconfig", "one", value=kubeconfig("west"))
            await advance(1)
            assert [cluster.name for cluster in fleet] == []
            await secret("one-kubeconfig", "one", value=kubeconfig("east"))
            await advance(1)
            assert (await new_world.marked("east"), await new_world.marked("west")) == ("1", "")
            assert ([cluster.name for cluster in fleet], connect.open) == (["one"], ["east"])
            await secret("one-kubeconfig", "one", value=kubeconfig("west"))
            await advance(1)
            assert connect.open == ["west"]
            await home.delete(Secret, "one-kubeconfig", namespace="default")
            await advance(1)
            assert ([cluster.name for cluster in fleet], connect.open) == ([], [])
        assert not [record for record in caplog.records if record.message == "a cluster can't be used"]
