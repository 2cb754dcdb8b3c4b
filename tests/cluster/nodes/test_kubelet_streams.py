"""Logs, commands and connections of hollow pods, with setpoint's own client."""

from __future__ import annotations

import asyncio

import pytest
from tests.cluster.scheduling.pods import pod
from tests.tasks import stop

from setpoint.client import ApiError, BadRequest, TransportError
from setpoint.cluster import Command, Connection, PodBehaviour
from setpoint.models.core_v1 import Container, Node, Pod
from setpoint.testing import advance, cluster, virtual_time

HOLLOW = "hollow.setpoint.io"


async def shell(command: Command) -> int:
    """Says what it was asked, and what was typed."""
    command.stdout.write(f"{command.container}: {' '.join(command.arguments)}\n")
    typed = await command.stdin.read_all()
    command.stderr.write(typed.upper())
    return len(typed)


async def echo(connection: Connection) -> None:
    while data := await connection.read():
        connection.write(f"{connection.port}:".encode() + data)


async def breaks(_command: Command) -> int:
    raise OSError("the disk is gone")


def scripted(pod: Pod) -> PodBehaviour:
    return PodBehaviour(exec=breaks if pod.name == "broken" else shell, attach=shell, ports={8080: echo})


def noted(name: str, notes: dict[str, str], **fields: object) -> Pod:
    new_pod = pod(name, **fields)  # type: ignore[arg-type]
    new_pod.metadata.annotations = {f"{HOLLOW}/{what}": value for what, value in notes.items()}
    return new_pod


@virtual_time
async def test_a_log_has_the_lines_that_are_written_by_now() -> None:
    async with cluster() as world:
        await world.create(noted("a", {"log": "one\ntwo\nthree", "log-seconds": "10"}))
        await advance(15)
        client = world.client
        assert await client.logs("a") == "one\ntwo\n"
        await advance(10)
        assert await client.logs("a") == "one\ntwo\nthree\n"
        assert await client.logs("a", tail_lines=1) == "three\n"
        assert await client.logs("a", since_seconds=10) == "three\n"
        assert await client.logs("a", limit_bytes=5) == "one\nt"
        stamped = await client.logs("a", timestamps=True, tail_lines=1)
        assert stamped.endswith("20.000000000Z three\n")


@virtual_time
async def test_a_log_is_followed_to_the_end_of_its_container() -> None:
    async with cluster() as world:
        notes = {"log": "one\ntwo\nthree\nnever", "log-seconds": "10", "run-seconds": "25"}
        await world.create(noted("a", notes, restart_policy="Never"))
        await advance(1)
        seen: list[tuple[float, bytes]] = []

        async def follow() -> None:
            async with world.client.follow_logs("a") as log:
                async for chunk in log.chunks():
                    seen.append((round(asyncio.get_running_loop().time()), chunk))

        following = asyncio.ensure_future(follow())
        await advance(60)
        assert following.done()
        await following
        assert seen == [(1, b"one\n"), (10, b"two\n"), (20, b"three\n")]


@virtual_time
async def test_a_log_that_is_followed_ends_with_its_pod_and_with_its_reader() -> None:
    async with cluster() as world:
        new_pod = await world.create(pod("a"))
        await world.settle()

        async def follow() -> bytes:
            async with world.client.follow_logs("a") as log:
                return b"".join([chunk async for chunk in log.chunks()])

        following, other = asyncio.ensure_future(follow()), asyncio.ensure_future(follow())
        await advance(600)
        await stop(other)
        assert not following.done()
        await world.delete(new_pod)
        await world.settle()
        assert await following == b"hollow: nothing is executed in container main of pod default/a\n"


@virtual_time
async def test_the_log_before_is_that_of_the_last_run() -> None:
    async with cluster() as world:
        await world.create(noted("a", {"exit-code": "1", "log": "begins"}))
        await world.create(pod("b"))
        await advance(1)
        assert await world.client.logs("a") == "begins\n"
        assert await world.client.logs("a", previous=True) == "begins\n"
        with pytest.raises(BadRequest, match='previous terminated container "main" in pod "b" not found'):
            await world.client.logs("b", previous=True)


