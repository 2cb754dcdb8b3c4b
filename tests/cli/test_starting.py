"""Console scripts while they are still being imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

INTERRUPTED = """
import os, signal, sys

class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in what was started in the background
sys.meta_path.insert(0, CtrlC())
from setpoint.starting import {command}
{command}()
print("not reached")
"""


@pytest.mark.parametrize(
    ("command", "module"),
    [("setpoint", "cyclopts"), ("setpoint", "setpoint.apps.error_reports"), ("chronos", "cyclopts")],
)
def test_ctrl_c_during_imports_ends_it_without_a_word(command: str, module: str) -> None:
    code = INTERRUPTED.format(command=command, module=module)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")
