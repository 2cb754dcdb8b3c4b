"""Commands other than ``run`` make a program's controllers of the options that ``--option`` gives."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.cli import simulate
from setpoint.cli.main import app
from setpoint.cli.program import program
from setpoint.client import Client, InProcessTransport
from setpoint.meta.user_error import UserError


class Garden(sp.CustomResource, group="option-values.example.com", version="v1"):
    spec: sp.Model = sp.Model()


class Pond(sp.CustomResource, group="option-values.example.com", version="v1"):
    depth: int = 1


@dataclass
class Options:
    water: str = "rain"
    has_ponds: bool = False
    zones: tuple[str, ...] = ()
    password: str = dataclasses.field(default="", repr=False)
    plan: Path = Path("plan")

    def __post_init__(self) -> None:
        if self.water == "salt":
            raise ValueError("water must not be salt")


@asynccontextmanager
async def lifespan(program: sp.Program[Options]) -> AsyncIterator[str]:
    yield program.options.water


async def reconcile(obj: Any, ctx: sp.Context) -> None:
    """Nothing to do."""


def controllers(options: Options) -> list[sp.Controller[Any]]:
    ponds = [sp.Controller(Pond, reconcile)] if options.has_ponds else []
    return [sp.Controller(Garden, reconcile), *ponds]


OPERATOR = sp.Operator(controllers, lifespan=lifespan, options=Options, prefix="GARDEN_", stand_in=lifespan)


def run(*words: str, operator: sp.Operator[Any] = OPERATOR) -> None:
    with pytest.raises(SystemExit) as ended:
        program("gardens.py", operator)(list(words))
    if ended.value.code:
        raise SystemExit(ended.value.code)


def documents(text: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(text))


def test_the_printed_program_has_the_controllers_and_the_flags_of_the_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run("manifests", "--image", "a:1", "--option", "has-ponds=true", "--option", "water=from a well")
    printed = documents(capsys.readouterr().out)
    definitions = [item["metadata"]["name"] for item in printed if item["kind"] == "CustomResourceDefinition"]
    assert definitions == ["gardens.option-values.example.com", "ponds.option-values.example.com"]
    (deployment,) = (item for item in printed if item["kind"] == "Deployment")
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert arguments[-2:] == ["--water=from a well", "--has-ponds=true"]
    run("manifests", "--image", "a:1")
    plain = capsys.readouterr().out
    assert "ponds." not in plain
    assert "--water" not in plain
    run("manifests", "--option", "has_ponds=true")
    assert "ponds.option-values.example.com" in capsys.readouterr().out


def test_a_chart_has_them_as_values(tmp_path: Path) -> None:
    run("manifests", "--image", "a:1", "--form", "helm", "--output", str(tmp_path), "--option", "has-ponds=true")
    assert yaml.safe_load((tmp_path / "values.yaml").read_text())["options"] == {"has-ponds": True}
    assert "--has-ponds=" not in (tmp_path / "templates/manager.yaml").read_text()


@pytest.mark.parametrize("form", ["plain", "helm"])
def test_a_pod_gets_the_text_that_the_option_has(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Kubelets expand ``$(NAME)`` in arguments, and ``$$`` to ``$``."""
    words = ["--option", "water=@networks@ $(HOME) $$", "--option", "plan=/etc/plan"]
    if form == "helm":
        run("manifests", "--image", "a:1", "--form", "helm", "--output", str(tmp_path), *words)
        options = yaml.safe_load((tmp_path / "values.yaml").read_text())["options"]
        assert options == {"water": "@networks@ $$(HOME) $$$$", "plan": "/etc/plan"}
        return
    run("manifests", "--image", "a:1", *words)
    (deployment,) = (document for document in documents(capsys.readouterr().out) if document["kind"] == "Deployment")
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert arguments[-2:] == ["--water=@networks@ $$(HOME) $$$$", "--plan=/etc/plan"]


@pytest.mark.parametrize("command", ["manifests", "check", "simulate", "uninstall"])
def test_a_value_that_the_program_refuses_is_an_error_without_a_traceback(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    message = "--option: water must not be salt"
    if command in ("manifests", "uninstall"):
        with pytest.raises(UserError, match=message):
            run(command, "--option", "water=salt")
        return
    with pytest.raises(SystemExit) as ended:  # 1 would mean that something was found
        run(command, "--option", "water=salt")
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_objects_of_kinds_that_an_option_adds_are_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pond.yaml"
    document = {"apiVersion": "option-values.example.com/v1", "kind": "Pond", "metadata": {"name": "a"}, "depth": "x"}
    file.write_text(yaml.safe_dump(document))
    with pytest.raises(SystemExit) as ended:
        run("check", str(file), "--option", "has-ponds=true")
    assert ended.value.code == 1
    assert "depth" in capsys.readouterr().out


def test_the_simulation_runs_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[tuple[list[str], Any]] = []

    def note(controllers: Any, admissions: Any, flags: Any, stream: Any, *, lifespan: Any, notes: Any) -> int:
        runs.append(([controller.name for controller in controllers], lifespan))
        return 0

    monkeypatch.setattr(simulate, "simulate", note)
    run("simulate", "--option", "water=spring", "--option", "has-ponds=true")
    run("simulate")
    assert [names for names, _ in runs] == [["garden", "pond"], ["garden"]]

    async def water(opened: Any) -> Any:
        async with opened(sp.Manager(Client(InProcessTransport(ApiServer().handle)))) as state:
            return state

    assert [asyncio.run(water(opened)) for _, opened in runs] == ["spring", "rain"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("wine=red", "--option wine=red: an option is NAME=VALUE, and the names are water, has-ponds, zones, password"),
        ("water", "--option water: an option is NAME=VALUE"),
        ("has-ponds=perhaps", '--option: Invalid value for --has-ponds: unable to convert "perhaps" into bool'),
        ("password=x", "--option password: it is secret (repr=False): set GARDEN_PASSWORD from a Secret"),
        ("zones=a", "--option zones: a tuple can't be put into the Deployment"),
    ],
)
def test_a_wrong_option_is_one_line(value: str, message: str) -> None:
    with pytest.raises(UserError) as refused:
        run("manifests", "--image", "a:1", "--option", value)
    assert message in str(refused.value)


