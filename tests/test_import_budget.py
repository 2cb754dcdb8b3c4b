"""What ``import setpoint`` may cost, measured against the bare interpreter in the same run."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

MILLISECONDS = 200.0
MEGABYTES = 30.0
RUNS = 5

# VmHWM is the peak of this program alone; ru_maxrss would count the parent's memory at the time of the fork.
PEAK = """
import sys
if sys.platform == "linux":
    with open("/proc/self/status") as status:
        print(next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")))
else:
    import resource
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(peak // 1024 if sys.platform == "darwin" else peak)
"""


def best(code: str, cache: Path) -> tuple[float, float]:
    """Milliseconds and megabytes of the best of several runs; the first one also writes the bytecode."""
    environment = os.environ | {"PYTHONPYCACHEPREFIX": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    times, peaks = [], []
    for _ in range(RUNS):
        started = time.perf_counter()
        ended = subprocess.run(
            [sys.executable, "-c", code + PEAK], check=True, capture_output=True, text=True, env=environment
        )
        times.append((time.perf_counter() - started) * 1000)
        peaks.append(int(ended.stdout) / 1024)
    return min(times), min(peaks)


def test_import_stays_within_its_budget(tmp_path: Path) -> None:
    bare_time, bare_peak = best("pass\n", tmp_path)
    time_taken, peak = best("import setpoint\n", tmp_path)
    assert time_taken - bare_time < MILLISECONDS
    assert peak - bare_peak < MEGABYTES


@pytest.mark.parametrize(
    "heavy", ["aiohttp", "cryptography", "cyclopts", "rich", "prometheus_client", "setpoint.models.core_v1"]
)
def test_import_leaves_alone_what_only_some_need(heavy: str) -> None:
    subprocess.run([sys.executable, "-c", f"import sys, setpoint; assert {heavy!r} not in sys.modules"], check=True)


def test_only_classes_with_rules_wait_for_cel() -> None:
    declared = """
import sys
from setpoint.crd import CustomResource, Field
from setpoint.webhook import Admission
class Ferry(CustomResource, group="ferries.example.com", version="v1"): ...
Admission(Ferry)
assert not any(name.startswith("setpoint.cel") for name in sys.modules)
class Boat(CustomResource, group="ferries.example.com", version="v1", rules=["has(self.kind)"]): ...
assert "setpoint.cel" in sys.modules
"""
    subprocess.run([sys.executable, "-c", declared], check=True)
