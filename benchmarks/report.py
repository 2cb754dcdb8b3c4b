"""Files for figures: beside the builds, and only if asked to where the documentation takes them from."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Set
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
KEPT = HERE / "results"
"""The figures in `docs/performance.md` and `docs/informer-benchmark.md`."""

Parts = Callable[[Any], Set[Any]]


def output_options(parser: argparse.ArgumentParser, name: str) -> None:
    """``--output`` and ``--keep``, for `write`."""
    mine = HERE / ".build" / "results" / f"{name}.json"
    parser.add_argument("--output", type=Path, default=mine, help="where to write the figures; default: %(default)s")
    parser.add_argument(
        "--keep", action="store_true", help=f"also store them as benchmarks/results/{name}.json, for the documentation"
    )


def write(options: argparse.Namespace, name: str, report: Any, parts: Parts) -> None:
    """Writes the figures. ``parts`` says what a report has measured, such as its systems.

    Raises:
        SystemExit: they were to be kept, but what is stored has measured more.
    """
    text = json.dumps(report, indent=1) + "\n"
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(text)
    print(f"figures: {options.output}")
    if not options.keep:
        return
    stored = KEPT / f"{name}.json"
    if stored.exists() and (gone := parts(json.loads(stored.read_text())) - parts(report)):
        missing = ", ".join(sorted(map(str, gone)))
        raise SystemExit(f"not stored: {stored} has figures that were not measured now: {missing}")
    stored.write_text(text)
    print(f"stored: {stored}")
