"""Roles that are right: what tests ask for is compared with what is declared, and with what a role grants."""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import setpoint as sp
from setpoint.apiserver.authorization.access_record import VARIABLE, Access, read
from setpoint.cli.main import app
from setpoint.cli.manifests import operator_of
from setpoint.client import Forbidden
from setpoint.deploy.permission_comparison import compare, describe, granted_in
from setpoint.deploy.roles import roles
from setpoint.meta.yaml_text import to_yaml
from setpoint.models.core_v1 import ConfigMap, Secret
from setpoint.models.rbac_v1 import PolicyRule
from setpoint.permissions import Grant, certificates, declared, injection, of_the_framework, rules
from setpoint.testing import MissingPermission, cluster, virtual_time

MAPS = Grant("", "configmaps", "create")


def role(*grants: Grant, name: str = "a", kind: str = "ClusterRole") -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name}, "rules": rules(grants)}


async def reconcile(secret: Secret, ctx: sp.Context) -> None:
    if secret.name == "source":
        await ctx.apply(ConfigMap.named("copy", data={"a": "b"}))


def controller() -> sp.Controller[Secret]:
    return sp.Controller(Secret, reconcile)


async def once(secret: sp.Controller[Secret]) -> None:
    async with cluster(secret) as world:
        await world.create(Secret.named("source", "default"))
        await world.settle()
        await world.delete(await world.get(Secret, "source"))


async def record(path: Path, monkeypatch: pytest.MonkeyPatch, secret: sp.Controller[Secret]) -> set[Grant]:
    monkeypatch.setenv(VARIABLE, str(path))
    await once(secret)
    return {Grant(item.group, item.resource, item.verb) for item in read(path)}


@virtual_time
async def test_an_apply_that_is_not_declared_is_found_and_one_that_is_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await record(tmp_path / "requests", monkeypatch, controller())
    differences = compare(declared([controller()]), asked)
    assert {item.resource for item in differences.undeclared} == {"configmaps"}
    assert {"create", "patch"} <= {item.verb for item in differences.undeclared}
    verbs = [item.verb for item in differences.undeclared]
    mended = controller().needs(ConfigMap, *verbs)
    assert not compare(declared([mended]), asked).is_missing


@virtual_time
async def test_only_what_controllers_ask_for_is_recorded_and_nothing_without_being_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await record(tmp_path / "requests", monkeypatch, controller())
    assert Grant("", "secrets", "create") not in asked, "a user made it"
    assert Grant("", "secrets", "delete") not in asked
    monkeypatch.delenv(VARIABLE)
    (tmp_path / "requests").unlink()
    async with cluster(controller(), rbac=False) as world:
        await world.create(Secret.named("source", "default"))
        await world.settle()
    assert [*tmp_path.iterdir()] == []


@pytest.mark.filterwarnings("ignore:the budget ended before the first fault")  # what is asked needs none
def test_the_simulation_is_recorded_without_its_rehearsal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(world: sp.testing.Cluster) -> None:
        await world.create(Secret.named("source", "default"))
        await world.settle()

    monkeypatch.setenv(VARIABLE, str(tmp_path / "requests"))
    sp.simulation.check(scenario, lambda: [controller()], budget=sp.simulation.Budget(runs=1), workers=0)
    request = read(tmp_path / "requests")
    assert {item.resource for item in request} <= {"secrets", "configmaps", "events", "secrets/status"}
    assert any(item.resource == "configmaps" and item.verb == "create" for item in request)


def test_what_a_role_lacks_and_what_it_has_too_much_is_named() -> None:
    granted = granted_in([role(MAPS, Grant("", "secrets", "get"))])
    differences = compare({MAPS, MAPS._replace(verb="patch")}, [], granted)
    assert (differences.ungranted, differences.excessive) == (
        [MAPS._replace(verb="patch")],
        [Grant("", "secrets", "get")],
    )
    assert differences.is_missing
    assert differences.is_exceeding


def test_the_names_that_a_deployment_chooses_are_its_own_and_all_others_must_be_right() -> None:
    besides = certificates("webhook-tls") | injection([("CustomResourceDefinition", "shops.example.com")])
    chosen = certificates("shop-webhook-tls") | injection([("CustomResourceDefinition", "shops.example.com")])
    names = ("webhook-tls",)
    differences = compare(set(), [], granted_in([role(*chosen)]), besides=besides, stand_ins=names)
    assert (differences.ungranted, differences.excessive) == ([], [])
    lacks = [item for item in chosen if item.name != "shop-webhook-tls"]
    assert compare(set(), [], granted_in([role(*lacks)]), besides=besides, stand_ins=names).is_missing
    other = certificates("shop-webhook-tls") | injection([("CustomResourceDefinition", "others.example.com")])
    differences = compare(set(), [], granted_in([role(*other)]), besides=besides, stand_ins=names)
    assert {item.name for item in differences.ungranted} == {"shops.example.com"}


