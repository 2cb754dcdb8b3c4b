"""``setpoint pause`` and ``setpoint resume`` as people meet them: a program, a server and kubectl as processes."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from tests.programs import Program, program, server

from setpoint.client import Client
from setpoint.models.core_v1 import ConfigMap

OPERATOR = '''
import setpoint as sp
from setpoint.models.core_v1 import ConfigMap


class Lamp(sp.CustomResource, group="pause.example.com", version="v1"):
    class Spec(sp.Model):
        watts: int = 1

    spec: Spec = Spec()
    status: sp.ConditionedStatus = sp.ConditionedStatus()


async def reconcile(lamp: Lamp, ctx: sp.Context) -> None:
    await ctx.keep(ConfigMap, [ConfigMap.named(lamp.name, data={"watts": str(lamp.spec.watts)})])


async def clean_up(lamp: Lamp, ctx: sp.Context) -> None:
    """Nothing is outside the cluster."""


if __name__ == "__main__":
    sp.main(sp.Controller(Lamp, reconcile).owns(ConfigMap).finalize(clean_up))
'''
LAMP = """
apiVersion: pause.example.com/v1
kind: Lamp
metadata: {name: %s, namespace: default}
spec: {watts: %d}
"""


class Shell:
    """Commands against one server, as a person types them."""

    def __init__(self, home: Path, kubeconfig: Path) -> None:
        self.home = home
        self.kubeconfig = kubeconfig

    async def setpoint(self, *words: str, status: int = 0) -> str:
        options = (words[0], "--kubeconfig", str(self.kubeconfig), *words[1:])
        async with program("-m", "setpoint", *options, home=self.home) as running:
            assert await running.ended() == status, running.printed()
        assert "Traceback" not in running.printed()
        return "\n".join([*running.out, *running.err])

    async def kubectl(self, *words: str, stdin: str = "") -> str:
        process = await asyncio.create_subprocess_exec(
            "kubectl",
            "--kubeconfig",
            str(self.kubeconfig),
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={"HOME": str(self.home), "PATH": "/usr/bin:/usr/local/bin"},
        )
        out, _ = await process.communicate(stdin.encode())
        assert process.returncode == 0, out.decode()
        return out.decode()


async def child(client: Client, name: str, watts: str) -> None:
    """Waits until the lamp's child has this value."""
    async with asyncio.timeout(120):
        while True:
            maps = await client.list(ConfigMap, namespace="default")
            if any(config_map.name == name and config_map.data.get("watts") == watts for config_map in maps):
                return
            await asyncio.sleep(0.1)


async def ready(running: Program) -> None:
    await running.until(lambda p: any("controller started" in line for line in p.err), "start of the controller")


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")
async def test_a_person_pauses_and_resumes_an_object_and_a_controller_with_kubectl_beside(tmp_path: Path) -> None:
    (tmp_path / "lamps.py").write_text(OPERATOR)
    async with server(tmp_path, "--no-control-plane") as (_, _, kubeconfig):
        shell = Shell(tmp_path, kubeconfig)
        async with program(tmp_path / "lamps.py", "manifests", "--no-rbac", home=tmp_path) as printed:
            assert await printed.ended() == 0, printed.printed()
        await shell.kubectl("apply", "-f", "-", stdin="\n".join(printed.out))
        await shell.kubectl("wait", "--for=condition=Established", "crd/lamps.pause.example.com")
        words = ("run", "--kubeconfig", kubeconfig, "--pause-switch", "setpoint-paused")
        async with (
            program(tmp_path / "lamps.py", *words, home=tmp_path) as running,
            Client.from_kubeconfig(kubeconfig) as client,
        ):
            await ready(running)
            await shell.kubectl("apply", "-f", "-", stdin=LAMP % ("a", 1))
            await child(client, "a", "1")

            setpoint = await shell.setpoint("reconcile", "lamp", "default/a", "--wait")
            assert setpoint == "Lamp default/a is reconciled"
            shown = await shell.kubectl("get", "lamp", "a", "-o", "jsonpath={.metadata.annotations}")
            assert "pause.example.com/reconciled-at" in shown
            assert "is requested by its annotation" in await shell.setpoint("reconcile", "lamp", "a")

            setpoint = await shell.setpoint("pause", "lamp", "a", "--reason", "new wires")
            assert setpoint == "Lamp default/a is paused by its annotation pause.example.com/paused"
            await shell.kubectl("wait", "lamp/a", "--for=condition=Paused")
            assert "a is paused: no reconcile" in await shell.setpoint("reconcile", "lamp", "a", status=1)
            await shell.kubectl("apply", "-f", "-", stdin=LAMP % ("a", 2))
            assert "new wires" in await shell.kubectl("describe", "lamp", "a")
            await shell.kubectl("delete", "lamp", "a", "--wait=false")
            await shell.kubectl("wait", "lamp/a", "--for=jsonpath={.metadata.deletionTimestamp}")
            assert "its deletion waits" in await shell.setpoint("pause", "lamps", "default/a")
            assert await shell.setpoint("resume", "lamp", "a") == "Lamp default/a is resumed"
            await shell.kubectl("wait", "lamp/a", "--for=delete")
            assert "there is no Lamp a in namespace default" in await shell.setpoint("resume", "lamp", "a", status=1)

            setpoint = await shell.setpoint("pause", "controller", "lamp", "--reason", "fire")
            assert setpoint.endswith("every program that follows the ConfigMap default/setpoint-paused")
            await running.until(lambda p: any("controller paused" in line for line in p.err), "pause")
            await shell.kubectl("apply", "-f", "-", stdin=LAMP % ("b", 3))
            await shell.kubectl("annotate", "lamp", "b", "note=1")
            assert [config_map.name for config_map in await client.list(ConfigMap, namespace="default")] == [
                "a",
                "setpoint-paused",
            ]
            await shell.setpoint("resume", "controller", "lamp")
            await child(client, "b", "3")


async def test_what_can_not_be_paused_is_said_in_one_line(tmp_path: Path) -> None:
    async with server(tmp_path, "--no-control-plane") as (_, _, kubeconfig):
        shell = Shell(tmp_path, kubeconfig)
        for words, answer in (
            (("pause", "wombat", "a"), "wombat"),
            (
                ("pause", "configmap", "a"),
                "as --annotation example.com/paused",
            ),
            (("pause", "configmap", "a", "--annotation", "x/y/z"), "--annotation: annotation 'x/y/z'"),
            (("pause", "configmap", "a/b/c", "--annotation", "x.y/z"), "setpoint: the namespace 'a/b' may not contain"),
        ):
            assert answer in await shell.setpoint(*words, status=1)
        assert "is not paused any more" in await shell.setpoint("resume", "controller", "lamp")
