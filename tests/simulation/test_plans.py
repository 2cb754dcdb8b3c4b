"""Drawn plans: those of every example are made, and what was made is not made again."""

from __future__ import annotations

from pathlib import Path

from tests.simulation.plans.examples import setups
from tests.simulation.plans.record import Made, Record

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
WITHOUT = {
    "demo": "it runs mykind",
    "factory": "caches without a controller",
    "policies": "webhooks without a controller",
    "sync_to_stdout": "a controller put together by hand, which no manager runs",
}
PARTS = {"collector", "fakeacme", "queues"}
"""Servers for trying other examples."""


def test_every_example_is_simulated() -> None:
    programs = {
        file.stem
        for file in (*EXAMPLES.glob("*.py"), *EXAMPLES.glob("*/*.py"))
        if "__main__" in file.read_text() and not file.stem.startswith("test_")
    }
    assert programs - setups().keys() - PARTS == WITHOUT.keys(), (
        "a new example needs a line in examples/test_survival.py, which `plans` takes its setup from"
    )


def test_a_search_goes_on_where_it_was_ended(tmp_path: Path) -> None:
    file = tmp_path / "made.jsonl"
    record = Record(file)
    record.add(Made("mykind", 0, seed=0, injected=1, seconds=0.5))
    record.add(Made("mykind", 2, seed=0, accused=["[end state] wrong"], same=False, seconds=0.5))
    with file.open("a") as out:
        out.write('{"example":"mykind","num')  # it was killed
    again = Record(file)
    assert again.missing("mykind", 0, range(4)) == [1, 3]
    assert again.missing("mykind", 1, range(2)) == [0, 1], "another seed has other plans"
    again.add(Made("mykind", 1, seed=0))
    last = Record(file)
    assert last.missing("mykind", 0, range(4)) == [3]
    assert last.table()[-1].startswith("all: 3 plans, each twice, 1 faults took place: 1 accused, 1 not the same;")