@virtual_time
async def test_which_container_is_meant_has_to_be_said_where_there_are_several() -> None:
    async with cluster() as world:
        new_pod = pod("two")
        new_pod.spec.containers.append(Container(name="other", image="b"))
        await world.create(new_pod)
        await world.create(noted("late", {"pull-seconds": "100"}))
        await advance(1)
        with pytest.raises(BadRequest, match=r"must be specified for pod two, choose one of: \[main other\]"):
            await world.client.logs("two")
        assert "container other" in await world.client.logs("two", container="other")
        with pytest.raises(BadRequest, match="container wrong is not valid for pod two"):
            await world.client.logs("two", container="wrong")
        waits = 'container "main" in pod "late" is waiting to start: ContainerCreating'
        with pytest.raises(BadRequest, match=waits):
            await world.client.logs("late")


@virtual_time
async def test_a_command_is_answered_by_the_function_of_its_behaviour() -> None:
    async with cluster(behaviour=scripted) as world:
        await world.create(pod("a"))
        await world.settle()
        result = await world.client.exec("a", ["sh", "-c", "x y"], stdin=b"abc")
        assert (result.exit_code, result.stdout, result.stderr) == (3, b"main: sh -c x y\n", b"ABC")
        result = await world.client.exec("a", ["true"])
        assert (result.exit_code, result.stdout, result.stderr) == (0, b"main: true\n", b"")


@virtual_time
async def test_a_command_that_can_not_be_run_is_refused_with_the_reason() -> None:
    async with cluster(behaviour=lambda result: scripted(result) if result.name == "broken" else None) as world:
        for name in ("a", "broken"):
            await world.create(pod(name))
        await world.create(pod("nowhere", scheduler_name="other"))
        await world.create(noted("late", {"pull-seconds": "100"}))
        await world.settle(patience=0)
        for name, why in (
            ("a", r"container main of pod default/a is hollow: .* PodBehaviour\(exec=...\) answers"),
            ("nowhere", "pod nowhere does not have a host assigned"),
            ("late", r'container not found \("main"\)'),
            ("broken", "OSError: the disk is gone"),
        ):
            with pytest.raises(ApiError, match=why):
                await world.client.exec(name, ["true"])
        with pytest.raises(BadRequest, match=r"no process listens on its port 80\b"):
            async with world.client.port_forward("a", 80):
                raise AssertionError


@virtual_time
async def test_a_client_that_goes_ends_the_command() -> None:
    ended = asyncio.Event()

    async def waits(command: Command) -> int:
        command.stdout.write("begun")
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return 0

    async with cluster(behaviour=lambda _: PodBehaviour(exec=waits)) as world:
        await world.create(pod("a"))
        await world.settle()
        with pytest.raises(TransportError, match="longer than 5 s"):
            await world.client.exec("a", ["sleep"], timeout=5)
        assert ended.is_set()


@virtual_time
async def test_the_size_of_the_terminal_reaches_the_command() -> None:
    async def asks(command: Command) -> int:
        size = await command.sizes.get()
        command.stdout.write(f"{size.columns}x{size.rows} {command.tty}")
        return 0

    async with cluster(behaviour=lambda _: PodBehaviour(exec=asks)) as world:
        await world.create(pod("a"))
        await world.settle()
        async with world.client.exec_stream("a", ["top"], stdin=True, tty=True) as running:
            await running.resize(80, 25)
            assert [part async for part in running] == [("stdout", b"80x25 True")]


@virtual_time
async def test_a_connection_to_a_port_is_answered_until_it_is_closed() -> None:
    async with cluster(behaviour=scripted) as world:
        await world.create(pod("a"))
        await world.settle()
        async with world.client.port_forward("a", 8080) as connection:
            await connection.write(b"hello")
            assert await connection.read() == b"8080:hello"
            await connection.write(b"again")
            assert await connection.read() == b"8080:again"


@virtual_time
async def test_containers_of_a_dead_node_do_not_answer() -> None:
    async with cluster(behaviour=scripted) as world:
        await world.create(pod("a"))
        await world.settle()
        node = await world.get(Node, "hollow-0")
        node.metadata.annotations = {f"{HOLLOW}/node": "dead"}
        await world.update(node)
        await world.settle(patience=0)
        with pytest.raises(ApiError, match="error dialing backend: node hollow-0 does not answer"):
            await world.client.exec("a", ["true"])
