"""The list of the public API (``tools/public_api.py``)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools import public_api

ROOM = """
__all__ = ["NUMBER", "Worker", "run"]
from setpoint.room.worker import Worker
from setpoint.room.running import run
NUMBER: int = 3
HIDDEN = 4
"""
WORKER = '''
from setpoint.room.base import Base
class Worker(Base):
    """Works."""
    pace: float = 1.0
    def __init__(self, name: str, *, pace: float = 1.0) -> None: ...
    async def stop(self) -> None: ...
    def _secret(self) -> None: ...
'''


@pytest.fixture
def source(tmp_path: Path) -> Path:
    package = tmp_path / "setpoint"
    for path, text in (
        ("__init__.py", '__all__ = ["Worker"]\nfrom setpoint.room import Worker\n'),
        ("room/__init__.py", ROOM),
        ("room/base.py", "class Base:\n    def start(self, *names: str) -> bool: ...\n"),
        ("room/worker.py", WORKER),
        ("room/running.py", "def run(worker: Worker, times: int = 1) -> None: ...\ndef other() -> None: ...\n"),
        ("models/__init__.py", '__all__ = ["Generated"]\nclass Generated: ...\n'),
    ):
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_text(text)
    return package


STABLE = public_api.Tiers({"setpoint.room": "stable", "setpoint.models": "internal"}, {})


def test_a_line_is_made_for_each_name_that_a_package_exports_and_each_public_member_of_its_classes(
    source: Path,
) -> None:
    assert public_api.lines(STABLE, "stable", public_api.loaded(source)) == [
        "class setpoint.room.Worker(Base)",
        "setpoint.Worker = setpoint.room.worker.Worker",
        "setpoint.room.NUMBER: int",
        "setpoint.room.Worker.__init__(name: str, *, pace: float = 1.0) -> None",
        "setpoint.room.Worker.pace: float",
        "setpoint.room.Worker.start(*names: str) -> bool",
        "setpoint.room.Worker.stop() -> None async",
        "setpoint.room.run(worker: Worker, times: int = 1) -> None",
    ]


def test_a_name_is_listed_in_its_own_tier_and_inherited_members_only_once(source: Path) -> None:
    tiers = public_api.Tiers(
        {"setpoint.room": "stable"}, {"setpoint.room.run": "provisional", "setpoint.room.NUMBER": "internal"}
    )
    (source / "room" / "__init__.py").write_text(
        ROOM.replace("[", '["Base", ', 1) + "from setpoint.room.base import Base\n"
    )
    assert public_api.lines(tiers, "provisional", public_api.loaded(source)) == [
        "setpoint.room.run(worker: Worker, times: int = 1) -> None"
    ]
    stable = public_api.lines(tiers, "stable", public_api.loaded(source))
    assert "setpoint.room.Base.start(*names: str) -> bool" in stable
    assert not [line for line in stable if line.startswith(("setpoint.room.Worker.start", "setpoint.room.NUMBER"))]


def test_tiers_that_name_what_does_not_exist_and_packages_without_a_tier_are_found(source: Path) -> None:
    root = public_api.loaded(source)
    tiers = public_api.Tiers({"setpoint.gone": "stable"}, {"setpoint.room.Gone": "internal"})
    assert tiers.unknown(root) == ["setpoint.gone", "setpoint.room", "setpoint.room.Gone"]


def test_the_stable_names_are_few_enough_to_keep_the_promise() -> None:
    assert len((public_api.DOCS / "now.txt").read_text().splitlines()) <= 1100


def test_a_change_of_a_signature_is_a_line_gone_and_a_line_new() -> None:
    assert public_api.changes(["a.f(x: int)", "a.g()"], ["a.f(x: str)", "a.g()"]) == (
        "```diff\n-a.f(x: int)\n+a.f(x: str)\n```"
    )
    assert public_api.changes(["a.g()"], ["a.g()"]) == "Nothing has changed."


def test_a_name_that_is_gone_must_be_in_the_changelog_but_not_each_member_of_a_class_that_is_gone() -> None:
    before = ["a.f(x: int)", "class a.Old", "a.Old.__init__()", "a.Old.member: int", "a.kept() -> None"]
    now = ["a.kept(more: int) -> None"]
    assert public_api.unmentioned(before, now, "") == ["a.Old", "a.f"]
    assert public_api.unmentioned(before, now, "`f` is `g` now; Older things are gone.") == ["a.Old"]
    assert public_api.unmentioned(before, now, "`f` is `g` now, and `Old` is `New`.") == []


def test_a_name_that_is_gone_may_be_named_in_a_change_that_is_not_released_yet(tmp_path: Path) -> None:
    (tmp_path / "CHANGELOG.md").write_text("- `Old` is gone.\n")
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "changelog.d" / "f.removed.md").write_text("- `f` is gone.\n")
    (tmp_path / "changelog.d" / "README.md").write_text("Names such as `kept`.\n")
    assert public_api.unmentioned(["a.f()", "class a.Old", "a.kept()"], [], public_api.changelog_text(tmp_path)) == [
        "a.kept"
    ]
