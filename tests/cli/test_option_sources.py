"""Options come from flags, the environment and a file, in this order, and a program says where each one came from."""

from __future__ import annotations

import dataclasses
import importlib
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from cyclopts import App, Parameter

import setpoint as sp
from setpoint.cli import run as run_module
from setpoint.cli.option_sources import OptionSources, hidden_fields
from setpoint.models.core_v1 import ConfigMap


@dataclass
class Options:
    source: str = "default"
    zones: tuple[str, ...] = ()
    password: str = dataclasses.field(default="", repr=False)


@dataclass
class Own:
    open_name: str = ""
    api_token: str = dataclasses.field(default="", repr=False)


async def reconcile(obj: ConfigMap, ctx: sp.Context) -> None: ...


Run = dict[str, Any]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """The runs that were begun: their options, controllers and log lines. Nothing is run."""
    runs: list[Run] = []

    class Run:
        def __init__(self, parts: Any, name: Any, own: Any, *groups: Any) -> None:
            self.run_ = {"own": own, "controllers": parts.controllers, "replicas": groups[1]}

        def run(self, log: Any, sources: OptionSources) -> None:
            sources.log()
            runs.append({**self.run_, "log": log})

    monkeypatch.setattr(run_module, "_Run", Run)
    return runs


def start(*arguments: str, prefix: str = "SETPOINT_") -> None:
    def controllers(options: Options) -> list[sp.Controller[Any]]:
        return [sp.Controller(ConfigMap, reconcile, namespace=options.source)]

    operator = sp.Operator(controllers, options=Options, name="x.example.com", prefix=prefix)
    with pytest.raises(SystemExit) as ended:
        sp.main(operator, argv=["run", *arguments])
    if ended.value.code:
        raise SystemExit(ended.value.code)


def written(folder: Path, text: str) -> str:
    file = folder / "config.yaml"
    file.write_text(text)
    return str(file)


def test_a_flag_comes_before_a_variable_and_a_variable_before_the_file(
    runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = written(tmp_path, "source: file\nzones: [a, b]\nleader-elect: true\nlog_level: debug\n")
    monkeypatch.setenv("SETPOINT_LOG_LEVEL", "error")
    monkeypatch.setenv("SETPOINT_SOURCE", "variable")
    monkeypatch.setenv("SETPOINT_PASSWORD", "hush")
    caplog.set_level(logging.INFO)
    start("--config", file)
    start("--config", file, "--source", "flag", "--no-leader-elect")
    (first, second) = runs
    assert first["own"] == Options("variable", ("a", "b"), "hush")
    assert (first["replicas"].leader_elect, first["log"].log_level) == (True, "error")
    assert (second["own"].source, second["replicas"].leader_elect) == ("flag", False)
    line = caplog.messages[0]
    assert line.startswith("options: ")
    assert "--source=variable (SETPOINT_SOURCE)" in line
    assert f"--zones=a,b ({file})" in line
    assert f"--leader-elect=True ({file})" in line
    assert "--log-level=error (SETPOINT_LOG_LEVEL)" in line
    assert "--password=*** (SETPOINT_PASSWORD)" in line
    assert "hush" not in caplog.text
    assert "--source=flag (flag)" in caplog.messages[1]


def test_a_declaration_may_depend_on_an_option_from_any_source(
    runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start("--source", "one")
    monkeypatch.setenv("SETPOINT_SOURCE", "two")
    start()
    assert [run["controllers"][0].watched[0].namespace for run in runs] == ["one", "two"]


def test_a_program_may_have_a_prefix_of_its_own_and_the_file_may_be_named_by_a_variable(
    runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SETPOINT_SOURCE", "not this one")
    monkeypatch.setenv("GARDEN_CONFIG", written(tmp_path, "source: file\n"))
    start(prefix="GARDEN_")
    assert runs[0]["own"].source == "file"


def test_without_anything_there_is_no_line_about_options(runs: list[Run], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    start()
    assert runs[0]["own"] is None, "which stands for the defaults"
    assert not caplog.messages


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("leader_elekt: true", "leader_elekt is not a flag of this command"),
        ("config: other.yaml", "config is not a flag of this command"),
        ("- a", "it must be a mapping of flags to values"),
        ("a: [", "not YAML"),
        ("leader-elect: maybe", 'unable to convert "maybe" into bool'),
    ],
)
def test_a_wrong_file_is_told_with_the_file_and_the_key(
    text: str, message: str, runs: list[Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, text)
    with pytest.raises(SystemExit):
        start("--config", file)
    printed = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert message in printed
    assert "config.yaml" in printed.replace(" ", ""), "a long path is wrapped"
    assert not runs


def test_a_missing_file_is_told(runs: list[Run], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        start("--config", "missing.yaml")
    assert "--config missing.yaml: No such file or directory" in capsys.readouterr().err


def test_a_field_without_repr_is_hidden_whatever_its_name() -> None:
    assert hidden_fields(Own) == {"api-token"}
    assert hidden_fields(None) == frozenset()
    sources = OptionSources("X_", hidden_fields(Own))
    app = App(config=[sources], result_action="return_value")

    @app.default
    def command(*, own: Annotated[Own | None, Parameter(name="*")] = None) -> Own | None:
        return own

    assert app(["--api-token", "t"]).api_token == "t"
    assert sources._values == {"--api-token": "--api-token=*** (flag)"}


def test_a_program_that_imports_pydantic_runs_without_options_too(runs: list[Run]) -> None:
    importlib.import_module("pydantic")  # from then on cyclopts has it check values of dataclasses
    start()
    assert runs[0]["own"] is None
