"""``setpoint server`` as its users meet it: ready, stopped, in the way of another, killed."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import ClientSession, web
from tests.programs import DEADLINE, program, server

from setpoint.apps.error_reports import UsageError
from setpoint.cli.server import serve
from setpoint.cli.server_flags import PlaneFlags
from setpoint.client import Client, ConfigError, TransportError
from setpoint.models.apps_v1 import ControllerRevision
from setpoint.models.core_v1 import ConfigMap, Pod

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_it_says_where_it_serves_and_ends_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    async with server(tmp_path) as (running, url, kubeconfig):
        assert running.out == [f"setpoint: serving Kubernetes 1.37 at {url} (objects in memory)"]
        assert kubeconfig.stat().st_mode & 0o777 == 0o600
        async with Client.from_kubeconfig(kubeconfig) as client:
            assert (await client.list(Pod)).items == []
        assert await running.signalled(number) == 0
        assert running.err == []
    assert not (tmp_path / ".kube").exists()


async def test_the_kubeconfig_may_be_given_by_the_flag_of_kind(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    async with program("-m", "setpoint", "server", "--port", "0", "--kubeconfig", file, home=tmp_path) as running:
        await running.until(lambda seen: bool(seen.out), "the line about the server")
        assert "server: https://127.0.0.1:" in file.read_text()


async def test_it_says_how_to_get_a_kubeconfig_when_it_writes_none(tmp_path: Path) -> None:
    async with program("-m", "setpoint", "server", "--port", "0", "--no-control-plane", home=tmp_path) as running:
        await running.until(lambda seen: len(seen.out) == 2, "the line about the kubeconfig")
        assert running.out[1] == "setpoint: kubectl needs a kubeconfig: --write-kubeconfig FILE writes one"


async def test_the_page_of_a_cluster_is_served_where_it_says(tmp_path: Path) -> None:
    async with server(tmp_path, "--ui", "--no-control-plane") as (running, _, _):
        await running.until(lambda seen: len(seen.out) == 2, "the line about the page")
        words, _, address = running.out[1].rpartition(" ")
        assert words == "setpoint: the page:"
        async with ClientSession() as session, session.get(address.replace("/ui/", "/debug/kinds")) as answer:
            assert "namespaces" in [item["name"] for item in await answer.json()]


@pytest.mark.parametrize("address", ["0.0.0.0:6444", ":6444", "page", "127.0.0.1:99999"])
def test_an_address_where_the_page_can_not_be_is_named(address: str) -> None:
    with pytest.raises(UsageError, match="--ui-bind-address: "):
        serve(
            host="127.0.0.1", port=0, kubeconfig=None, data_dir=None, plane=PlaneFlags(control_plane=False), ui=address
        )


def test_a_version_that_the_server_can_not_be_is_refused() -> None:
    with pytest.raises(UsageError, match=r"--kubernetes: '1\.12' is not a version of Kubernetes from 1\.31"):
        serve(host="127.0.0.1", port=0, kubeconfig=None, data_dir=None, plane=PlaneFlags(kubernetes="1.12"))


async def test_a_program_says_at_its_start_what_an_older_server_drops(tmp_path: Path) -> None:
    async with server(tmp_path, "--kubernetes", "1.33", "--no-control-plane") as (serving, url, kubeconfig):
        assert serving.out == [f"setpoint: serving Kubernetes 1.33 at {url} (objects in memory)"]
        words = ("run", "--kubeconfig", kubeconfig, "--metrics-bind-address", "0", "--health-probe-bind-address", "0")
        async with program(EXAMPLES / "mykind.py", *words, home=tmp_path) as running:
            await running.until(lambda seen: any("Kubernetes 1.33" in line for line in seen.err), "the version")
            (line,) = [line for line in running.err if "Kubernetes 1.33" in line]
            assert "it drops these fields of kinds that are owned here: " in line
            assert "Container.restartPolicyRules" in line


async def test_an_open_watch_does_not_keep_it_from_ending(tmp_path: Path) -> None:
    async with server(tmp_path) as (running, _, kubeconfig), Client.from_kubeconfig(kubeconfig) as client:
        seen = asyncio.Event()

        async def follow() -> None:
            async for _ in client.watch(ConfigMap, namespace="default"):
                seen.set()

        watching = asyncio.create_task(follow())
        await client.create(ConfigMap.named("a", "default"))
        await seen.wait()
        assert await running.signalled(signal.SIGTERM) == 0
        await asyncio.wait_for(watching, DEADLINE)  # the server ends the stream properly


async def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    async with server(tmp_path) as (_, url, _):
        port = str(urlsplit(url).port)
        async with program("-m", "setpoint", "server", "--port", port, home=tmp_path) as second:
            assert await second.ended() == 1
            (line,) = second.err
            assert port in line
            assert "is in use by another program" in line


async def test_one_data_directory_is_for_one_server(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with (
        server(tmp_path, "--data-dir", data),
        program("-m", "setpoint", "server", "--port", "0", "--data-dir", data, home=tmp_path) as second,
    ):
        assert await second.ended() == 1
        (line,) = second.err
        assert str(data) in line


async def test_a_file_in_place_of_the_data_directory_is_refused_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.touch()
    async with program("-m", "setpoint", "server", "--port", "0", "--data-dir", file, home=tmp_path) as running:
        assert await running.ended() == 1
        assert running.err == [
            f"setpoint: --data-dir: {file} is a file; name a directory, which may be missing or empty"
        ]


async def test_whatever_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    data = tmp_path / "data"
    acknowledged: list[str] = []

    async def write(client: Client, worker: int) -> None:
        for number in range(10_000):
            name = f"written-{worker}-{number}"
            await client.create(ConfigMap.named(name, "default", data={"number": str(number)}))
            acknowledged.append(name)

    async with server(tmp_path, "--data-dir", data) as (running, _, kubeconfig):
        async with Client.from_kubeconfig(kubeconfig) as client:
            writers = [asyncio.create_task(write(client, worker)) for worker in range(4)]
            while len(acknowledged) < 100:
                await asyncio.wait(writers, timeout=0.01)
            running.process.kill()
            for answer in await asyncio.gather(*writers, return_exceptions=True):
                assert isinstance(answer, TransportError), answer
        await running.ended()
    async with server(tmp_path, "--data-dir", data) as (_, _, kubeconfig), Client.from_kubeconfig(kubeconfig) as client:
        there = {item.name for item in await client.list(ConfigMap, namespace="default")}
    assert set(acknowledged) <= there


async def test_a_damaged_data_directory_is_refused_in_one_line(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "setpoint.db").write_bytes(b"not a database, " * 1000)
    async with program("-m", "setpoint", "server", "--port", "0", "--data-dir", data, home=tmp_path) as running:
        assert await running.ended() == 1
        assert running.err == [
            f"setpoint: {data}/setpoint.db is damaged (file is not a database): start with another "
            "--data-dir, empty or with a copy from --backup as setpoint.db, or extract what is left with SQLite's "
            "command .recover"
        ]


async def test_a_server_starts_with_a_copy_that_was_made_of_another_while_it_ran(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy" / "setpoint.db"
    copy.parent.mkdir()
    words = ("-m", "setpoint", "server", "--data-dir", data, "--backup", copy)
    async with server(tmp_path, "--data-dir", data) as (_, _, kubeconfig), Client.from_kubeconfig(kubeconfig) as client:
        await client.create(ConfigMap.named("before", "default"))
        async with program(*words, home=tmp_path) as running:
            assert await running.ended() == 0
            assert running.out == [f"setpoint: the objects in {data} are copied to {copy}"]
        await client.create(ConfigMap.named("after", "default"))
    data = copy.parent
    async with server(tmp_path, "--data-dir", data) as (_, _, kubeconfig), Client.from_kubeconfig(kubeconfig) as client:
        there = {item.name for item in await client.list(ConfigMap, namespace="default")}
    assert there - {"kube-root-ca.crt"} == {"before"}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ((), "--backup copies the database of a data directory: name it with --data-dir"),
        (("--data-dir", "."), "data directory . has no setpoint.db to copy"),
    ],
)
async def test_a_copy_that_can_not_be_made_is_told_in_one_line(
    tmp_path: Path, words: tuple[str, ...], line: str
) -> None:
    async with program("-m", "setpoint", "server", "--backup", tmp_path / "copy", *words, home=tmp_path) as running:
        assert await running.ended() == 1
        assert running.err == [f"setpoint: {line}"]
    assert not (tmp_path / "copy").exists()


async def test_an_object_nested_deeply_ends_no_server(tmp_path: Path) -> None:
    """Neither the process, whose control plane watches everything, nor its next start."""
    data = tmp_path / "data"
    path = "/apis/apps/v1/namespaces/default/controllerrevisions"
    head = '{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"deep-%d"},"revision":1,"data":'
    accepted: set[str] = set()
    async with server(tmp_path, "--http", "--data-dir", data) as (running, url, kubeconfig):
        async with ClientSession() as http:
            for depth in (10, 240, 260, 900, 970, 5000, 100_000):
                body = (head % depth + '{"a":' * depth + "1" + "}" * depth + "}").encode()
                async with http.post(url + path, data=body, headers={"Content-Type": "application/json"}) as answer:
                    status = (await answer.json())["code"] if answer.status != 201 else 201
                    assert status == (201 if depth <= 240 else 422 if depth < 264 else 400), depth
                    if status == 201:
                        accepted.add(f"deep-{depth}")
        async with Client.from_kubeconfig(kubeconfig) as client:
            await client.delete(ControllerRevision, "deep-10", namespace="default")  # the garbage collector sees it
            await client.create(ConfigMap.named("after", "default"))
        assert await running.signalled(signal.SIGTERM) == 0
        assert running.err == []
    async with server(tmp_path, "--data-dir", data) as (running, _, kubeconfig):
        async with Client.from_kubeconfig(kubeconfig) as client:
            there = {item.name for item in await client.list(ControllerRevision, namespace="default")}
            assert there == accepted - {"deep-10"}
        assert await running.signalled(signal.SIGTERM) == 0
        assert running.err == []


async def test_after_a_kill_chronos_and_mykind_go_on(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with (
        server(tmp_path, "--data-dir", data) as (first, url, kubeconfig),
        program("-m", "setpoint.apps.chronos", "-k", kubeconfig, "-o", "json", home=tmp_path) as chronos,
        program(EXAMPLES / "mykind.py", "manifests", home=tmp_path) as manifests,
    ):
        assert await manifests.ended() == 0
        (tmp_path / "manifests.yaml").write_text("\n".join(manifests.out))
        await apply(tmp_path / "manifests.yaml", kubeconfig)
        async with program(EXAMPLES / "mykind.py", "run", "-k", kubeconfig, home=tmp_path) as mykind:
            await apply_mykind(kubeconfig, 2)
            await chronos.until(lambda p: running_pods(p.out) == {"a-0", "a-1"}, "two running pods")
            first.process.kill()
            await first.ended()
            port = str(urlsplit(url).port)
            async with server(tmp_path, "--data-dir", data, "--port", port):
                await apply_mykind(kubeconfig, 3)
                await chronos.until(lambda p: running_pods(p.out) == {"a-0", "a-1", "a-2"}, "three running pods")
                events = [json.loads(line) for line in chronos.out]
                assert sum(event["event"] == "create" for event in events) == 3  # nothing was said twice
                assert await mykind.signalled(signal.SIGTERM) == 0
                assert await chronos.signalled(signal.SIGINT) == 0
                assert "Traceback" not in mykind.printed() + chronos.printed()


async def apply(manifests: Path, kubeconfig: Path) -> None:
    """As ``kubectl apply --server-side`` does."""
    import yaml

    from setpoint.client import PatchType
    from setpoint.meta import GroupVersion, GroupVersionKind
    from setpoint.models import kind_for

    async with Client.from_kubeconfig(kubeconfig) as client:
        for document in yaml.safe_load_all(manifests.read_text()):
            version = GroupVersion.parse(document["apiVersion"])
            kind = kind_for(GroupVersionKind(*version, document["kind"]))
            name = document["metadata"]["name"]
            await client.patch(kind, name, document, type=PatchType.APPLY, field_manager="kubectl")


async def apply_mykind(kubeconfig: Path, count: int) -> None:
    """Tries until the definition is served."""
    body = {"apiVersion": "grp.example.com/v1alpha1", "kind": "Mykind", "metadata": {"name": "a"}}
    body = {**body, "spec": {"numpods": count}}
    path = "/apis/grp.example.com/v1alpha1/namespaces/default/mykinds/a"
    async with Client.from_kubeconfig(kubeconfig) as client:
        await client.request(
            "PATCH",
            path,
            query=(("fieldManager", "test"), ("force", "true")),
            body=json.dumps(body).encode(),
            content_type="application/apply-patch+yaml",
        )


def running_pods(lines: list[str]) -> set[str]:
    """The names of the pods whose last line says that they run."""
    last = {event["key"]: event for event in map(json.loads, lines)}
    return {
        key.partition("/")[2]
        for key, event in last.items()
        if event["event"] != "delete" and event["phase"] == "Running"
    }


async def test_a_kubeconfig_that_nobody_wrote_is_named(tmp_path: Path) -> None:
    async with program("-m", "setpoint.apps.chronos", "-k", tmp_path / "none", home=tmp_path) as chronos:
        assert await chronos.ended() == 1
        (line,) = chronos.err
        assert str(tmp_path / "none") in line
    with pytest.raises(ConfigError):
        Client.from_kubeconfig(tmp_path / "none")


REFUSALS = {
    401: ("Unauthorized", "Unauthorized"),
    403: (
        "Forbidden",
        'pods is forbidden: User "eve" cannot list resource "pods" in API group "" at the cluster scope',
    ),
}


@pytest.mark.parametrize("code", REFUSALS)
async def test_who_is_not_let_in_is_told_in_one_line(tmp_path: Path, code: int) -> None:
    reason, message = REFUSALS[code]

    async def refuse(_: web.Request) -> web.Response:
        status = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}
        return web.json_response(status, status=code)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", refuse)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        kubeconfig = tmp_path / "config"
        kubeconfig.write_text(
            json.dumps(
                {
                    "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{runner.addresses[0][1]}"}}],
                    "users": [{"name": "eve", "user": {"token": "s3cret"}}],
                    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "eve"}}],
                    "current-context": "x",
                }
            )
        )
        kubeconfig.chmod(0o600)  # else that would be the first thing to be told
        async with program("-m", "setpoint.apps.chronos", "-k", kubeconfig, home=tmp_path) as chronos:
            assert await chronos.ended() == 1
            (line,) = chronos.err
            assert message in line
            assert "s3cret" not in line
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-k", "{home}/refused"), "can't be reached"),
        (("-k", "{home}/refused", "--context", "nowhere"), "context 'nowhere' does not exist"),
        (("-k", "{home}/refused", "-l", "a=b=c"), "found '=', expected: ',' or 'end of string'"),
        (("-k", "{home}/rubbish"), "rubbish"),
    ],
)
async def test_what_can_not_work_ends_in_one_line(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    (tmp_path / "rubbish").write_text("{a: [")
    (tmp_path / "refused").write_text(
        json.dumps(
            {
                "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "users": [{"name": "u", "user": {}}],
                "current-context": "x",
            }
        )
    )
    options = [word.format(home=tmp_path) for word in words]
    async with program("-m", "setpoint.apps.chronos", *options, home=tmp_path) as chronos:
        assert await chronos.ended() == 1
        (line,) = chronos.err
        assert message in line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--metrics-bind-address", "x"), "--metrics-bind-address: bind address 'x' is not of the form HOST:PORT"),
        (("--leader-elect", "--leader-election-id", "Bad_Name"), "leader election: name 'Bad_Name'"),
        (
            ("--metrics-bind-address", "127.0.0.1:0", "--metrics-secure", "--metrics-cert-dir", "{home}/none"),
            "the metrics server can't use tls.crt and tls.key in {home}/none",
        ),
        (("--write-kubeconfig", "{home}"), "Is a directory: {home}"),
    ],
)
async def test_flags_that_can_not_be_end_a_controller_in_one_line(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    options = [word.format(home=tmp_path) for word in words]
    mykind = str(EXAMPLES / "mykind.py")
    async with program(mykind, "run", "--embedded", "--log-level", "error", *options, home=tmp_path) as running:
        assert await running.ended() == 1
        line = running.err[-1]
        assert line.startswith("mykind.py: " + message.format(home=tmp_path))
        assert all(other.startswith("API server:") for other in running.err[:-1])


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
async def test_an_address_that_others_reach_is_refused(tmp_path: Path, host: str) -> None:
    async with program("-m", "setpoint", "server", "--host", host, "--port", "0", home=tmp_path) as running:
        assert await running.ended() == 1
        (line,) = running.err
        assert line.startswith(f"setpoint: this server authenticates no client, so it can't listen on {host}: use a")