def test_a_program_without_options_takes_none() -> None:
    with pytest.raises(UserError, match="--option a=b: the program has no options of its own"):
        run("manifests", "--option", "a=b", operator=sp.Operator([sp.Controller(Garden, reconcile)]))


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        sp.main(OPERATOR, argv=words)
    assert ended.value.code == 1
    return capsys.readouterr().err.partition(": ")[2]


def test_a_value_that_the_program_refuses_in_run_is_named_with_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = "water must not be salt"
    assert refused(capsys, "run", "--water", "salt") == f"{problem}: --water=salt (flag)\n"
    file = tmp_path / "garden.yaml"
    file.write_text("water: salt\nleader-elect: true\n")
    assert refused(capsys, "run", "--config", str(file)) == f"{problem}: --water=salt ({file})\n"
    monkeypatch.setenv("GARDEN_WATER", "salt")
    monkeypatch.setenv("GARDEN_PASSWORD", "secret")
    text = f"{problem}: --water=salt (GARDEN_WATER), --password=*** (GARDEN_PASSWORD)\n"
    assert refused(capsys, "run", "--leader-elect") == text


def test_documents_are_not_mixed_with_what_the_program_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def talkative(options: Options) -> list[sp.Controller[Any]]:
        print("made of", options.water)  # noqa: T201

        async def say(obj: Any, ctx: sp.Context) -> None:
            print("reconciles", obj.name)  # noqa: T201

        return [sp.Controller(Garden, say)]

    def checks(garden: Garden) -> None:
        print("checks", garden.name)  # noqa: T201

    admissions = [sp.Admission(Garden).validates(checks)]
    operator = sp.Operator(talkative, admissions, options=Options)
    file = tmp_path / "garden.yaml"
    file.write_text("apiVersion: option-values.example.com/v1\nkind: Garden\nmetadata: {name: a, namespace: b}\n")
    for words in (("check", str(file)), ("simulate", "--budget", "1run")):
        for form in ("json", "sarif"):
            run(*words, "--output", form, "--option", "water=rain", operator=operator)
            printed = capsys.readouterr()
            json.loads(printed.out)
            assert "made of rain" in printed.err
    run("check", str(file), operator=operator)
    assert "checks a" in capsys.readouterr().out


PROGRAM = """
from dataclasses import dataclass
import setpoint as sp
from setpoint.models.core_v1 import ConfigMap, Pod

class Spring(sp.CustomResource, group="option-values.example.com", version="v1"):
    depth: int = 1

@dataclass
class Options:
    region: str
    reads_pods: bool = False

async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None:
    pass

def controllers(options: Options) -> list[sp.Controller]:
    controller = sp.Controller(ConfigMap, reconcile)
    return [controller.reads(Pod) if options.reads_pods else controller]

def check(spring: Spring) -> None:
    pass

operator = sp.Operator(controllers, [sp.Admission(Spring).validates(check)], options=Options)
"""
ROLE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: a}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}
"""


def test_commands_of_setpoint_take_the_options_of_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program_file, role = tmp_path / "option_program.py", tmp_path / "role.yaml"
    program_file.write_text(PROGRAM)
    role.write_text(ROLE)

    def rbac(*options: str) -> tuple[int, str]:
        words = [word for option in options for word in ("--option", option)]
        with pytest.raises(SystemExit) as ended:
            app(["rbac", str(program_file), "--role", str(role), *words])
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, printed.out + printed.err

    assert "pods" not in rbac("region=eu")[1]
    status, text = rbac("region=eu", "reads-pods=true")
    assert status == 1
    assert "  pods: get, list, watch" in text
    status, text = rbac()
    assert status == 2
    assert "missing 1 required positional argument: 'region': add --option NAME=VALUE" in text
    assert rbac("colour=red")[1] == (
        "setpoint rbac: --option colour=red: an option is NAME=VALUE, and the names are region, reads-pods\n"
    )
    words = ["webhook", "manifests", str(program_file), "--service", "hooks"]
    with pytest.raises(SystemExit):
        app(words)
    assert "add --option NAME=VALUE" in capsys.readouterr().err
    with suppress(SystemExit):
        app([*words, "--option", "region=eu"])
    assert "springs" in capsys.readouterr().out
