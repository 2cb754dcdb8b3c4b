"""Tests against a whole API server: the embedded one, or with ``--kubeconfig FILE`` any cluster.

They make namespaces of their own and delete them; what a server's version lacks is skipped with the reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator

import pytest

from setpoint.client import Client, ClientConfig, HttpTransport, InProcessTransport
from setpoint.meta import ObjectMeta
from setpoint.models.core_v1 import Namespace


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kubeconfig", help="run tests/integration against the current context of this kubeconfig")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "transport" in metafunc.fixturenames:
        given = metafunc.config.getoption("--kubeconfig", None)
        metafunc.parametrize("transport", ["cluster"] if given else ["in-process", "http"], indirect=True)


@pytest.fixture
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def client(transport: str, request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    if transport == "cluster":
        async with Client.from_kubeconfig(request.config.getoption("--kubeconfig")) as client:
            yield client
        return
    from setpoint.apiserver import ApiServer, HttpFront

    async with ApiServer() as server:
        if transport == "in-process":
            async with Client(InProcessTransport(server.handle)) as client:
                yield client
        else:
            async with HttpFront(server) as front, Client(HttpTransport(ClientConfig(server=front.url))) as client:
                yield client


@pytest.fixture
async def namespace(client: Client) -> AsyncIterator[str]:
    made = await client.create(Namespace(metadata=ObjectMeta(generate_name="setpoint-test-")))
    try:
        yield made.name
    finally:
        await client.delete(Namespace, made.name)


@pytest.fixture
async def version(client: Client) -> tuple[int, int]:
    """The server's version, such as ``(1, 36)``."""
    info = json.loads(await client.request("GET", "/version"))
    return int(info["major"]), int(re.sub(r"\D.*", "", info["minor"]))


@pytest.fixture
def embedded(transport: str) -> bool:
    return transport != "cluster"
