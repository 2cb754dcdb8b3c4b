"""kubectl's ways into pods, and what it does with nodes, against hollow ones."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

import pytest
from tests.apiserver.kubectl.conftest import Kubectl, deployment, pod

from setpoint.client import Client, InProcessTransport
from setpoint.cluster import Command, Connection, ControlPlane, HollowNode, HollowPods, PodBehaviour

HOLLOW = "hollow.setpoint.io"


async def shell(command: Command) -> int:
    command.stdout.write(f"{' '.join(command.arguments)}\n")
    typed = await command.stdin.read_all()
    command.stdout.write(typed.upper())
    if command.arguments and command.arguments[0] == "false":
        command.stderr.write("no\n")
        return 7
    return 0


async def echo(connection: Connection) -> None:
    request = await connection.read()
    path = request.split(b" ")[1]
    connection.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b" % (len(path), path))


@pytest.fixture
async def nodes(kubectl: Kubectl) -> AsyncIterator[Kubectl]:
    """kubectl on a server with three nodes, whose containers answer what `shell` and `echo` do."""

    def behaviour(value: object) -> PodBehaviour:
        return PodBehaviour(exec=shell, attach=shell, ports={8080: echo})

    async with (
        Client(InProcessTransport(kubectl.server.handle)) as client,
        ControlPlane(client, nodes=[HollowNode()] * 3, pods=HollowPods(behaviour=behaviour)) as plane,
    ):
        kubectl.server.kubelets = plane.kubelets
        yield kubectl


async def test_kubectl_logs_shows_the_hollow_log(cluster: Kubectl) -> None:
    notes = {f"{HOLLOW}/log": "one\ntwo", f"{HOLLOW}/exit-code": "1"}
    new_pod = pod("a")
    new_pod["metadata"]["annotations"] = notes
    await cluster("apply", "-f", "-", stdin=[new_pod, pod("b")])
    await cluster("wait", "--for=condition=Ready", "pod/b", "--timeout=20s")
    assert (await cluster("logs", "a")).lines == ["one", "two"]
    assert (await cluster("logs", "a", "--tail=1", "--since=1h", "--previous")).lines == ["two"]
    assert (await cluster("logs", "b", "--prefix")).out == (
        "[pod/b/main] hollow: nothing is executed in container main of pod default/b"
    )
    async with cluster.start("logs", "-f", "b") as following:
        assert following.stdout is not None
        assert (await following.stdout.readline()).startswith(b"hollow:")
        await cluster("delete", "pod", "b", "--now")
        async with asyncio.timeout(20):
            assert await following.wait() == 0


async def test_kubectl_exec_and_attach_reach_what_answers(nodes: Kubectl) -> None:
    await nodes("run", "a", "--image=busybox")
    await nodes("wait", "--for=condition=Ready", "pod/a", "--timeout=20s")
    assert (await nodes("exec", "a", "--", "echo", "hi there")).out == "echo hi there"
    assert (await nodes("exec", "-i", "a", "--", "cat", stdin="abc")).lines == ["cat", "ABC"]
    failed = await nodes("exec", "a", "--", "false", fails=True)
    assert (failed.code, failed.err.splitlines()) == (7, ["no", "command terminated with exit code 7"])
    assert (await nodes("attach", "-i", "a", stdin="xyz")).out.strip() == "XYZ"


async def test_kubectl_exec_says_why_a_hollow_container_runs_nothing(cluster: Kubectl) -> None:
    await cluster("run", "a", "--image=busybox")
    await cluster("wait", "--for=condition=Ready", "pod/a", "--timeout=20s")
    refused = await cluster("exec", "a", "--", "true", fails=True)
    assert "container a of pod default/a is hollow: nothing is executed in it" in refused.err
    assert "Traceback" not in refused.err


async def test_kubectl_port_forward_connects(nodes: Kubectl) -> None:
    await nodes("run", "a", "--image=busybox")
    await nodes("wait", "--for=condition=Ready", "pod/a", "--timeout=20s")
    async with nodes.start("port-forward", "pod/a", ":8080", "--address=127.0.0.1") as forwarding:
        assert forwarding.stdout is not None
        async with asyncio.timeout(20):
            line = (await forwarding.stdout.readline()).decode()
        match = re.search(r"127\.0\.0\.1:(\d+) -> 8080", line)
        assert match is not None, line
        for path in ("/one", "/two"):
            async with asyncio.timeout(20):
                reader, writer = await asyncio.open_connection("127.0.0.1", int(match[1]))
                writer.write(b"GET %b HTTP/1.1\r\n\r\n" % path.encode())
                answer = await reader.read()
                writer.close()
                await writer.wait_closed()
            assert answer.endswith(b"\r\n\r\n" + path.encode())


async def test_kubectl_cordon_taint_and_drain_move_pods(nodes: Kubectl) -> None:
    await nodes("apply", "-f", "-", stdin=deployment("web", replicas=6))
    await nodes("rollout", "status", "deployment/web", "--timeout=25s")
    await nodes("cordon", "hollow-0")
    rows = (await nodes("get", "nodes")).rows
    assert [row[1] for row in rows[1:]] == ["Ready,SchedulingDisabled", "Ready", "Ready"]
    drained = await nodes("drain", "hollow-1", "--timeout=25s")
    assert drained.lines[-1] == "node/hollow-1 drained"
    await nodes("rollout", "status", "deployment/web", "--timeout=25s")
    items = (await nodes.get("pods"))["items"]
    assert all(item["spec"]["nodeName"] != "hollow-1" for item in items)
    await nodes("uncordon", "hollow-0")
    await nodes("taint", "nodes", "hollow-2", "broken=yes:NoExecute")
    await nodes("wait", "--for=delete", "pod", "--field-selector=spec.nodeName=hollow-2", "--timeout=25s")
    await nodes("rollout", "status", "deployment/web", "--timeout=25s")
    items = (await nodes.get("pods"))["items"]
    assert {item["spec"]["nodeName"] for item in items} == {"hollow-0"}
