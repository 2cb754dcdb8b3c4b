"""The differences that count: between two ends, and between two ways to the same desired state."""

from __future__ import annotations

from typing import Any

import pytest

from setpoint.simulation.comparison.differences import find_differences, format_value
from setpoint.simulation.comparison.name_equivalence import rename_counted_names
from setpoint.simulation.comparison.snapshot import make_snapshot
from setpoint.simulation.faults.plan import Plan, fault
from setpoint.simulation.oracles.differential import Reference
from setpoint.simulation.oracles.path_independence import compare_steps
from setpoint.simulation.trace.result import Result


def of_apps(**status: Any) -> dict[str, list[Any]]:
    return {"apps default/one": [{"status": status}]}


@pytest.mark.parametrize("nothing", ["", [], {}, None])
def test_an_empty_field_of_a_status_is_as_good_as_none(nothing: Any) -> None:
    assert not find_differences(of_apps(), of_apps(problem=nothing))
    assert not find_differences(of_apps(problem=nothing), of_apps())


@pytest.mark.parametrize("something", [0, False, "a", ["a"]])
def test_what_says_something_is_a_difference(something: Any) -> None:
    assert find_differences(of_apps(), of_apps(problem=something))


def test_an_empty_value_outside_of_a_status_is_a_difference() -> None:
    assert find_differences(
        {"configmaps default/one": [{"data": {}}]}, {"configmaps default/one": [{"data": {"a": ""}}]}
    )


def test_the_order_of_a_list_in_a_status_says_nothing_and_its_items_do() -> None:
    def entry(name: str, port: int) -> dict[str, Any]:
        return {"name": name, "ports": [port, 443]}

    assert not find_differences(of_apps(names=["a", "b", "a"]), of_apps(names=["a", "a", "b"]))
    assert find_differences(of_apps(names=["a", "b", "a"]), of_apps(names=["a", "b", "b"]))
    ours, theirs = [entry("a", 80), entry("b", 81)], [entry("b", 82), entry("a", 80)]
    (difference,) = find_differences(of_apps(entries=ours), of_apps(entries=theirs))
    assert (difference.path, difference.expected, difference.actual) == ("status.entries[1].ports[0]", 81, 82)
    assert not find_differences(of_apps(entries=ours), of_apps(entries=[*reversed(ours)]))
    arguments = [{"configmaps default/one": [{"args": [*order]}]} for order in ("ab", "ba")]
    assert len(find_differences(*arguments)) == 2, "outside of a status, order may say something"


SUSPENDED = "jobs.batch default/one status.conditions.Suspended"


def of_jobs(**conditions: str) -> dict[str, list[Any]]:
    result = [{"type": type, "status": status} for type, status in conditions.items()]
    return {"jobs.batch default/one": [{"status": {"conditions": result}}]}


def of_colours(serving: str, replicas: int = 2) -> dict[str, list[Any]]:
    return {
        f"replicasets.apps default/web-{serving}": [{"spec": {"replicas": replicas}}],
        "services default/front": [{"spec": {"selector": {"color": serving}}}],
    }


@pytest.mark.parametrize("how", [{}, {"behind": "MODIFIED replicasets.apps default/web-green #3"}])
def test_names_that_take_turns_may_have_swapped_places_also_after_a_start_on_an_old_view(how: dict[str, str]) -> None:
    reference = Reference(Result(end=of_colours("green")), [], alternates=True)
    plan = Plan((fault("restart", "step 3", **how),))
    assert not reference.judge(plan, Result(end=of_colours("blue")))
    assert reference.judge(plan, Result(end=of_colours("blue", replicas=1)))


def judged(ours: dict[str, str], theirs: dict[str, str], ended: list[str]) -> list[str]:
    """The paths of the findings about a run whose Job has ``theirs`` as conditions, where the undisturbed run's has
    ``ours`` and its control plane has set ``ended`` from True to False."""
    reference = Reference(Result(end=of_jobs(**ours), ended=ended), [])
    findings = reference.judge(Plan(), Result(end=of_jobs(**theirs)))
    return [path for finding in findings for path in finding.actual]


