"""Tests against a whole API server: the embedded one, or with ``--kubeconfig FILE`` any cluster.

They make namespaces of their own and delete them; what a server's version lacks is skipped with the reason.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from setpoint.client import Client, ClientConfig, HttpTransport, InProcessTransport, Transport
from setpoint.client.kubeconfig import load_kubeconfig
from setpoint.meta import ObjectMeta
from setpoint.models.core_v1 import Namespace

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: x
contexts: [{name: x, context: {cluster: x, user: x}}]
clusters: [{name: x, cluster: {server: "URL"}}]
users: [{name: x, user: {}}]
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kubeconfig", help="run tests/integration against the current context of this kubeconfig")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "transport" in metafunc.fixturenames:
        given = metafunc.config.getoption("--kubeconfig", None)
        metafunc.parametrize("transport", ["cluster"] if given else ["in-process", "http"], indirect=True)


@pytest.fixture
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@dataclass(frozen=True)
class Target:
    """The server under test. ``kubeconfig`` is for programs; None where there is no socket."""

    make_transport: Callable[[], Transport]
    kubeconfig: Path | None
    address: str = ""


@pytest.fixture
async def target(transport: str, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Target]:
    if transport == "cluster":
        path = Path(str(request.config.getoption("--kubeconfig")))
        config = load_kubeconfig(path)
        yield Target(lambda: HttpTransport(config), path, config.server)
        return
    from setpoint.apiserver import ApiServer, HttpFront

    async with ApiServer() as server:
        if transport == "in-process":
            yield Target(lambda: InProcessTransport(server.handle), None)
        else:
            async with HttpFront(server) as front:
                path = tmp_path / "kubeconfig"
                path.write_text(KUBECONFIG.replace("URL", front.url))
                yield Target(lambda: HttpTransport(ClientConfig(server=front.url)), path, front.url)


@pytest.fixture
async def warnings() -> list[str]:
    """Everything that the server warned `client` of."""
    return []


@pytest.fixture
async def client(target: Target, warnings: list[str]) -> AsyncIterator[Client]:
    async with Client(target.make_transport(), on_warning=warnings.append) as client:
        yield client


@pytest.fixture
def kubectl(target: Target) -> Callable[..., list[str]]:
    """``kubectl("get", "pods")`` is the command line. Skips where there is no kubectl, or no socket to talk to."""
    executable = shutil.which("kubectl")
    if executable is None:
        pytest.skip("kubectl is not installed")
    if target.kubeconfig is None:
        pytest.skip("there is no socket")
    return lambda *arguments: [executable, "--kubeconfig", str(target.kubeconfig), *arguments]


@pytest.fixture
async def namespace(client: Client) -> AsyncIterator[str]:
    new_namespace = await client.create(Namespace(metadata=ObjectMeta(generate_name="setpoint-test-")))
    try:
        yield new_namespace.name
    finally:
        await client.delete(Namespace, new_namespace.name)


@pytest.fixture
async def version(client: Client) -> tuple[int, int]:
    """The server's version, such as ``(1, 36)``."""
    info = json.loads(await client.request("GET", "/version"))
    return int(info["major"]), int(re.sub(r"\D.*", "", info["minor"]))


@pytest.fixture
def embedded(transport: str) -> bool:
    return transport != "cluster"
