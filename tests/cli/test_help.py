"""``--help`` of every command says what the command does, and what its exit status means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from cyclopts import App
from tests.testing.test_checks import Vault

import setpoint as sp
from setpoint.apps.error_reports import EXIT_STATUSES
from setpoint.cli.main import app
from setpoint.cli.program import program

VERDICTS = ["check", "crd diff", "lint", "rbac", "simulate", "torture"]
"""Commands whose exit status 1 is an answer, so that a failure is 2."""
OTHERS = ["crd classes", "crd migrate"]
"""Commands beside one of `VERDICTS`, which fail as it does."""


async def reconcile(vault: Vault, ctx: sp.Context) -> Any:
    """Nothing to do."""


def commands(inner: App, *words: str) -> Iterator[tuple[str, ...]]:
    for name in inner:
        if not name.startswith("-"):
            yield (*words, name)
            yield from commands(inner[name], *words, name)


OWN = program("vaults.py", sp.Operator([sp.Controller(Vault, reconcile)]))
ALL = [(of, words) for of in (app, OWN) for words in commands(of)]


def shown(of: App, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        of([*words, "--help"])
    assert not ended.value.code
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("of", "words"), ALL, ids=[" ".join(words) for _, words in ALL])
def test_help_says_what_the_exit_status_means(
    of: App, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(of, words, capsys)
    assert text.endswith(EXIT_STATUSES)
    assert ("2 if the command fails" in text) == (" ".join(words) in VERDICTS + OTHERS)


@pytest.mark.parametrize(("of", "words"), ALL, ids=[" ".join(words) for _, words in ALL])
def test_every_argument_of_a_command_has_a_description(of: App, words: tuple[str, ...]) -> None:
    command = of[words[0]]
    for word in words[1:]:
        command = command[word]
    arguments = command.assemble_argument_collection(parse_docstring=True) if command.default_command else ()
    assert [argument.name for argument in arguments if argument.show and not argument.parameter.help] == []


def test_the_list_of_commands_says_what_each_does(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        app(["--help"])
    lines = [line.strip("│ ").split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if "│ " in line]
    described = {words[0] for words in lines if len(words) == 2}
    assert {words[0] for words in commands(app)} <= described