def test_a_control_plane_that_missed_a_passing_state_need_not_say_that_it_is_over() -> None:
    over, running = {"Suspended": "False", "Ready": "True"}, {"Ready": "True"}
    assert not judged(over, running, [SUSPENDED])
    assert not judged(running, running, [])


def test_a_condition_that_still_holds_or_that_the_control_plane_never_ended_is_missed() -> None:
    assert judged({"Suspended": "False"}, {}, []) == ["status.conditions.Suspended"]
    assert judged({"Suspended": "True"}, {}, [SUSPENDED]) == ["status.conditions.Suspended"]
    assert judged({"Suspended": "False"}, {"Suspended": "True"}, [SUSPENDED]) == ["status.conditions.Suspended.status"]


def found(*steps: tuple[str, str]) -> list[str]:
    """Of steps at whose ends the first is desired and the second is there."""
    desired_states = [f'[["/api/v1/namespaces/default/configmaps/one", "{desired}"]]' for desired, _ in steps]
    run = Result(desired_states=desired_states, rest_states=[of_apps(at=rest) for _, rest in steps])
    return [finding.oracle for finding in compare_steps(run, Reference(run, []))]


def test_a_wish_that_was_taken_back_and_left_a_trace_is_found() -> None:
    assert found(("a", "1"), ("b", "2"), ("a", "3")) == ["paths"]
    assert not found(("a", "1"), ("b", "2"), ("a", "1"))


def test_a_user_who_waits_for_what_takes_its_time_has_wished_for_nothing_else() -> None:
    assert not found(("a", "under way"), ("a", "still"), ("a", "done"))
    assert not found(("a", "under way"), ("a", "done"), ("b", "other"), ("a", "under way"), ("a", "done"))


def test_a_counter_outside_that_has_gone_on_is_more_of_it() -> None:
    (grown,) = find_differences({"external cloud": [{"next": 2}]}, {"external cloud": [{"next": 3}]})
    (shrunk,) = find_differences({"external cloud": [{"next": 3}]}, {"external cloud": [{"next": 2}]})
    assert (grown.is_more, shrunk.is_more) == (True, False)


SITES: dict[str, list[Any]] = {f"sites.example.com default/web{n}": [{"spec": {}}] for n in (1, 2)}


def changed_places(one: str, other: str) -> bool:
    """Whether an external system's values under two names may change places."""
    ours = SITES | {"external dns": [{one: "blue", other: "green"}]}
    theirs = SITES | {"external dns": [{one: "green", other: "blue"}]}
    renamed = rename_counted_names(ours, theirs)
    return renamed is not None and not find_differences(renamed[0], renamed[1])


@pytest.mark.parametrize("name", ["web{}.example.org", "default.web{}", "default/web{}", "{}0", "2026-01-0{}"])
def test_what_an_external_system_was_told_under_names_of_objects_ports_or_dates_must_not_change_places(
    name: str,
) -> None:
    assert not changed_places(name.format(1), name.format(2))


@pytest.mark.parametrize("name", ["vm-{}", "i{}", "eu/vm-{}", "web-{}"])
def test_what_an_external_system_counted_out_itself_may_change_places(name: str) -> None:
    assert changed_places(name.format(1), name.format(2))


def cloud(*owners: str, **more: Any) -> dict[str, list[Any]]:
    """Machines that a cloud has counted out, and what else it has."""
    return {"external cloud": [{"vms": {f"vm-{n}": owner for n, owner in enumerate(owners, 1)}, **more}]}


def is_found(ours: dict[str, list[Any]], theirs: dict[str, list[Any]]) -> bool:
    return bool(Reference(Result(end=ours), []).judge(Plan(), Result(end=theirs)))


