"""Releases of an operator replace each other by ``helm upgrade`` while clients write: nothing fails, nothing is lost.

1.0.0 has one version of its kind; 2.0.0 has a second one, which a webhook converts, and stores the first; 3.0.0 stores
the second. During each upgrade the pods of both releases answer.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbkinds import Database, DatabaseV1alpha1
from tests.deploy.clusters import READY, clusters, helm, kubelet

import setpoint as sp
from setpoint.models.apiextensions_v1 import CustomResourceDefinition
from setpoint.models.core_v1 import Secret
from setpoint.webhook import service_names
from setpoint.webhook.certificate_authority import Pair, facts_of, issue, split

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "database"
FIRST = Path(__file__).with_name("first_release.py")
SPACE = "data-system"
SELECTOR = "app.kubernetes.io/name=database,app.kubernetes.io/component=manager"
PLACE = ("--namespace", SPACE, "--create-namespace", "--wait", "--timeout", "3m")
CRD = "databases.data.example.com"
STORED = {"1.0.0": "v1alpha1", "2.0.0": "v1alpha1", "3.0.0": "v1"}
pytestmark = [pytest.mark.generated, pytest.mark.wall_clock]


def releases(home: Path) -> dict[str, Path]:
    """The program of each release."""
    source = (EXAMPLE / "dbkinds.py").read_text()
    early = source.replace("    storage=False,\n", "", 1).replace(
        '    version="v1",\n', '    version="v1",\n    storage=False,\n', 1
    )
    assert early.count("storage=False") == source.count("storage=False") == 1
    programs = {}
    for tag, program, kinds in (
        ("1.0.0", FIRST, source),
        ("2.0.0", EXAMPLE / "database.py", early),
        ("3.0.0", EXAMPLE / "database.py", source),
    ):
        folder = home / tag
        folder.mkdir()
        for part in ("database.py", "failover.py"):
            shutil.copy(EXAMPLE / part, folder)
        (folder / "dbkinds.py").write_text(kinds)
        programs[tag] = Path(shutil.copy(program, folder))
    return programs


def chart(home: Path, program: Path, tag: str) -> Path:
    folder = home / f"chart-{tag}"
    image = f"registry.example.com/database:{tag}"
    command = [sys.executable, program, "manifests", "--image", image, "--form", "helm", "--output", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


class Users:
    """Clients that write without a pause, each its own objects, in one version."""

    def __init__(self, client: sp.Client) -> None:
        self._client = client
        self.there: dict[str, int] = {}
        """The objects whose creation was answered, and of each the last number that was written and answered."""
        self.failures: list[str] = []
        self.requests: Counter[str] = Counter()

    async def write(self, name: str, kind: type[Any]) -> None:
        """Creates, changes, reads and deletes until it is cancelled."""
        turn = 0
        while True:
            turn += 1
            mine = f"{name}-{turn % 3}"
            if mine not in self.there:
                if await self._asked("create", self._client.create(kind.named(mine, "default"))):
                    self.there[mine] = 0
            elif turn % 17 == 0:
                del self.there[mine]
                await self._asked("delete", self._client.delete(kind, mine, namespace="default"))
                await self._gone(kind, mine)
            elif turn % 2:
                change = {"metadata": {"annotations": {"turn": str(turn)}}}
                if await self._asked("patch", self._client.patch(kind, mine, change, namespace="default")):
                    self.there[mine] = turn
            else:
                result = await self._asked("get", self._client.get(kind, mine, namespace="default"))
                if result is not None:
                    result.metadata.annotations["turn"] = str(turn)
                    if await self._asked("update", self._client.update(result)):
                        self.there[mine] = turn
            await asyncio.sleep(0.02)

    async def have_asked(self, requests: int) -> None:
        """Returns when they have made so many more requests."""
        wanted = self.requests.total() + requests
        async with asyncio.timeout(120):
            while self.requests.total() < wanted:  # noqa: ASYNC110 - the other side is a process, in real time
                await asyncio.sleep(0.02)

    async def _gone(self, kind: type[Any], name: str) -> None:
        for _ in range(1200):
            if not await self._asked("get", self._client.get(kind, name, namespace="default")):
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"{name} was deleted a minute ago and is still there")

    async def _asked(self, verb: str, request: Any) -> Any:
        """The answer; None for what Kubernetes itself promises: conflicts, and an object that is gone."""
        self.requests[verb] += 1
        try:
            return await request or True
        except sp.Conflict:
            self.requests["conflict"] += 1
        except sp.NotFound:
            assert verb == "get"
        except sp.ApiError as problem:
            self.failures.append(f"{verb}: {problem}")
        return None


async def age(client: sp.Client) -> bytes:
    """Replaces the webhooks' certificate by one of the same CA that is due for renewal; returns it."""
    secret = await client.get(Secret, "database-webhook-tls", namespace=SPACE)
    authority = Pair(split(secret.data["ca.crt"])[0], split(secret.data["ca.key"])[0])
    then = datetime.now(UTC) - timedelta(days=70)
    old = issue(authority, service_names("database-webhook", SPACE), now=then, lifetime=timedelta(days=90))
    secret.data["tls.crt"], secret.data["tls.key"] = old.certificate, old.key
    await client.update(secret)
    return old.certificate


