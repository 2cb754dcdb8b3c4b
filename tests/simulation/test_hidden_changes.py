"""Faults that hide or separate what users have changed: what depends on the changes that a controller saw is not
compared, and all else is.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.simulation.kinds import App

import setpoint as sp
from setpoint.models.core_v1 import Container, Pod, PodSpec
from setpoint.simulation import check
from setpoint.simulation.comparison.snapshot import Snapshot
from setpoint.simulation.faults.plan import Plan, fault
from setpoint.simulation.oracles.differential import Reference
from setpoint.simulation.trace.result import Finding, Point, Result

APP = "apps.test.example.com default/one"
JOB, POD = "jobs.batch default/migrate", "pods default/migrate-*"
CHANGE = "MODIFIED configmaps default/free #1"
HIDDEN = Plan((fault("lag", CHANGE, until="step"),))
LATE = Plan((fault("crash", "create configmaps default/web-0 #1"),))


def migrated(image: str) -> Snapshot:
    owned = {"ownerReferences": [{"uid": f"<uid of {JOB}>"}]}
    return {APP: [{}], JOB: [{"spec": image}], POD: [{"metadata": owned, "spec": image}]}


def judge(plan: Plan, expected: Result, actual: Result) -> list[Finding]:
    return Reference(expected, []).judge(plan, actual)


def run(*rests: Snapshot, **counts: Any) -> Result:
    return Result(end=rests[-1] if rests else {}, rest_states=[*rests], **counts)


def test_work_for_a_state_to_which_users_have_come_back_need_not_be_done_again() -> None:
    created = {JOB: 2, POD: 2}
    there_and_back = run(migrated("1"), migrated("2"), migrated("1"), created=created)
    for end in ({APP: [{}]}, migrated("2")):
        once = Result(end=end, created={JOB: 1, POD: 1})
        assert judge(HIDDEN, there_and_back, once) == []
        assert {finding.subject for finding in judge(LATE, there_and_back, once)} == {JOB, POD}
    never = Result(end={APP: [{}]})
    assert judge(HIDDEN, there_and_back, never), "it was never done"
    on = run(migrated("1"), migrated("2"), created=created)
    assert judge(HIDDEN, on, Result(end=migrated("1"), created=created)), "the newest work was not done"


def counted(created: dict[str, int], deleted: dict[str, int]) -> Result:
    def label(counts: dict[str, int]) -> dict[str, int]:
        return {f"configmaps default/{name}": number for name, number in counts.items()}

    return Result(created=label(created), deleted=label(deleted))


def test_which_of_several_objects_go_and_come_depends_on_the_changes_that_were_seen() -> None:
    expected = counted({"web-0": 1, "web-1": 1}, {"web-1": 1})
    another = counted({"web-0": 2}, {"web-0": 1})
    assert judge(HIDDEN, expected, another) == []
    assert len(judge(LATE, expected, another)) == 2
    more = counted({"web-0": 2, "web-1": 1}, {"web-0": 1, "web-1": 1})
    (finding,) = judge(HIDDEN, expected, more)
    assert finding.message == "configmaps default/web-0 was created twice, but once without faults"


@pytest.mark.parametrize(("by_user", "findings"), [(True, 0), (False, 1)])
def test_what_is_made_for_a_part_of_what_users_changed_and_deleted_again_is_not_counted(
    by_user: bool, findings: int
) -> None:
    expected = counted({"web-0": 1}, {})
    expected.points = [Point(CHANGE, "change", by_user=by_user)]
    undone = counted({"web-0": 1, "web-1": 1}, {"web-1": 1})
    late = Plan((fault("lag", CHANGE, seconds=1000.0),))
    assert len(judge(late, expected, undone)) == findings
    expected.points = [Point(CHANGE, "change", by_user=True)]
    assert judge(late, expected, counted({"web-0": 2}, {})), "it was made twice"


def colours(active: str) -> Snapshot:
    return {f"deployments.apps default/one-{active}": [{"spec": 1}], APP: [{"spec": "2", "status": active}]}


def test_a_fault_that_hides_a_change_may_lead_to_the_other_colour_though_the_way_without_faults_does_not() -> None:
    expected = run(colours("blue"), colours("green"), colours("blue"))
    assert judge(HIDDEN, expected, Result(end=colours("green"))) == []
    assert judge(LATE, expected, Result(end=colours("green")))
    blue, green = {"pods default/one-blue-3-*": [{}]}, {"pods default/one-green-4-*": [{}]}
    expected_pods = run(colours("blue"), colours("green"), colours("blue") | blue)
    assert judge(HIDDEN, expected_pods, Result(end=colours("green") | green, dependents=[*green])) == []
    assert judge(HIDDEN, expected_pods, Result(end=colours("green") | green)), "the program made it"
    torn = colours("green") | {APP: [{"spec": "2", "status": "blue"}]}
    assert judge(HIDDEN, expected, Result(end=torn))
    old = {"deployments.apps default/one-green": [{"spec": 1}], APP: [{"spec": "1", "status": "green"}]}
    assert judge(HIDDEN, expected, Result(end=old)), "what users asked for belongs to the state"
    assert judge(HIDDEN, expected, Result(end=colours("red"))), "no run without faults has this colour"


def revisions(*images: str, first: int = 1) -> Snapshot:
    owner = {"ownerReferences": [{"uid": "<uid of the app>", "controller": True}]}
    return {
        f"configmaps default/one-{image}": [
            {"metadata": {"name": f"one-{image}", **owner}, "data": {"revision": str(number), "image": image}}
        ]
        for number, image in enumerate(images, first)
    }


def test_a_revision_that_was_never_made_is_missing_and_changes_the_numbers_of_those_after_it() -> None:
    expected = run(revisions("a"), revisions("a", "b", "c"))
    assert judge(HIDDEN, expected, Result(end=revisions("a", "c"))) == []
    assert judge(LATE, expected, Result(end=revisions("a", "c")))
    assert judge(HIDDEN, expected, Result(end=revisions("a", "b"))), "the newest revision is missing"


def test_a_pod_that_a_scenario_ends_before_it_was_scheduled_has_its_phase_only() -> None:
    """Users who stand in for the kubelet do not wait for the scheduler."""

    async def reconcile(app: App, ctx: sp.Context) -> None:
        pod = await ctx.get(Pod, app.name)
        if pod is None:
            spec = PodSpec(containers=[Container(name="run", image="run:1")], restart_policy="Never")
            await ctx.apply(Pod.named(app.name, spec=spec))
        app.status.note = pod.status.phase or "" if pod is not None and pod.status is not None else ""

    async def users(cluster: sp.testing.Cluster) -> None:
        await cluster.apply(App.named("one", "default"))
        await cluster.settle()
        pod = await cluster.get(Pod, "one")
        assert pod.status is not None
        pod.status.phase = "Succeeded"
        await cluster.client.update_status(pod)
        await cluster.settle()

    late = Plan((fault("pause", "step 1", who="control plane", more=1),))
    check(users, lambda: [sp.Controller(App, reconcile).owns(Pod)], replay=late.token(), workers=0)
