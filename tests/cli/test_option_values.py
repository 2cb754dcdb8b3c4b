"""Commands other than ``run`` make a program's controllers of the options that ``--option`` gives."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import setpoint as sp
from setpoint.apiserver import ApiServer
from setpoint.cli import simulate
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
    definitions = [each["metadata"]["name"] for each in printed if each["kind"] == "CustomResourceDefinition"]
    assert definitions == ["gardens.option-values.example.com", "ponds.option-values.example.com"]
    (deployment,) = (each for each in printed if each["kind"] == "Deployment")
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
    (deployment,) = (each for each in documents(capsys.readouterr().out) if each["kind"] == "Deployment")
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert arguments[-2:] == ["--water=@networks@ $$(HOME) $$$$", "--plan=/etc/plan"]


@pytest.mark.parametrize("command", ["manifests", "check", "simulate", "uninstall"])
def test_a_value_that_the_program_refuses_is_an_error_without_a_traceback(command: str) -> None:
    with pytest.raises(UserError, match="--option: water must not be salt"):
        run(command, "--option", "water=salt")


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

    def note(controllers: Any, admissions: Any, flags: Any, *, lifespan: Any, notes: Any) -> int:
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
