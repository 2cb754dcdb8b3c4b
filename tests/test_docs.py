"""The examples of the documentation run as they stand there, with what their pages take for granted around them."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import pytest

import setpoint as sp
from setpoint.apiserver import ApiServer, HttpFront
from setpoint.client import Client, InProcessTransport
from setpoint.crd import Versions, crd_for
from setpoint.models.core_v1 import Container, Pod, PodSpec, PodTemplateSpec, Secret
from setpoint.testing import cluster, virtual_time
from setpoint.webhook import Admission, Match, Review, ServiceTarget, configurations

ROOT = Path(__file__).parents[1]


def examples(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)


async def run(source: str, names: dict[str, Any]) -> None:
    """Runs an example, whose definitions go to ``names``; it may await, as at the prompt of ``python -m asyncio``."""
    names.setdefault("__name__", "example")
    code = compile(source, "example", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    result = eval(code, names)
    if inspect.isawaitable(result):
        await result


@asynccontextmanager
async def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """``Client.from_kubeconfig()`` finds the embedded server."""
    async with ApiServer() as server, HttpFront(server) as front:
        (tmp_path / "config").write_text(json.dumps(front.kubeconfig()))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
        yield


class DatabaseSpec(sp.Model):
    password_secret: str = ""


class Database(sp.CustomResource, group="db.example.com", version="v1"):
    spec: DatabaseSpec = DatabaseSpec()


def pod_spec() -> PodSpec:
    return PodSpec(containers=[Container(name="main", image="busybox")])


async def test_the_test_of_the_readmes_program_passes() -> None:
    program, test, _ = examples("README.md")
    names: dict[str, Any] = {}
    await run(program, names)
    await run(test, names)
    await asyncio.to_thread(names["test_a_deleted_pod_comes_back"])


@pytest.mark.parametrize(("page", "place"), [("README.md", 2), ("docs/concepts.md", 1)])
async def test_informers_are_used_as_is_said(
    page: str, place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with kubeconfig(tmp_path, monkeypatch):
        await run(examples(page)[place], {"sp": sp, "Pod": Pod})


@virtual_time
async def test_the_loop_of_the_concepts_converges() -> None:
    names: dict[str, Any] = {}
    await run(examples("README.md")[0], names)
    names["pod_of"] = lambda mykind, number: Pod.named(f"{mykind.name}-{number}", spec=pod_spec())
    await run(examples("docs/concepts.md")[0], names)
    kind = names["Mykind"]
    async with cluster(sp.Controller(kind, names["reconcile"]).owns(Pod)) as world:
        await world.apply(kind.named("a", "default", spec=names["MykindSpec"](numpods=2)))
        await world.settle()
        assert len(await world.list(Pod)) == 2
        assert (await world.get(kind, "a")).status.ready == 2


@virtual_time
async def test_the_databases_of_the_concepts_follow_their_secrets() -> None:
    seen: list[str] = []

    async def reconcile(database: Database, ctx: sp.Context) -> None:
        seen.append(database.name)

    names: dict[str, Any] = {"Database": Database, "Secret": Secret, "sp": sp, "reconcile": reconcile}
    (source,) = [example for example in examples("docs/concepts.md") if ".index(" in example]
    await run(source, names)
    async with cluster(names["controller"], control_plane=False) as world:
        for name in ("a", "b"):
            await world.create(Database.named(name, "default", spec=DatabaseSpec(password_secret=name)))
        await world.settle()
        seen.clear()
        await world.create(Secret.named("b", "default"))
        await world.settle()
        assert seen == ["b"]


@virtual_time
@pytest.mark.parametrize("fails", [False, True])
async def test_the_queue_of_the_concepts_forgets_and_remembers(fails: bool) -> None:
    queue = sp.RateLimitingQueue(sp.default_controller_rate_limiter())

    async def sync(key: str) -> None:
        if fails:
            raise OSError

    queue.add("default/a")
    await run(examples("docs/concepts.md")[2], {"queue": queue, "sync": sync})
    assert queue.state("default/a") == ("delayed" if fails else None)
    assert queue.num_requeues("default/a") == int(fails)


class Port(sp.Model):
    name: str
    number: int


class MykindStatus(sp.ConditionedStatus):
    ready: int = 0


class OldSpec(sp.Model):
    numpods: int = 1
    most: int = 10
    ports: Annotated[list[Port], sp.Field(list_map_keys=("name",))] = []
    memory: sp.Quantity | None = None


class MykindV1alpha1(sp.CustomResource, group="grp.example.com", version="v1alpha1", storage=False, kind="Mykind"):
    spec: OldSpec
    status: MykindStatus = MykindStatus()


async def test_the_classes_of_the_custom_resources_have_a_definition_and_conversions() -> None:
    kinds, conversion, versions = examples("docs/crd.md")
    names: dict[str, Any] = {
        "sp": sp, "Annotated": Annotated, "PodTemplateSpec": PodTemplateSpec, "crd_for": crd_for, "Versions": Versions,
        "Port": Port, "MykindStatus": MykindStatus, "MykindV1alpha1": MykindV1alpha1,
    }  # fmt: skip
    await run(kinds, names)
    assert crd_for(names["Mykind"])["spec"]["names"]["shortNames"] == ["mk"]
    body = "    spec: MykindSpec\n    status: MykindStatus = MykindStatus()\n"
    await run(conversion.replace("): ...\n", f"):\n{body}"), names)
    names["document"] = {
        "apiVersion": "grp.example.com/v1alpha2",
        "kind": "Mykind",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"replicas": 3},
    }
    await run(versions, names)
    old = names["versions"].convert(names["document"], "v1alpha1")
    assert old["spec"]["numpods"] == 3


async def test_the_models_are_made_as_is_said() -> None:
    names: dict[str, Any] = {}
    for example in examples("docs/models.md"):
        await run(example, names)
    assert names["pod"].spec.containers[0].image == "busybox"


class TemplateSpec(sp.Model):
    template: PodTemplateSpec | None = None
    pool: str = ""
    replicas: int = 1


class Mykind(sp.CustomResource, group="docs.example.com", version="v1"):
    spec: TemplateSpec
    status: sp.ConditionedStatus = sp.ConditionedStatus()


@virtual_time
async def test_the_webhooks_are_declared_and_run_as_is_said() -> None:
    declared, inside, served, options = examples("docs/webhooks.md")
    names: dict[str, Any] = {
        "sp": sp, "Mykind": Mykind, "default_template": lambda: PodTemplateSpec(spec=pod_spec()), "Path": Path,
        "Admission": Admission, "Match": Match, "Review": Review,
    }  # fmt: skip
    await run(declared, names)
    checks = names["check"]
    await run(inside, names)
    assert names["check"] is checks, "the function of one example is not another's"
    assert configurations([names["admission"]], "mykind", ServiceTarget("mykind-webhook", "system"))
    await run(options, names)
    async with ApiServer() as server, Client(InProcessTransport(server.handle)) as client:
        names["manager"] = sp.Manager(client)
        await run(served, names)
    async with cluster(names["controller"]) as world:
        await world.apply(Mykind.named("a", "default", spec=TemplateSpec()))
        bad = PodTemplateSpec(spec=PodSpec(containers=[]))
        await world.apply(Mykind.named("b", "default", spec=TemplateSpec(template=bad)))
        await world.settle()
        assert (await world.get(Mykind, "a")).status.conditions == []
        condition, _ = (await world.get(Mykind, "b")).status.conditions
        assert (condition.type, condition.reason, condition.status) == ("Reconciled", "InvalidObject", "False")


@virtual_time
async def test_nodes_and_pods_behave_as_is_said() -> None:
    nodes, behaviour = examples("docs/nodes.md")
    names: dict[str, Any] = {"sp": sp, "Pod": Pod, "pod_spec": pod_spec}
    await run(nodes, names)
    await run(behaviour, names)


@pytest.mark.parametrize(
    ("heading", "folder", "least"),
    [
        ("The packages", "", 25),
        ("The embedded server", "apiserver", 20),
        ("Four call paths", "", 50),
        ("Where to change what", "", 40),
        ("A run of a controller", "controller", 20),
    ],
)
def test_the_files_that_the_architecture_names_are_there(heading: str, folder: str, least: int) -> None:
    section = (ROOT / "docs/architecture.md").read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    named = set(re.findall(r"`([a-z_/]+(?:/|\.py))`", section)) - {f"{folder}/", "metrics.py"}
    assert len(named) >= least
    places = (ROOT / "src/setpoint" / folder, ROOT)
    assert [name for name in sorted(named) if not any((place / name).exists() for place in places)] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "parity").glob("*.md")), ids=lambda page: page.stem)
def test_the_tests_that_a_list_of_parity_names_are_there(page: Path) -> None:
    names = {path.stem.removeprefix("test_") for path in (ROOT / "tests").rglob("test_*.py")}
    for path in (ROOT / "tests").rglob("test_*.py"):
        names.update(re.findall(r"def test_(\w+)", path.read_text("utf-8")))
    beginnings = {name[:end] for name in names for end in range(len(name) + 1)}
    text = page.read_text("utf-8")
    named = re.findall(r"`(?:[\w./]+::)?(?:test_)?([a-z0-9_]+)…`", text)
    assert [name for name in named if name not in beginnings] == []
    whole = re.findall(r"`(?:[\w./]+::)?test_([a-z0-9_]+)`", text)
    assert [name for name in whole if name not in names] == []
    files = re.findall(r"`((?:tests|docs|benchmarks|examples)/[\w./]+)`", text)
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_the_picture_of_the_embedded_server_has_its_folders_and_all_that_they_import() -> None:
    section = (ROOT / "docs/architecture.md").read_text().split("## The embedded server\n")[1].split("\n## ")[0]
    below: dict[str, set[str]] = {}
    for above, targets in re.findall(r'^    (\w+)(?:\["[^"]*"\])?(?: --> ([\w& ]+))?', section, re.M):
        below.setdefault(above, set()).update(filter(None, targets.split(" & ")))
    below.pop("flowchart", None)

    def reached(name: str) -> set[str]:
        return {name}.union(*map(reached, below[name]))

    root = ROOT / "src/setpoint/apiserver"
    everywhere = {"__init__", "errors", "http_types", "depth_limit", "replay"}
    for file in root.rglob("*.py"):
        name = file.relative_to(root).parts[0].removesuffix(".py")
        if name in everywhere:
            continue
        assert name in below, f"{name} is not in the picture"
        imported = set(re.findall(r"^ *from setpoint\.apiserver\.(\w+)", file.read_text(), re.M)) - everywhere
        assert imported <= reached(name), f"{file.name} imports what the picture has no arrow to"


def test_the_readme_and_the_site_begin_with_the_same_figures() -> None:
    tables = [
        [line for line in (ROOT / page).read_text("utf-8").splitlines() if line.startswith("|")][:5]
        for page in ("README.md", "docs/index.md")
    ]
    assert tables[0] == tables[1]
    assert "kube-rs" in tables[0][0]
