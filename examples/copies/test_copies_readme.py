"""The README's commands, run by a shell one after the other, print what it says they print."""

from __future__ import annotations

from pathlib import Path

import pytest
from replay import replay


@pytest.mark.generated
def test_every_command_prints_what_the_readme_says(tmp_path: Path) -> None:
    replay(Path(__file__).with_name("README.md"), tmp_path, least=30)
