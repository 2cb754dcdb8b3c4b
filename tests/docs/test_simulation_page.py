"""The tables of docs/simulation.md are the simulation's own catalogs of faults and oracles."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from setpoint.simulation.faults.catalog import SWITCHES
from setpoint.simulation.oracles.catalog import ORACLES

PAGE = Path(__file__).parents[2] / "docs/simulation.md"


@pytest.mark.parametrize(
    ("heading", "rows"),
    [
        ("The faults", [(name, kind.description, kind.why, kind.source) for name, kind in SWITCHES.items()]),
        ("The oracles", [*ORACLES.items()]),
    ],
)
def test_the_page_has_a_row_for_each_entry_of_the_catalog(heading: str, rows: list[tuple[str, ...]]) -> None:
    section = PAGE.read_text("utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = re.findall(r"^\| `.*$", section, re.M)
    assert lines == [f"| `{row[0]}` | {' | '.join(row[1:])} |" for row in rows]