@pytest.mark.parametrize(
    ("rule", "covers"),
    [
        (Grant("*", "*", "*"), True),
        (Grant("", "*", "create"), True),
        (Grant("", "configmaps", "*"), True),
        (Grant("apps", "configmaps", "create"), False),
        (Grant("", "configmaps/status", "create"), False),
        (Grant("", "configmaps", "create", "one"), False),
    ],
)
def test_wildcards_of_a_role_are_understood_and_named_as_too_much(rule: Grant, covers: bool) -> None:
    assert rule.covers(MAPS) is covers
    differences = compare({MAPS}, [], [rule])
    assert (differences.ungranted == []) is covers
    assert differences.excessive == [rule]


@pytest.mark.parametrize("url", ["*", "/metrics*", "/*"])
def test_a_wildcard_of_urls_is_named_as_too_much_unless_it_is_declared(url: str) -> None:
    needed, wide = Grant("", "", "get", url="/metrics"), Grant("", "", "get", url=url)
    assert compare({needed}, [], [needed, wide]).excessive == [wide]
    assert compare({wide}, [], [wide]).excessive == []


def test_roles_that_are_not_bound_do_not_count_where_there_are_bindings() -> None:
    binding = {"kind": "ClusterRoleBinding", "roleRef": {"kind": "ClusterRole", "name": "a"}}
    users = role(Grant("", "secrets", "get"), name="users")
    assert granted_in([role(MAPS), users, binding]) == [MAPS]
    assert len(granted_in([role(MAPS), users])) == 2


def test_declarations_that_no_test_uses_are_named_without_the_choice_of_how_to_read() -> None:
    reads = {Grant("", "pods", verb) for verb in ("get", "list", "watch", "delete")}
    differences = compare(reads, [Grant("", "pods", "watch")])
    assert differences.unused == [Grant("", "pods", "delete")]
    assert describe(differences.unused) == ["pods: delete"]


SCALES = PolicyRule(api_groups=["*"], resources=["*/scale"], verbs=["get", "patch"])
PAGES = PolicyRule(non_resource_urls=["/pages/*"], verbs=["get"])


def test_a_declared_rule_covers_what_was_asked_for_and_is_neither_unused_nor_excessive() -> None:
    one = controller().needs(SCALES).needs(PAGES).needs(ConfigMap, "get", "patch", names=["settings"])
    expected = declared([one])
    request = [
        *(Grant("apps", "deployments/scale", verb) for verb in ("get", "patch")),
        *(Grant("", "configmaps", verb, "settings") for verb in ("get", "patch")),
        Grant("", "", "get", url="/pages/one"),
        Grant("", "", "get", url="/openapi/v3"),  # as every account may
    ]
    besides = declared([controller()]) | of_the_framework([one])
    differences = compare(expected, request, granted_in([role(*expected)]), besides=besides)
    assert (differences.undeclared, differences.ungranted, differences.unused, differences.excessive) == (
        [],
        [],
        [],
        [],
    )


def test_another_name_url_or_subresource_than_a_declared_one_is_missing() -> None:
    expected = declared([controller().needs(SCALES).needs(PAGES).needs(ConfigMap, "get", names=["settings"])])
    request = [
        Grant("", "configmaps", "get", "others"),
        Grant("apps", "deployments/status", "get"),
        Grant("", "", "get", url="/secrets"),
    ]
    differences = compare(expected, request, granted_in([role(*expected)]), besides=declared([controller()]))
    assert differences.undeclared == [
        Grant("", "", "get", url="/secrets"),
        Grant("", "configmaps", "get"),
        Grant("apps", "deployments/status", "get"),
    ]
    assert differences.ungranted == differences.undeclared
    assert describe(differences.unused) == ["*.*/scale: get, patch", "/pages/*: get", "configmaps 'settings': get"]


@virtual_time
async def test_a_url_that_is_not_declared_is_refused_and_the_rule_to_add_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    async def ask(secret: Secret, ctx: sp.Context) -> None:
        await ctx.client.request("GET", "/version")
        with contextlib.suppress(Forbidden):
            await ctx.client.request("GET", "/metrics")

    line = '.needs(PolicyRule(non_resource_urls=["/metrics"], verbs=["get"]))'
    with pytest.raises(MissingPermission, match=re.escape(f"get /metrics: add controller{line}")):
        await once(sp.Controller(Secret, ask))
    await record(tmp_path / "requests", monkeypatch, sp.Controller(Secret, ask))
    monkeypatch.chdir(tmp_path)
    Path("app.py").write_text(PROGRAM)
    assert run("app.py", "--requests", "requests") == 1
    output = capfd.readouterr().out
    assert line in output
    assert "/version" not in output
    monkeypatch.delenv(VARIABLE)
    await once(sp.Controller(Secret, ask).needs(PolicyRule(non_resource_urls=["/metrics"], verbs=["get"])))