def test_the_counter_of_names_outside_may_be_another_and_no_smaller_number_may() -> None:
    assert not is_found(cloud("a", "b", next=2), cloud("b", "a", next=3))
    assert is_found(cloud("a", "b", next=2), cloud("b", "a", next=1))
    assert is_found(cloud("a", "b", cpus={"a": 4}), cloud("b", "a", cpus={"a": 0}))


def test_a_number_in_an_external_system_whose_names_are_the_same_counts() -> None:
    def bank(balance: int) -> dict[str, list[Any]]:
        return {"external bank": [{"balance": balance}]}

    assert not is_found(cloud("a", "b") | bank(100), cloud("b", "a") | bank(100))
    assert is_found(cloud("a", "b") | bank(100), cloud("b", "a") | bank(900))


@pytest.mark.parametrize(("kind", "fine"), [("late-write", True), ("conflict", False)])
def test_a_deletion_that_comes_late_may_cost_another_object_of_a_generated_name(kind: str, fine: bool) -> None:
    """The next process does not know of it, and may choose another one."""
    calm = Reference(Result(created={"pods d/web-*": 3}, deleted={"pods d/web-*": 2}), [])
    costly = Result(created={"pods d/web-*": 4}, deleted={"pods d/web-*": 3})
    assert bool(calm.judge(Plan((fault(kind, "delete pods d/web-l6c65 #1"),)), costly)) is not fine
    assert calm.judge(Plan((fault(kind, "delete pods d/other-l6c65 #1"),)), costly)


def test_finalizers_are_a_set() -> None:
    def with_finalizers(*names: str) -> dict[str, list[Any]]:
        metadata = {"namespace": "default", "name": "one", "resourceVersion": "2", "finalizers": [*names]}
        return make_snapshot({("apps", "default/one"): {"metadata": metadata}}, {}, since=1)

    assert not find_differences(with_finalizers("a/1", "b/2"), with_finalizers("b/2", "a/1"))
    assert find_differences(with_finalizers("a/1", "b/2"), with_finalizers("b/2"))


def test_the_mask_of_a_list_covers_its_items() -> None:
    one, other = of_apps(log=[{"text": "a"}]), of_apps(log=[{"text": "b"}])
    assert [difference.mask for difference in find_differences(one, other)] == ["apps status.log[].text"]
    assert not find_differences(one, other, frozenset({"apps status.log"}))
    assert find_differences(one, other, frozenset({"apps status.lo"}))


def test_what_the_control_plane_makes_when_it_is_needed_may_be_missing_if_it_was_never_made() -> None:
    default = "storageclasses.storage.k8s.io standard"
    baseline = Result(end={default: [{"spec": 1}]}, provided=[default])
    reference = Reference(baseline, [])
    hidden = Plan((fault("early", "step 1", writes=0),))
    assert not reference.judge(hidden, Result(end={}))
    (lost,) = reference.judge(hidden, Result(end={}, provided=[default]))
    assert lost.subject == default


def test_the_beginning_of_a_scenario_excuses_what_the_whole_one_does() -> None:
    whole = Reference(Result(), [])
    whole.masks |= {"apps status.count"}
    whole.alternates = True
    beginning = Reference(Result(end=of_apps(count=1)), [])
    beginning.follow(whole)
    assert beginning.alternates
    assert not beginning.judge(Plan((fault("resync", "step 1"),)), Result(end=of_apps(count=2)))


def test_a_value_is_one_line_of_text_that_a_terminal_shows_and_does_not_obey() -> None:
    """A text of an object could otherwise add lines to a report, such as one that says where files were written."""
    assert format_value("Zürich") == "Zürich"
    assert format_value("a\nwritten: b") == '"a\\nwritten: b"'
    assert format_value("\x1b[31m\x9b\u202e") == '"\\u001b[31m\\u009b\\u202e"'
    assert format_value({"text": "\u202e"}) == '{"text": "\\u202e"}'
    assert format_value("x" * 200, 10) == "xxxxxxx..."
