"""The commands of an example's README, run by a shell one after the other, print what it says they print."""

from __future__ import annotations

from pathlib import Path

import pytest
from replay import replay

LEAST_COMMANDS = {
    "autoscaler": 12,
    "certificates": 18,
    "copies": 30,
    "database": 15,
    "dns": 12,
    "eventsink": 7,
    "jobqueue": 13,
    "mykind": 25,
    "policies": 11,
    "reloader": 15,
    "router": 7,
}


@pytest.mark.parametrize(
    "example",
    [pytest.param(name, marks=() if name == "mykind" else pytest.mark.generated) for name in LEAST_COMMANDS],
)
def test_every_command_prints_what_the_readme_says(example: str, tmp_path: Path) -> None:
    replay(Path(__file__).parent / example / "README.md", tmp_path, least=LEAST_COMMANDS[example])
