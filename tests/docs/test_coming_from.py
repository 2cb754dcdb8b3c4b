"""The code of the pages for people who come from elsewhere runs, and does what the original beside it does.

The originals of Python are run where they are installed (pip install kopf lightkube kr8s kubernetes).
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tools.docs.navigation import DOCS

import setpoint as sp
from setpoint.apiserver import ApiServer, HttpFront
from setpoint.client import Client, InProcessTransport
from setpoint.models.core_v1 import ConfigMap
from setpoint.testing import virtual_time

PAGES = sorted(page.stem for page in (DOCS / "coming-from").glob("*.md") if page.stem != "index")
OPERATORS = ("controller-runtime", "java-operator-sdk", "kopf", "kube-rs")
CLIENTS = {"kr8s": "kr8s.asyncio", "kubernetes-client": "kubernetes.client", "lightkube": "lightkube.core"}
"""The pages of clients, and modules of their packages (lightkube-models alone is a lightkube, too)."""


def source(page: str, of: str) -> str:
    """The block of a page whose first line names its library."""
    text = (DOCS / "coming-from" / f"{page}.md").read_text("utf-8")
    (result,) = re.findall(rf"^```python\n# {of}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return str(result)


@pytest.fixture
def made() -> Iterator[list[str]]:
    """The names of modules that a test makes."""
    names: list[str] = []
    yield names
    for name in names:
        sys.modules.pop(name, None)


def module(page: str, of: str, text: list[str]) -> ModuleType:
    name = f"page_{page}_{of}".replace("-", "_")
    module_type = ModuleType(name)
    sys.modules[name] = module_type
    text.append(name)
    exec(compile(source(page, of), name, "exec", dont_inherit=True), module_type.__dict__)
    return module_type


def test_every_page_has_code_of_ours() -> None:
    assert sorted([*OPERATORS, *CLIENTS, "client-go"]) == PAGES
    for page in PAGES:
        assert source(page, "setpoint")


@virtual_time
@pytest.mark.parametrize("page", OPERATORS)
async def test_the_operators_keep_what_a_note_asks_for(page: str, made: list[str]) -> None:
    ours = module(page, "setpoint", made)
    async with sp.testing.cluster(ours.controller) as cluster:
        await cluster.create(ours.Note.named("a", "default", spec=ours.NoteSpec(text="to be or")))
        await cluster.settle()
        note = await cluster.get(ours.Note, "a")
        if "words" in source(page, "setpoint"):
            assert note.status.words == 3
        if "keep" in source(page, "setpoint"):
            assert (await cluster.get(ConfigMap, "a")).data == {"text": "to be or"}


@virtual_time
async def test_the_informer_and_the_queue_give_the_first_key(made: list[str]) -> None:
    ours = module("client-go", "setpoint", made)
    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        await client.create(ConfigMap.named("a", "default", data={"mode": "fast"}))
        assert await ours.first_key(client) == "default/a fast"


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ApiServer]:
    """A server that every client finds by ``KUBECONFIG``."""
    async with ApiServer() as running, HttpFront(running) as front:
        (tmp_path / "config").write_text(json.dumps(front.kubeconfig()))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
        monkeypatch.setenv("HOME", str(tmp_path))
        yield running


async def called(function: Any) -> Any:
    return await function() if inspect.iscoroutinefunction(function) else await asyncio.to_thread(function)


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("page", CLIENTS)
async def test_our_client_does_what_the_page_says(page: str, made: list[str]) -> None:
    assert await called(module(page, "setpoint", made).settings) == ({"mode": "fast", "size": "3"}, ["a"])


@pytest.mark.usefixtures("server")
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", CLIENTS)
async def test_the_client_beside_ours_does_the_same(page: str, made: list[str]) -> None:
    pytest.importorskip(CLIENTS[page])
    theirs = module(page, CLIENTS[page].partition(".")[0], made)
    data, names = await called(theirs.settings)
    assert (dict(data), list(names)) == await called(module(page, "setpoint", made).settings)


@pytest.mark.filterwarnings("default")
async def test_the_operator_of_kopf_counts_the_same_words(server: ApiServer, made: list[str]) -> None:
    kopf = pytest.importorskip("kopf")
    ours = module("kopf", "setpoint", made)
    registry = kopf.OperatorRegistry()
    kopf.on.login(registry=registry)(kopf.login_with_kubeconfig)
    before = kopf.get_default_registry()
    kopf.set_default_registry(registry)
    try:
        module("kopf", "kopf", made)
    finally:
        kopf.set_default_registry(before)
    from setpoint.crd import crd_for
    from setpoint.meta import decode, encode
    from setpoint.models.apiextensions_v1 import CustomResourceDefinition

    stop = asyncio.Event()
    async with Client(InProcessTransport(server.handle)) as client:
        await client.create(decode(CustomResourceDefinition, encode(crd_for(ours.Note))))
        running = asyncio.create_task(
            kopf.operator(registry=registry, standalone=True, namespaces=["default"], stop_flag=stop)
        )
        try:
            await client.create(ours.Note.named("a", "default", spec=ours.NoteSpec(text="to be or")))
            async with asyncio.timeout(60):
                while (note := await client.get(ours.Note, "a", namespace="default")).status.words != 3:
                    assert not running.done(), running
                    await asyncio.sleep(0.05)
        finally:
            stop.set()
            await running
        assert note.status.words == 3
