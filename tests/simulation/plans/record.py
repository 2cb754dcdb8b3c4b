"""Record: a file of the plans that were made, so that a search of hours can be ended at any time and gone on with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec


class Made(msgspec.Struct, omit_defaults=True):
    """One plan of an example, made twice."""

    example: str
    number: int
    seed: int
    accused: list[str] = []
    """The findings."""
    same: bool = True
    """Whether both executions told the same story."""
    injected: int = 0
    """The number of its faults that took place."""
    seconds: float = 0.0
    """Of processor time, for all of its executions."""


class Record:
    """Lines of JSON, one for each plan. A line that was cut off is left out, and the plan is made again."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.made: dict[tuple[str, int, int], Made] = {}
        text = file.read_text() if file is not None and file.exists() else ""
        for line in text.splitlines():
            try:
                document = msgspec.json.decode(line, type=Made)
            except msgspec.MsgspecError:
                continue
            self.made[document.example, document.seed, document.number] = document
        if file is not None and text and not text.endswith("\n"):
            with file.open("a") as out:
                out.write("\n")

    def add(self, result: Made) -> None:
        self.made[result.example, result.seed, result.number] = result
        if self._file is not None:
            with self._file.open("ab") as out:
                out.write(msgspec.json.encode(result) + b"\n")

    def missing(self, example: str, seed: int, numbers: Iterable[int]) -> list[int]:
        return [number for number in numbers if (example, seed, number) not in self.made]

    def table(self) -> list[str]:
        """A line for each example, and one for all."""
        plans: Counter[str] = Counter()
        faults: Counter[str] = Counter()
        accused: Counter[str] = Counter()
        different: Counter[str] = Counter()
        seconds: Counter[str] = Counter()
        for one_item in self.made.values():
            for name in (one_item.example, "all"):
                plans[name] += 1
                faults[name] += one_item.injected
                accused[name] += bool(one_item.accused)
                different[name] += not one_item.same
                seconds[name] += one_item.seconds  # type: ignore[assignment]
        return [
            f"{name}: {count} plans, each twice, {faults[name]} faults took place: {accused[name]} accused, "
            f"{different[name]} not the same; {seconds[name]:.0f} s of processor time, "
            f"{1000 * seconds[name] / count:.0f} ms a plan"
            for name, count in sorted(plans.items(), key=lambda item: item[0] == "all")
        ]
