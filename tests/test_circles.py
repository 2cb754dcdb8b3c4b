"""The contract against circles of imports (``.importlinter-circles``): what it finds, and which rooms it lets off."""

from __future__ import annotations

import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONTRACT = "importlinter:contract:circles"


def config() -> ConfigParser:
    made = ConfigParser()
    made.read(ROOT / ".importlinter-circles")
    return made


def let_off() -> set[str]:
    return set(config()[CONTRACT]["skip_descendants"].split())


def judged(made: ConfigParser, folder: Path) -> subprocess.CompletedProcess[str]:
    with (folder / "contracts").open("w") as file:
        made.write(file)
    linter = Path(sys.executable).with_name("lint-imports")
    command = [linter, "--config", folder / "contracts", "--no-cache"]
    return subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    package = tmp_path / "small"
    package.mkdir()
    for name in ("__init__", "engine", "wheel"):
        (package / f"{name}.py").write_text("")
    return tmp_path


def of_small() -> ConfigParser:
    made = config()
    for section in made.sections():
        if section not in ("importlinter", CONTRACT):
            made.remove_section(section)
    made["importlinter"]["root_package"] = made[CONTRACT]["ancestors"] = "small"
    made.remove_option(CONTRACT, "skip_descendants")
    return made


def test_a_circle_that_only_type_checkers_see_is_found_with_its_files(small: Path) -> None:
    (small / "small" / "engine.py").write_text("from small.wheel import Wheel\n")
    (small / "small" / "wheel.py").write_text(
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from small.engine import Engine\n"
    )
    found = judged(of_small(), small)
    assert found.returncode != 0
    assert ".engine -> .wheel" in found.stdout or ".wheel -> .engine" in found.stdout


def test_imports_in_one_direction_are_no_circle(small: Path) -> None:
    (small / "small" / "engine.py").write_text("from small.wheel import Wheel\n")
    found = judged(of_small(), small)
    assert found.returncode == 0, found.stdout


def test_a_room_that_became_free_of_circles_is_taken_off_the_list(tmp_path: Path) -> None:
    strict = config()
    strict.remove_option(CONTRACT, "skip_descendants")
    told = judged(strict, tmp_path).stdout
    still = {
        line.removeprefix("No cycles are allowed in ").rstrip(".") for line in told.splitlines() if "No cycles" in line
    }
    free = {room for room in let_off() if not any(f"{each}.".startswith(f"{room}.") for each in still)}
    assert not free, (
        f"free of circles now: take {', '.join(sorted(free))} off skip_descendants in .importlinter-circles"
    )
