"""Argo CD's health assessment and Flux's kstatus, from their own Go modules, on objects of the page about GitOps."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests import toolchains
from tests.docs.test_how_to import module_of
from tools.docs.navigation import DOCS

import setpoint as sp
from setpoint.crd import crd_for
from setpoint.meta import from_wire, raw_of
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.testing import virtual_time

pytestmark = pytest.mark.peers

PAGE = DOCS / "howto" / "gitops.md"
SOURCES = Path(__file__).parent / "gitops"
EXPECTED = {
    "created": ("InProgress", "Progressing"),
    "ready": ("Current", "Healthy"),
    "waiting": ("InProgress", "Progressing"),
    "changed": ("InProgress", "Progressing"),
    "failing": ("InProgress", "Progressing"),
    "stalled": ("Failed", "Degraded"),
    "paused": ("InProgress", "Suspended"),
    "deleted": ("Terminating", "Progressing"),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    toolchains.needs("go")
    folder = tmp_path_factory.mktemp("gitops")
    shutil.copytree(SOURCES, folder, dirs_exist_ok=True)
    toolchains.fetched(["go", "mod", "download"], folder)
    toolchains.run_offline(["go", "build", "-o", "assess", "."], folder)
    return folder / "assess"


@virtual_time
async def objects(page: Any) -> dict[str, dict[str, Any]]:
    """A shop in every state of the page's table, as a server answers it."""
    results: dict[str, dict[str, Any]] = {}

    async def read(cluster: sp.testing.Cluster, name: str) -> None:
        obj = await cluster.client.get(page.Shop, name, namespace="default")
        results[name] = msgspec.json.decode(raw_of(obj) or b"")

    async with sp.testing.cluster() as cluster:
        await cluster.client.create(from_wire(CustomResourceDefinition, crd_for(page.Shop)))
        await cluster.settle()
        await cluster.create(page.Shop.named("created", "default"))
        await read(cluster, "created")
    async with sp.testing.cluster(page.controller) as cluster:
        for name, till in (("ready", "open"), ("waiting", "closed"), ("failing", "open"), ("stalled", "unknown")):
            await page.state(cluster, name, till)
        # It was ready, and fails later: Ready=True stays, as the function has not set it again.
        await cluster.client.patch(page.Shop, "failing", {"spec": {"till": "away"}}, namespace="default")
        paused = page.Shop.named("paused", "default")
        paused.metadata.annotations["howto.example.com/paused"] = "new wires"
        await cluster.create(paused)
        await cluster.settle(failing=True)
        for name in ("ready", "waiting", "failing", "stalled", "paused"):
            await read(cluster, name)
    ready = results["ready"]
    results["changed"] = {**ready, "metadata": {**ready["metadata"], "generation": 2}}
    results["deleted"] = {**ready, "metadata": {**ready["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    return results


def test_argo_cd_and_flux_say_what_the_page_says(program: Path, tmp_path: Path) -> None:
    (script,) = re.findall(r"^```lua\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    shops = objects(module_of(PAGE, tmp_path))
    questions = [{"object": shops[name], "lua": script} for name in EXPECTED]
    (tmp_path / "questions").write_text(json.dumps(questions))
    answers = json.loads(toolchains.run_offline(["sh", "-c", f"{program} < {tmp_path / 'questions'}"], tmp_path))
    assert {
        name: (answer["kstatus"], answer["argo"]) for name, answer in zip(EXPECTED, answers, strict=True)
    } == EXPECTED
    reasons = {name: answer["reason"] for name, answer in zip(EXPECTED, answers, strict=True)}
    assert "the till can't be reached" in reasons["failing"]
    assert "there is no such till" in reasons["stalled"]
    assert "new wires" in reasons["paused"]


def test_argo_cd_says_nothing_about_a_custom_resource_without_a_script(program: Path, tmp_path: Path) -> None:
    shops = objects(module_of(PAGE, tmp_path))
    (tmp_path / "questions").write_text(json.dumps([{"object": shops["stalled"], "lua": ""}]))
    (answer,) = json.loads(toolchains.run_offline(["sh", "-c", f"{program} < {tmp_path / 'questions'}"], tmp_path))
    assert (answer["argo"], answer["kstatus"]) == ("", "Failed")