async def test_no_request_fails_and_nothing_is_lost_while_releases_replace_each_other(tmp_path: Path) -> None:
    tool, programs = helm(tmp_path), releases(tmp_path)
    values = tmp_path / "values.yaml"
    notes = {READY: "never", "hollow.setpoint.io/stop-seconds": "8"}
    values.write_text(yaml.safe_dump({"podAnnotations": notes}))
    async with (
        clusters(tmp_path) as cluster,
        kubelet(cluster, SPACE, SELECTOR) as pods,
        sp.Client.from_kubeconfig(cluster.kubeconfig) as client,
    ):
        pods.programs = programs
        users = Users(client)

        async def roll_out(tag: str, verb: str) -> None:
            folder = await asyncio.to_thread(chart, tmp_path, programs[tag], tag)
            await cluster.run(tool, verb, "database", folder, *PLACE, "--values", values)
            crd = await client.get(CustomResourceDefinition, CRD)
            assert [version.name for version in crd.spec.versions if version.storage] == [STORED[tag]]

        await roll_out("1.0.0", "install")
        async with asyncio.TaskGroup() as tasks:
            writing = [tasks.create_task(users.write(name, DatabaseV1alpha1)) for name in ("ann", "ben")]
            await users.have_asked(60)
            aged = await age(client)
            await roll_out("2.0.0", "upgrade")
            renewed = (await client.get(Secret, "database-webhook-tls", namespace=SPACE)).data["tls.crt"]
            assert renewed != aged
            assert facts_of(renewed).life_spent(datetime.now(UTC)) < 0.1
            writing += [tasks.create_task(users.write(name, Database)) for name in ("cleo", "dan")]
            await users.have_asked(60)
            await roll_out("3.0.0", "upgrade")
            await cluster.run(sys.executable, "-m", "setpoint", "crd", "migrate", CRD)
            await users.have_asked(60)
            for item in writing:
                item.cancel()
        assert not users.failures, users.failures[:5]
        assert min(users.requests[verb] for verb in ("create", "patch", "update", "get", "delete")) > 0
        assert not pods.forbidden()

        crd = await client.get(CustomResourceDefinition, CRD)
        assert crd.status.stored_versions == ["v1"]
        for kind in (DatabaseV1alpha1, Database):
            by_name = {obj.name: obj for obj in await client.list(kind, namespace="default") if not obj.is_deleting}
            assert users.there.keys() <= by_name.keys(), "an object whose creation was answered is there"
            for name, turn in users.there.items():
                assert int(by_name[name].annotations.get("turn", "0")) >= turn, "a write that was answered is there"
