"""Pods that are processes of this machine: only those that say so, with real logs, ends, commands and connections."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
import yaml
from tests.tasks import stop

from setpoint.apps.error_reports import UsageError
from setpoint.cli.server import serve
from setpoint.cli.server_flags import PlaneFlags
from setpoint.client import Client, Invalid
from setpoint.cluster.embedded import EmbeddedCluster
from setpoint.cluster.nodes.container_processes import Processes
from setpoint.cluster.nodes.pod_kubeconfigs import PodAccess
from setpoint.meta import from_wire
from setpoint.models.authentication_v1 import (
    SelfSubjectReview,
    TokenRequest,
    TokenRequestSpec,
    TokenRequestStatus,
)
from setpoint.models.core_v1 import Container, EnvVar, Pod, PodSpec, ResourceRequirements, Service, ServiceAccount
from setpoint.models.discovery_v1 import EndpointSlice

SH = "process.setpoint.dev/sh"


@pytest.fixture
async def local() -> AsyncIterator[EmbeddedCluster]:
    async with EmbeddedCluster(nodes="local") as cluster:
        yield cluster


def script(name: str, text: str, image: str = SH, **fields: object) -> Pod:
    container = Container(
        name="main", image=image, command=["sh", "-c", text], env=[EnvVar(name="GREETING", value="hi")]
    )
    spec = PodSpec(containers=[container], restart_policy="Never", termination_grace_period_seconds=1)
    return Pod.named(name, "default", spec=spec)


async def until(cluster: EmbeddedCluster, name: str, *phases: str) -> Pod:
    """The pod, once it is in one of these phases."""
    async with asyncio.timeout(20):
        async for event in cluster.client.watch(Pod, namespace="default", field_selector=f"metadata.name={name}"):
            obj = event.object
            if isinstance(obj, Pod) and obj.status.phase in phases:
                return obj
    raise AssertionError


def code_of(pod: Pod) -> int | None:
    state = pod.status.container_statuses[0].state
    return state.terminated.exit_code if state is not None and state.terminated is not None else None


async def test_a_process_writes_a_log_and_ends_with_its_code(local: EmbeddedCluster) -> None:
    await local.client.create(script("a", 'echo "$GREETING $HOSTNAME"; echo again >&2; exit 3'))
    result = await until(local, "a", "Failed", "Succeeded")
    assert (result.status.phase, code_of(result)) == ("Failed", 3)
    assert await local.client.logs("a") == "hi a\nagain\n"
    assert await local.client.logs("a", tail_lines=1) == "again\n"


async def test_a_program_that_is_not_there_is_named_in_the_log(local: EmbeddedCluster) -> None:
    new_script = script("a", "")
    new_script.spec.containers[0].image, new_script.spec.containers[0].command = (
        "process.setpoint.dev/no-such-program:1",
        [],
    )
    await local.client.create(new_script)
    assert code_of(await until(local, "a", "Failed")) == 128
    assert await local.client.logs("a") == "no-such-program: No such file or directory\n"


async def test_a_command_that_no_program_can_be_given_has_not_started(local: EmbeddedCluster) -> None:
    await local.client.create(script("a", "echo \0"))
    assert code_of(await until(local, "a", "Failed")) == 128
    assert "null byte" in await local.client.logs("a")


async def test_a_command_that_is_not_in_shell_syntax_is_told_in_the_log(local: EmbeddedCluster) -> None:
    new_script = script("a", "")
    new_script.metadata.annotations = {"main.process.setpoint.dev/command": "echo 'from here"}
    await local.client.create(new_script)
    assert code_of(await until(local, "a", "Failed")) == 128
    assert await local.client.logs("a") == "annotation main.process.setpoint.dev/command: No closing quotation\n"
    await local.client.delete(await local.client.get(Pod, "a"))


async def test_a_command_that_can_not_run_beside_a_process_is_told(local: EmbeddedCluster) -> None:
    await local.client.create(script("a", "exec sleep 100"))
    await until(local, "a", "Running")
    result = await local.client.exec("a", ["echo", "a\0b"])
    assert (result.exit_code, b"null byte" in result.stderr) == (127, True)
    result = await local.client.exec("a", ["no-such-program"])
    assert (result.exit_code, result.stderr) == (127, b"no-such-program: No such file or directory\n")


async def test_images_from_elsewhere_are_never_run(local: EmbeddedCluster, tmp_path: Path) -> None:
    for number, image in enumerate(("busybox", "docker.io/library/sh", "process.setpoint.dev.example.com/sh", "sh")):
        await local.client.create(script(f"pod-{number}", f"touch {tmp_path}/ran", image=image))
        await until(local, f"pod-{number}", "Running")
    await local.client.create(script("last", "exit 0"))
    await until(local, "last", "Succeeded")
    assert not (tmp_path / "ran").exists()


async def test_an_annotation_says_what_is_run_instead_of_an_image(local: EmbeddedCluster) -> None:
    new_script = script("a", "exit 1", image="example.com/web:1")
    new_script.metadata.annotations = {"process.setpoint.dev/command": "echo 'from here'"}
    await local.client.create(new_script)
    await until(local, "a", "Succeeded")
    assert await local.client.logs("a") == "from here\n"


async def test_commands_run_beside_a_process_and_its_ports_are_reached(local: EmbeddedCluster) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.readline()).upper())
        writer.close()
        await writer.wait_closed()

    await local.client.create(script("a", "echo ready; exec sleep 100"))
    await until(local, "a", "Running")
    result = await local.client.exec("a", ["sh", "-c", 'cat; echo "$GREETING" >&2; exit 5'], stdin=b"typed")
    assert (result.exit_code, result.stdout, result.stderr) == (5, b"typed", b"hi\n")
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with local.client.port_forward("a", port) as connection:
            await connection.write(b"hello\n")
            assert await connection.read() == b"HELLO\n"


async def test_memory_is_limited_by_the_machine(local: EmbeddedCluster) -> None:
    new_script = script("a", "ulimit -v")
    new_script.spec.containers[0].resources = ResourceRequirements(limits={"memory": "64Mi"})
    await local.client.create(new_script)
    await until(local, "a", "Succeeded")
    assert await local.client.logs("a") == "65536\n"


async def test_processes_end_when_asked_or_are_killed_and_none_outlives_the_cluster(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    async with EmbeddedCluster(nodes="local") as cluster:
        for name, text in (
            ("polite", f"trap 'echo bye; exit 0' TERM; echo $$ >> {pids}; while :; do sleep 0.05; done"),
            ("stubborn", f"trap '' TERM; echo $$ >> {pids}; while :; do sleep 0.05; done"),
            ("left", f"echo $$ >> {pids}; exec sleep 100"),
        ):
            await cluster.client.create(script(name, text))
            await until(cluster, name, "Running")
        async with asyncio.timeout(20):
            while not pids.exists() or len(pids.read_text().split()) < 3:  # noqa: ASYNC110 - a shell does not say
                await asyncio.sleep(0.02)
        async with cluster.client.follow_logs("polite") as log:
            await cluster.client.delete(await cluster.client.get(Pod, "polite"))
            assert b"".join([part async for part in log.chunks()]) == b"bye\n"
        stubborn = await cluster.client.get(Pod, "stubborn")
        await cluster.client.delete(stubborn)
        async with asyncio.timeout(20):
            async for event in cluster.client.watch(Pod, namespace="default"):
                if event.type == "DELETED" and isinstance(event.object, Pod) and event.object.name == "stubborn":
                    break
    for pid in map(int, pids.read_text().split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_with_its_first_process_a_container_ends_whatever_that_has_begun(local: EmbeddedCluster) -> None:
    await local.client.create(script("ends", "sleep 100 & echo $!"))
    result = await until(local, "ends", "Succeeded")
    assert code_of(result) == 0
    await local.client.create(script("asked", "sleep 100 & echo $!; wait"))
    await until(local, "asked", "Running")
    async with asyncio.timeout(20):
        while not await local.client.logs("asked"):  # noqa: ASYNC110 - a shell does not say
            await asyncio.sleep(0.02)
    pids = [int(await local.client.logs(name)) for name in ("ends", "asked")]
    await local.client.delete(await local.client.get(Pod, "asked"))
    async with asyncio.timeout(20):
        async for event in local.client.watch(Pod, namespace="default"):
            if event.type == "DELETED" and isinstance(event.object, Pod) and event.object.name == "asked":
                break
        while any(map(alive, pids)):  # noqa: ASYNC110 - the kernel does not say
            await asyncio.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_the_command_refuses_fewer_than_no_nodes_in_one_sentence() -> None:
    with pytest.raises(UsageError, match=r"^--nodes: must be 0, a greater number or local, not -1$"):
        serve(host="127.0.0.1", port=0, kubeconfig=None, data_dir=None, plane=PlaneFlags(nodes=-1))


async def test_a_service_finds_the_processes_behind_it(local: EmbeddedCluster) -> None:
    new_script = script("a", "exec sleep 100")
    new_script.metadata.labels = {"app": "a"}
    await local.client.create(new_script)
    ports = [{"port": 80, "targetPort": 7000}]
    document = {"metadata": {"name": "web", "namespace": "default"}, "spec": {"selector": {"app": "a"}, "ports": ports}}
    await local.client.create(from_wire(Service, document))
    async with asyncio.timeout(20):
        async for event in local.client.watch(EndpointSlice, namespace="default"):
            obj = event.object
            if isinstance(obj, EndpointSlice) and obj.endpoints:
                break
    assert [(endpoint.addresses, endpoint.target_ref and endpoint.target_ref.name) for endpoint in obj.endpoints] == [
        (["127.0.0.1"], "a")
    ]
    assert [port.port for port in obj.ports] == [7000]


async def test_elsewhere_endpoints_have_no_loopback_addresses() -> None:
    async with EmbeddedCluster(control_plane=False) as cluster:
        metadata = {"name": "a", "namespace": "default"}
        document = {"metadata": metadata, "addressType": "IPv4", "endpoints": [{"addresses": ["127.0.0.1"]}]}
        with pytest.raises(Invalid, match="may not be in the loopback range"):
            await cluster.client.create(from_wire(EndpointSlice, document))


async def test_a_process_has_a_kubeconfig_with_the_service_account_of_its_pod(local: EmbeddedCluster) -> None:
    await local.client.create(ServiceAccount.named("robot", "default"))
    new_script = script("a", 'echo "$KUBECONFIG"; cat "$KUBECONFIG"; exec sleep 100')
    new_script.spec.service_account_name = "robot"
    new_script = await local.client.create(new_script)
    await until(local, "a", "Running")
    async with asyncio.timeout(20):
        while "current-context" not in (log := await local.client.logs("a")):  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.05)
    path, _, text = log.partition("\n")
    assert Path(path).stat().st_mode & 0o077 == 0
    async with Client.from_kubeconfig(path) as client:
        review = await client.create(from_wire(SelfSubjectReview, {}))
        assert review.status.user_info is not None
        assert review.status.user_info.username == "system:serviceaccount:default:robot"
    await local.client.delete(new_script)
    async with asyncio.timeout(20):
        while Path(path).exists():  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.05)
    assert yaml.safe_load(text)["contexts"][0]["context"]["namespace"] == "default"


async def test_a_pod_that_goes_while_its_token_is_made_leaves_no_kubeconfig() -> None:
    class Server:
        asked, answers = asyncio.Event(), asyncio.Event()

        async def create_token(self, name: str, **options: object) -> TokenRequest:
            self.asked.set()
            await self.answers.wait()
            return TokenRequest(spec=TokenRequestSpec(audiences=[]), status=TokenRequestStatus(token="t"))

    server = Server()
    access = PodAccess(cast("Client", server), lambda token: {"users": [{"token": token}], "contexts": []})
    processes = Processes(now=lambda: datetime(2026, 1, 2, tzinfo=UTC), access=access)
    running = asyncio.create_task(processes.run())
    pod = script("a", "exec sleep 100")
    pod.metadata.uid = "u"
    processes.begin(pod, pod.spec.containers[0], 0)
    await server.asked.wait()
    processes.forget("u")
    server.answers.set()
    assert await anext(processes.ended()) == "default/a"
    assert access._directory is not None
    assert os.listdir(access._directory.name) == []
    await stop(running)


async def test_a_pod_that_wants_no_token_gets_no_kubeconfig(local: EmbeddedCluster) -> None:
    new_script = script("a", 'echo "<$KUBECONFIG>"')
    new_script.spec.automount_service_account_token = False
    await local.client.create(new_script)
    await until(local, "a", "Succeeded")
    assert await local.client.logs("a") == "<>\n"
