"""The contract against circles of imports (``.importlinter-circles``): what it finds, and that it has no exceptions."""

from __future__ import annotations

import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONTRACT = "importlinter:contract:circles"


def config() -> ConfigParser:
    parser = ConfigParser()
    parser.read(ROOT / ".importlinter-circles")
    return parser


def judged(config_parser: ConfigParser, folder: Path) -> subprocess.CompletedProcess[str]:
    with (folder / "contracts").open("w") as file:
        config_parser.write(file)
    linter = Path(sys.executable).with_name("lint-imports")
    command = [linter, folder / "contracts", "--no-cache"]
    return subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    package = tmp_path / "small"
    package.mkdir()
    for name in ("__init__", "engine", "wheel"):
        (package / f"{name}.py").write_text("")
    return tmp_path


def of_small() -> ConfigParser:
    new_config = config()
    for section in new_config.sections():
        if section not in ("importlinter", CONTRACT):
            new_config.remove_section(section)
    new_config["importlinter"]["root_package"] = new_config[CONTRACT]["ancestors"] = "small"
    return new_config


def test_a_circle_that_only_type_checkers_see_is_found_with_its_files(small: Path) -> None:
    (small / "small" / "engine.py").write_text("from small.wheel import Wheel\n")
    (small / "small" / "wheel.py").write_text(
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from small.engine import Engine\n"
    )
    result = judged(of_small(), small)
    assert result.returncode != 0
    assert ".engine -> .wheel" in result.stdout or ".wheel -> .engine" in result.stdout


def test_imports_in_one_direction_are_no_circle(small: Path) -> None:
    (small / "small" / "engine.py").write_text("from small.wheel import Wheel\n")
    result = judged(of_small(), small)
    assert result.returncode == 0, result.stdout


def test_no_room_is_let_off() -> None:
    assert "skip_descendants" not in config()[CONTRACT]