PROGRAM = """
import setpoint as sp
from setpoint.models.core_v1 import Secret

async def reconcile(secret: Secret, ctx: sp.Context) -> None: ...

controller = sp.Controller(Secret, reconcile)
"""


def run(*words: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        app(["rbac", *map(str, words)])
    return int(ended.value.code or 0)


def test_the_command_prints_the_declaration_to_add_and_its_status_is_for_ci(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app.py").write_text(PROGRAM)
    line = b'{"group":"","resource":"configmaps","verb":"%s"}\\n'
    write = f"import os; open(os.environ['{VARIABLE}'], 'ab').write(b'''{(line % b'create').decode()}''')"
    assert run("app.py", "--requests", "requests", "--", sys.executable, "-c", write) == 1
    assert '.needs(ConfigMap, "create")' in capfd.readouterr().out
    assert read(Path("requests")) == [Access("", "configmaps", "create")]
    granted = [*declared([controller()]), MAPS]
    Path("role.yaml").write_text(to_yaml([role(*granted)]))
    Path("app.py").write_text(PROGRAM.replace("reconcile)\n", "reconcile).needs(ConfigMap, 'create')\n").replace(
        "import Secret", "import ConfigMap, Secret"
    ))  # fmt: skip
    assert run("app.py", "--requests", "requests", "--role", "role.yaml") == 1, "no Leases, no reviews"
    assert "leases.coordination.k8s.io: create, delete, get, list, patch, update" in capfd.readouterr().out


def test_the_roles_that_are_written_for_a_program_are_neither_too_much_nor_too_little_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app.py").write_text(PROGRAM)
    written = operator_of([controller()], [], image="app:1", given_name="app", namespace="default")
    Path("roles.yaml").write_text(to_yaml(roles(written)))
    assert run("app.py", "--role", "roles.yaml", "--strict") == 0
    assert capfd.readouterr().out == "nothing is missing: the declarations match roles.yaml\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nope.py"], "nope.py: no such file"),
        (["app.py"], "there is nothing to compare with"),
        (["empty.py", "--role", "app.py"], "empty.py: no Controller in a global name"),
        (["app.py", "--role", "none.yaml"], "none.yaml: No such file"),
        (["app.py", "--role", "empty.yaml"], "empty.yaml: it contains neither a Role nor a ClusterRole"),
        (["app.py", "--role", "bad.yaml"], "bad.yaml: not YAML"),
        (["app.py", "--requests", "bad.yaml"], "not a record of setpoint rbac"),
        (["app.py", "--", "false"], "false ended with status 1"),
        (["app.py", "--", "true"], "true recorded no request"),
        (["app.py", "--", "no-such-program"], "no-such-program: No such file"),
    ],
)
def test_a_wrong_argument_is_one_clear_line_with_status_2(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {"app.py": PROGRAM, "empty.py": "", "empty.yaml": "a: 1", "bad.yaml": "a: [\n"}.items():
        Path(name).write_text(text)
    assert run(*words) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("setpoint rbac: ")
    assert message in line


RBAC = "rbac.authorization.k8s.io"


@pytest.mark.parametrize(
    ("grant", "expected", "is_unused"),
    [
        (Grant(RBAC, "clusterroles", "bind"), Grant(RBAC, "rolebindings", "create"), False),
        (Grant(RBAC, "roles", "bind", "view"), Grant(RBAC, "clusterrolebindings", "patch"), False),
        (Grant(RBAC, "clusterroles", "bind"), Grant(RBAC, "rolebindings", "list"), True),
        (Grant(RBAC, "clusterroles", "bind"), Grant(RBAC, "roles", "create"), True),
        (Grant(RBAC, "roles", "escalate"), Grant(RBAC, "roles", "update"), False),
        (Grant(RBAC, "roles", "escalate"), Grant(RBAC, "rolebindings", "update"), True),
        (Grant("", "users", "impersonate"), MAPS, False),
        (Grant("certificates.k8s.io", "signers", "approve", "example.com/mine"), MAPS, False),
        (Grant("", "secrets", "delete"), MAPS, True),
    ],
)
def test_a_verb_that_no_request_has_is_unused_only_if_nothing_needed_it(
    grant: Grant, expected: Grant, is_unused: bool
) -> None:
    assert compare({grant, expected}, [expected]).unused == ([grant] if is_unused else [])
