"""Objects that are named by the time, or that come and go by themselves, hide nothing of the others of their kind."""

from __future__ import annotations

import pytest

from setpoint.simulation import Report
from setpoint.simulation.comparison.snapshot import Snapshot
from setpoint.simulation.comparison.timestamped_names import find_name_patterns, make_name_replacer
from setpoint.simulation.faults.plan import Plan
from setpoint.simulation.oracles.differential import Reference
from setpoint.simulation.oracles.path_independence import compare_steps
from setpoint.simulation.trace.result import Result

MAPS = "configmaps default/"


def named(*names: str) -> Result:
    return Result(end={f"{MAPS}{name}": [{}] for name in names})


def starred(one: list[str], other: list[str], *texts: str) -> list[str]:
    """The texts, after names of the forms in which two runs differ have been replaced."""
    return [*map(make_name_replacer(find_name_patterns([named(*one), named(*other)])), texts)]


@pytest.mark.parametrize(
    ("one", "other", "form"),
    [
        ("backup-1767225600", "backup-1767324365", "backup-*"),
        ("run-2026-01-05-main", "run-2026-02-05-main", "run-2026-*-*-main"),
        ("trace-5c573780", "trace-b8b4d1e0", "trace-*"),
        ("1767225600", "1767324365", "*"),
        ("main-1767225600-*", "main-1767324365-*", "main-*-*"),
    ],
)
def test_a_name_of_the_time_becomes_a_form(one: str, other: str, form: str) -> None:
    assert starred([one], [other], f"{MAPS}{one}", f"see {other}.") == [f"{MAPS}{form}", f"see {form}."]


def test_names_that_are_the_same_in_all_runs_have_no_form() -> None:
    assert starred(["a-1", "a-x"], ["a-2", "a-x"], "a-x", "a-1", "a-x1") == ["a-x", "a-*", "a-x1"]
    assert find_name_patterns([named("a", "b"), named("a", "b")]) == ()


def test_what_is_there_in_one_run_only_has_no_form() -> None:
    assert find_name_patterns([named("a-1"), named()]) == ()
    assert find_name_patterns([named("blue"), named("green")]) == (), "such a form would be that of all names"
    assert find_name_patterns([named("a-1"), Result(end={"secrets default/a-2": [{}]})]) == (), "another kind"


def test_an_object_whose_existence_in_the_end_depends_on_time_is_named_in_a_warning() -> None:
    quick, slow = named("ticket"), named()
    for run in (quick, slow):
        run.rest_states = [named("ticket").end]
    reference = Reference(quick, [slow])
    assert reference.judge(Plan(), named()) == []
    report = Report(masks=reference.masks)
    assert "NOT COMPARED: configmaps default/ticket exists in only some of the runs" in str(report)
    (warning,) = report.warnings()
    assert warning.startswith("it was not compared whether configmaps default/ticket exists")
    assert Report(masks=reference.masks, ignore={"configmaps default/ticket": "for a while"}).warnings() == []


def test_an_object_that_is_gone_in_the_end_of_all_runs_is_compared_there() -> None:
    quick, slow = named(), named()
    quick.rest_states, slow.rest_states = [named("ticket").end], [{}]
    reference = Reference(quick, [slow])
    assert Report(masks=reference.masks).warnings() == []
    (finding,) = reference.judge(Plan(), named("ticket"))
    assert finding.message == "at the end, configmaps default/ticket is present, expected <absent>"
    again = Result(created={"configmaps default/ticket": 2})
    assert reference.judge(Plan(), again) == [], "how often it is made may depend on time, too"


def test_a_field_that_changes_with_time_is_compared_in_the_end_if_all_runs_agree_there() -> None:
    """A count of attempts is another one at the end of a step if users wait longer, and the same in the end."""

    def tried(times: int) -> Snapshot:
        return {"apps.test.example.com default/a": [{"status": {"attempts": times}}]}

    quick, slow = Result(end=tried(3)), Result(end=tried(3))
    quick.rest_states, slow.rest_states = [tried(1)], [tried(2)]
    reference = Reference(quick, [slow])
    (finding,) = reference.judge(Plan(), Result(end=tried(4)))
    assert finding.message == "at the end, apps.test.example.com default/a: status.attempts is 4, expected 3"
    assert compare_steps(Result(rest_states=[tried(1), tried(2)], desired_states=["a", "a"]), reference) == []
