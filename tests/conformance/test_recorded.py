"""The embedded server answers as real servers did when the scripts were recorded (see ``__main__``)."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from .__main__ import hear, recorded_at
from .compare import differences
from .known import KNOWN
from .scripts import SCRIPTS

pytestmark = pytest.mark.wall_clock

RECORDED = Path(__file__).parent / "recorded"
VERSIONS = sorted(path.name for path in RECORDED.iterdir())


def test_every_script_was_recorded() -> None:
    assert VERSIONS
    for version in VERSIONS:
        assert {path.stem for path in (RECORDED / version).glob("*.jsonl")} == set(SCRIPTS)
        assert recorded_at(RECORDED / version).keys() == set(SCRIPTS)


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("version", VERSIONS)
async def test_the_embedded_server_answers_as_a_real_one_did(version: str, script: str) -> None:
    expected = await hear(str(RECORDED / version), script)
    result = await hear("embedded", script, began=recorded_at(RECORDED / version)[script])
    assert [entry["request"] for entry in result] == [entry["request"] for entry in expected]
    differing: dict[int, list[str]] = defaultdict(list)
    for request, path, one, other in differences(expected, result):
        differing[int(request.partition(":")[0])].append(f"{request}: {path}\n  - {one!r}\n  + {other!r}")
    known = KNOWN.get(script, {})
    unknown = [text for number, texts in differing.items() if number not in known for text in texts]
    assert not unknown, "\n".join(unknown)
    assert known.keys() <= differing.keys(), "these answers have become the same: take them off the list in known.py"
