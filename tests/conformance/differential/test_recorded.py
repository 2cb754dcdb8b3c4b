"""The embedded server answers random requests for all built-in kinds as a real one did, but for what is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from setpoint.models import BUILTIN

from .explained import NAMES
from .known import KNOWN
from .recording import replay
from .samples import samples

pytestmark = pytest.mark.wall_clock
RECORDED = Path(__file__).parent / "recorded" / "v1.37.jsonl"
# Never stored, made by the server itself, or with samples of their own in the scripts.
ELSEWHERE = frozenset({"Binding", "ComponentStatus", "CustomResourceDefinition", "ClusterTrustBundle"})


async def test_random_requests_are_answered_as_a_real_server_did() -> None:
    result = await replay(RECORDED)
    by_line = {line: kind for (kind, _), lines in KNOWN.items() for line in lines}
    unknown = [f"line {line + 1}: {' '.join(what)}" for line, what in result.items() if by_line.get(line) != what[0]]
    assert not unknown, "\n".join(unknown)
    assert by_line.keys() <= result.keys(), "these answers have become the same: take them off the list in known.py"


def test_every_difference_that_is_meant_is_in_the_table_of_the_docs() -> None:
    page = (Path(__file__).parents[3] / "docs" / "server.md").read_text()
    parts = {line.split("|")[1].strip() for line in page.splitlines() if line.startswith("|")}
    assert parts >= NAMES


def test_there_is_a_sample_of_every_kind_that_is_stored() -> None:
    stored = {item.kind for item in BUILTIN if item.version in ("v1", "v2") and not item.kind.endswith("Review")}
    assert stored - ELSEWHERE == {item["kind"] for item in samples()}
