"""A measurement replaces the documentation's figures only if it is complete and the user asks for that."""

from __future__ import annotations

import argparse
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"


def shown() -> dict[Path, bytes]:
    files = [*(BENCHMARKS / "results").iterdir(), ROOT / "docs" / "informer.svg"]
    return {file: file.read_bytes() for file in files}


def scripts() -> list[str]:
    """The programs of all ``make bench-...`` targets."""
    return re.findall(
        r"^bench-.*\n\t\$\(BIN\)/python (benchmarks/\w+\.py) \$\(ARGS\)$", (ROOT / "Makefile").read_text(), re.M
    )


def test_every_target_leaves_what_the_documentation_shows_alone() -> None:
    assert len(scripts()) == (ROOT / "Makefile").read_text().count("\nbench-")
    for script in scripts():
        text = (ROOT / script).read_text()
        assert '"results"' not in text, f"{script} has a way of its own to the stored results"
        assert "output_options(parser" in text
        assert "write_text" not in text.replace("plot.write_text", ""), script


def test_a_benchmark_that_is_run_writes_beside_the_builds() -> None:
    before = shown()
    words = [sys.executable, BENCHMARKS / "workqueue.py", "--items", "100", "--no-go"]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert f"figures: {BENCHMARKS / '.build' / 'results' / 'queue.json'}" in ran.stdout.replace("\n", " ").replace(
        "  ", " "
    )
    assert shown() == before


def test_figures_are_kept_only_if_all_that_is_stored_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    report = importlib.import_module("report")
    monkeypatch.setattr(report, "KEPT", tmp_path)
    stored = tmp_path / "x.json"
    stored.write_text(json.dumps({"a": 1, "b": 2}))
    options = argparse.Namespace(output=tmp_path / "mine" / "x.json", keep=True)
    with pytest.raises(SystemExit, match="has figures that were not measured now: b"):
        report.write(options, "x", {"a": 3}, set)
    assert json.loads(stored.read_text()) == {"a": 1, "b": 2}
    assert json.loads(options.output.read_text()) == {"a": 3}
    report.write(options, "x", {"a": 3, "b": 4, "c": 5}, set)
    assert json.loads(stored.read_text()) == {"a": 3, "b": 4, "c": 5}


def test_pages_of_a_recording_have_the_objects_of_the_whole_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    module = importlib.import_module("recording")
    monkeypatch.setattr(module, "BUILD", tmp_path)
    recording = module.Recording("custom", 7, "json")

    def page(first: int, limit: int) -> dict[str, Any]:
        before, items, begin, end, after = recording.list(first, limit)
        with items:
            items.seek(begin)
            document: dict[str, Any] = json.loads(before + items.read(end - begin) + after)
        return document

    whole = page(0, 0)
    assert len(whole["items"]) == 7
    assert "continue" not in whole["metadata"]
    read, token = [], "0"
    while token:
        part = page(int(token), 3)
        read += part["items"]
        token = part["metadata"].get("continue", "")
    assert read == whole["items"]


def test_a_cluster_has_nodes_and_pods_as_in_the_report_that_it_is_compared_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    assert importlib.import_module("workloads").parts("cluster", 696_050) == {"nodes": 53_513, "pods": 642_537}


def test_a_system_whose_tools_are_missing_is_left_out_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    module = importlib.import_module("systems")
    monkeypatch.setenv("PATH", "")
    systems = module.Systems({"kube-rs": lambda: [module.rust()]})
    assert systems.command("kube-rs") is None
    assert systems.missing == {"kube-rs": "cargo is not installed"}
