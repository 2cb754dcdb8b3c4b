"""``python program.py check`` finds what an API server would refuse, before anything is applied."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from tests.testing.test_checks import ADMISSION, Vault

import setpoint as sp
from setpoint.cli.program import program


async def reconcile(vault: Vault, ctx: sp.Context) -> None:
    """Nothing to do."""


def check(*words: str) -> int:
    app = program("vaults.py", sp.Operator([sp.Controller(Vault, reconcile)], [ADMISSION]))
    with pytest.raises(SystemExit) as end:
        app(["check", *words])
    assert isinstance(end.value.code, int)
    return end.value.code


HEAD = "apiVersion: vaults.example.com/v1\nkind: Vault\n"


def test_errors_name_the_file_the_object_and_the_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "vaults.yaml"
    file.write_text(
        f"{HEAD}metadata: {{name: a}}\nspec: {{size: 20, colour: red}}\n---\n"
        f"{HEAD}metadata: {{name: b}}\nspec: {{size: 2}}\n---\nkind: ConfigMap\napiVersion: v1\n"
    )
    assert check(str(tmp_path)) == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        f'{file}: Vault a: unknown field "spec.colour"',
        f"{file}: Vault a: spec.size: Invalid value: 20: spec.size in body should be less than or equal to 9",
    ]
    assert printed.err == "2 objects checked, 1 refused\n"


LIST = """apiVersion: v1
kind: List
items:
- apiVersion: vaults.example.com/v1
  kind: Vault
  metadata: {name: b}
  spec:
    owner: me
    size: 20
"""


def test_errors_are_json_and_sarif_with_their_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a vault.yaml").write_text(f"# a comment\n---\n{HEAD}metadata:\n  name: a\nspec:\n  colour: red\n---\n{LIST}")
    assert check("a vault.yaml", "-o", "json") == 1
    problems = json.loads(capsys.readouterr().out)
    assert [(problem["rule"], problem["file"], problem["line"], problem["field"]) for problem in problems] == [
        ("UnknownField", "a vault.yaml", 8, "spec.colour"),
        ("FieldValueInvalid", "a vault.yaml", 18, "spec.size"),
    ]
    assert check("a vault.yaml", "-o", "sarif") == 1
    log = json.loads(capsys.readouterr().out)
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [rules[result["ruleIndex"]] for result in run["results"]] == ["UnknownField", "FieldValueInvalid"]
    place = {"artifactLocation": {"uri": "a%20vault.yaml"}, "region": {"startLine": 8}}
    assert run["results"][0]["locations"] == [{"physicalLocation": place}]
    assert (log["version"], run["results"][0]["ruleId"]) == ("2.1.0", "UnknownField")


def test_admission_functions_decide_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "vault.yaml"
    file.write_text(f"{HEAD}metadata: {{name: thief}}\n")
    assert check(str(file)) == 1
    assert "thieves have no vaults" in capsys.readouterr().out


def test_a_change_is_checked_against_the_stored_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(f"{HEAD}metadata: {{name: a}}\nspec: {{size: 5, owner: me}}\n")
    new.write_text(f"{HEAD}metadata: {{name: a}}\nspec: {{size: 4, owner: me}}\n")
    assert check(str(new)) == 0
    assert check(str(new), "--old", str(old)) == 1
    assert "can't shrink" in capsys.readouterr().out


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.TextIOWrapper(io.BytesIO(f"{HEAD}metadata: {{name: a}}\n".encode()))
    monkeypatch.setattr(sys, "stdin", text)
    assert check("-") == 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kind: ConfigMap\n", "no object in the files is of the program's kinds, which are Vault"),
        ("a: [", "not YAML"),
        (None, "No such file"),
    ],
)
def test_files_in_which_nothing_can_be_checked_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, problem: str
) -> None:
    file = tmp_path / "file.yaml"
    if text is not None:
        file.write_text(text)
    assert check(str(file)) == 2
    assert problem in capsys.readouterr().err
