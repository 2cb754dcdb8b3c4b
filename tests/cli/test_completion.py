"""The scripts with which shells complete the command line."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Literal

import pytest

from setpoint.cli.main import app, completion

ASK = """
complete -p setpoint
ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _setpoint; echo "${COMPREPLY[@]}"; }
ask setpoint step
ask setpoint step-down --na
ask setpoint init shop --scope C
"""


def test_bash_completes_commands_flags_and_choices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    completion("bash")
    script = tmp_path / "completion.bash"
    script.write_text(capsys.readouterr().out)
    shell = subprocess.run(["bash", "-c", f". {script}\n{ASK}"], capture_output=True, text=True, check=True)
    assert shell.stderr == ""
    assert shell.stdout.splitlines() == ["complete -F _setpoint setpoint", "step-down", "--namespace", "Cluster"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_scripts_of_other_shells_name_every_command(
    shell: Literal["zsh", "fish"], capsys: pytest.CaptureFixture[str]
) -> None:
    completion(shell)
    script = capsys.readouterr().out
    assert [name for name in app if not name.startswith("-") and name not in script] == []
