"""Plans are values: they travel on one line, and as YAML that people can read."""

from __future__ import annotations

import pytest
import yaml

from setpoint.simulation.comparison.differences import find_differences
from setpoint.simulation.comparison.snapshot import make_snapshot
from setpoint.simulation.faults.catalog import SWITCHES, switch_of
from setpoint.simulation.faults.plan import Plan, PlanError, fault

PLAN = Plan(
    (fault("crash-after", "create pods default/a #1"), fault("lag", "run", collection="pods", seconds=2.0)), 7, 2
)


def test_a_token_brings_everything_back() -> None:
    token = PLAN.token("abc", "tests:scenario")
    assert "\n" not in token
    assert Plan.load(f" {token}\n") == (PLAN, "abc", "tests:scenario")


def test_a_file_brings_everything_back() -> None:
    text = yaml.safe_dump({"plan": PLAN.to_document(), "code": "abc", "scenario": "s"})
    assert Plan.load(text) == (PLAN, "abc", "s")


@pytest.mark.parametrize("text", ["", "sp1-", "sp1-AAAA", "faults: []", "plan: {faults: [{kind: x}]}", ": :", "- 1"])
def test_what_is_no_plan_is_told_so(text: str) -> None:
    with pytest.raises(PlanError):
        Plan.load(text)


def test_every_fault_belongs_to_a_switch() -> None:
    for name, switch in SWITCHES.items():
        assert switch.why, name
        assert switch.source, name
    assert switch_of("restart", {"behind": "x"}) == "time-travel"
    assert switch_of("lag", {"relist": True}) == "squash"
    assert switch_of("pause", {"who": "garbage collector"}) == "garbage-collector"
    assert switch_of("pause", {"who": "controller"}) == "pause"


def pod(name: str, uid: str, **status: object) -> dict[tuple[str, str], dict[str, object]]:
    meta = {"name": name, "namespace": "d", "generateName": "p-", "uid": uid, "resourceVersion": "5", "generation": 3}
    return {("pods", f"d/{name}"): {"metadata": meta, "status": {"observedGeneration": 3, **status}}}


def test_runs_differ_by_what_counts_only() -> None:
    one = make_snapshot(pod("p-x", "u1", at="2026-01-01T00:00:00Z", ip="1"), {"u1": "pods d/p-*"}, since=0)
    other = make_snapshot(pod("p-y", "u2", at="2027-01-01T00:00:00Z", ip="2"), {"u2": "pods d/p-*"}, since=0)
    assert [difference.path for difference in find_differences(one, other)] == ["status.ip"]
    assert find_differences(one, other, frozenset(difference.mask for difference in find_differences(one, other))) == []


def test_objects_with_generated_names_are_counted() -> None:
    two = {**pod("p-x", "u1"), **pod("p-y", "u2")}
    names = {"u1": "pods d/p-*", "u2": "pods d/p-*"}
    (difference,) = find_differences(
        make_snapshot(two, names, since=0), make_snapshot(pod("p-x", "u1"), names, since=0)
    )
    assert (difference.subject, difference.expected, difference.actual) == ("pods d/p-*", 2, 1)
