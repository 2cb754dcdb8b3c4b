"""The published test suite of JSON Patch; see suite/README.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from setpoint.patch.json_patch import PatchError, apply

SUITE = Path(__file__).parent / "suite"
AS_THE_SERVER: dict[str, Any] = {
    "replace object document with array document?": PatchError,
    "replace array document with object document?": PatchError,
    "replacing the root of the document is possible with add": PatchError,
    "Out of bounds (lower)": {"bar": [1, 2, "5"]},
    "missing 'value' parameter to add": [1, None],
    "missing 'value' parameter to replace": [None],
    "missing 'value' parameter to test": [None],
    "missing from location to copy": {"foo": None},
    "test with bad array number that has leading zeros": ["foo", "bar"],
}
"""The cases, by their comments, in which API servers deviate from the suite, and what they answer."""


def cases() -> list[Any]:
    results = []
    for name in ("spec_tests", "tests"):
        for place, case in enumerate(json.loads((SUITE / f"{name}.json").read_text("utf-8"))):
            if "doc" in case and not case.get("disabled"):
                results.append(pytest.param(case, id=f"{name}-{place}"))
    return results


@pytest.mark.parametrize("case", cases())
def test_the_published_suite(case: dict[str, Any]) -> None:
    wanted = AS_THE_SERVER.get(case.get("comment", case.get("error")), case.get("expected", PatchError))
    if wanted is PatchError and "error" not in case and case.get("comment") not in AS_THE_SERVER:
        wanted = case["doc"]  # a test that passes
    if wanted is PatchError:
        with pytest.raises(PatchError):
            apply(case["doc"], case["patch"])
    else:
        assert apply(case["doc"], case["patch"]) == wanted
