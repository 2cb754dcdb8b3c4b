"""The published test suite of JSON Patch; see suite/README.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from setpoint.patch.json_patch import PatchError, TestFailed, apply

SUITE = Path(__file__).parent / "suite"
AS_THE_SERVER = {
    "Out of bounds (lower)": "an index below zero counts from the end",
    "missing 'value' parameter to test": "a test without a value tests for null, and finds it",
}
"""Cases, by their comments, that are errors for the suite and not for API servers."""


def cases() -> list[Any]:
    found = []
    for name in ("spec_tests", "tests"):
        for place, case in enumerate(json.loads((SUITE / f"{name}.json").read_text("utf-8"))):
            if "doc" in case and not case.get("disabled"):
                found.append(pytest.param(case, id=f"{name}-{place}"))
    return found


@pytest.mark.parametrize("case", cases())
def test_the_published_suite(case: dict[str, Any]) -> None:
    if "error" in case and case.get("comment", case["error"]) not in AS_THE_SERVER:
        with pytest.raises((PatchError, TestFailed)):
            apply(case["doc"], case["patch"])
        return
    result = apply(case["doc"], case["patch"])
    if "expected" in case:
        assert result == case["expected"]
