"""Program: its words, its ports, and its signals."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from setpoint.torture.program import Program, filled


def test_each_port_is_another_one() -> None:
    words = filled(["--port={port}"] * 400, kubeconfig=Path("config"), server="http://localhost")
    assert len(set(words)) == 400


def test_a_program_that_was_killed_gets_no_more_signals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The id of its group may be that of other processes by then."""
    words = [sys.executable, "-c", "import time; time.sleep(1000)"]
    program = Program(words, kubeconfig=tmp_path / "config", server="http://localhost", log=tmp_path / "log")
    program.kill()
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "killpg", lambda group, number: sent.append((group, number)))
    program.pause()
    program.resume()
    assert sent == []
