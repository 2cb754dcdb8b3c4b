"""Values that rightly depend on the order of changes are not traces of earlier specs; all others are."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from tests.simulation.kinds import App, AppSpec

import setpoint as sp
from setpoint.models.core_v1 import (
    ConfigMap,
    LoadBalancerIngress,
    LoadBalancerStatus,
    Secret,
    Service,
    ServicePort,
    ServiceSpec,
)
from setpoint.simulation import Budget, Counterexample, check
from setpoint.simulation.comparison.snapshot import Snapshot, find_records, make_snapshot
from setpoint.simulation.faults.plan import Plan, fault
from setpoint.simulation.oracles.differential import Reference
from setpoint.simulation.oracles.path_independence import compare_speeds, compare_steps, compare_with_direct
from setpoint.simulation.report.counterexample_page import render_page
from setpoint.simulation.search.virtual_time_runner import AT_ONCE, STEP_BY_STEP
from setpoint.simulation.trace.result import Finding, Result

APP = "apps.test.example.com default/one"


def state(app: dict[str, Any] | None = None, **objects: Any) -> Snapshot:
    result = {name.replace("_", " default/", 1).replace("_", "-"): [value] for name, value in objects.items()}
    return {**result, APP: [{"spec": {"image": "2"}, **(app or {})}]}


PATH = "/apis/test.example.com/v1/namespaces/default/apps/one"


def desired(app: str, other: str = "") -> str:
    """The desired state at the end of a step: an App and another object."""
    objects = [(PATH, {"spec": app}), ("/api/v1/namespaces/default/secrets/other", {"data": other})]
    return msgspec.json.encode(objects).decode()


def accused(direct: Snapshot, way: Snapshot, *before: Snapshot, collected: tuple[str, ...] = ()) -> list[Finding]:
    rests = [{}, *before, way]
    baseline = Result(end=way, rest_states=rests, collected=list(collected))
    baseline.desired_states = [desired(str(n)) for n in range(len(rests))]
    return compare_with_direct(baseline, Result(end=direct), Reference(baseline, []))


def service(colour: str) -> dict[str, Any]:
    return {"spec": {"selector": {"app": f"one-{colour}"}}}


def test_colours_take_turns() -> None:
    blue = state(deployments_one_blue={"spec": 1}, services_one=service("blue"))
    green = state(deployments_one_green={"spec": 1}, services_one=service("green"))
    assert accused(blue, green, blue) == []
    torn = state(deployments_one_green={"spec": 1}, services_one=service("blue"))
    assert accused(blue, torn, blue)


def test_what_was_there_before_and_is_again_as_it_was_is_no_trace_and_what_is_gone_or_otherwise_is_one() -> None:
    node, tainted = {"spec": {}}, {"spec": {"taints": ["x"]}}

    def of(end: Snapshot, direct: Snapshot, *, there: bool = True) -> list[Finding]:
        alive = [{}, {}, {"nodes a": 1} if there else {}]
        before: dict[str, Any] = {"initial": {"nodes a": [node]}, "object_counts": alive}
        baseline = Result(
            end=end, rest_states=[{}, {"nodes a": [tainted]}, end], desired_states=[*map(desired, "123")], **before
        )
        return compare_with_direct(baseline, Result(end=direct, object_counts=alive), Reference(baseline, []))

    assert of(state() | {"nodes a": [node]}, state()) == []
    (left,) = of(state() | {"nodes a": [tainted]}, state())
    assert left.subject == "nodes a"
    assert left.actual == ["x"]
    assert of(state(), state() | {"nodes a": [node]}) == []
    (gone,) = of(state(), state() | {"nodes a": [node]}, there=False)
    assert gone.actual == "<absent>"


def test_numbers_of_revisions_take_turns_and_those_of_members_do_not() -> None:
    first, third = state(configmaps_one_1={"data": "x"}), state(configmaps_one_3={"data": "x"})
    assert accused(first, third, first) == []
    both = state(configmaps_one_1={"data": "x"}, configmaps_one_3={"data": "x"})
    assert accused(first, third, both), "the wrong one of two members has gone"


def test_lists_of_what_happened_when_are_no_traces_and_lists_of_what_there_is_are() -> None:
    def log(*texts: str) -> Snapshot:
        return state({"status": {"history": [{"text": text, "at": "<time>"} for text in texts]}})

    assert accused(log("a"), log("a", "b", "a"), log("a"), log("a", "b")) == []
    assert accused(log("a"), log("a", "b", "a"), log("b", "a")) == [], "the newest first"
    assert accused(log("a", "b"), log("c", "a"), log("b", "c")) == [], "a list of two"
    assert accused(log("a"), log("a", "b"), log("a", "b")), "nothing was added"
    assert accused(log("a"), log("x", "y"), log("a", "b")), "nothing is left of what there was"

    def members(*names: str) -> Snapshot:
        return state({"status": {"members": [{"name": name} for name in names]}})

    assert accused(members("a"), members("a", "b", "a"), members("a", "b"))


def test_a_fault_that_hides_a_wish_may_lead_to_the_other_colour() -> None:
    blue = state(deployments_one_blue={"spec": 1}, services_one=service("blue"))
    green = state(deployments_one_green={"spec": 1}, services_one=service("green"))
    baseline = Result(end=green, rest_states=[{}, blue, green], desired_states=["", *map(desired, "12")])
    reference = Reference(baseline, [])
    hidden = Plan((fault("lag", "ADDED apps", until="step"),))
    assert compare_with_direct(baseline, Result(end=blue, created={"deployments default/one-blue": 2}), reference) == []
    assert reference.judge(hidden, Result(end=blue, created={"deployments default/one-blue": 2})) == []
    assert reference.judge(hidden, Result(end=state(services_one=service("blue"))))


def test_counters_and_moments_are_no_traces() -> None:
    def of(**status: Any) -> Snapshot:
        return state({"status": status})

    assert accused(of(revision=1), of(revision=3), of(revision=1), of(revision=2)) == []
    assert accused(of(members=1), of(members=3), of(members=3)), "a number that was never taken back"
    assert accused(of(), of(lastRun="<time>"), of()) == []
    assert accused(of(), of(problem="no such image"), of())


def test_a_counter_and_a_log_may_have_grown_with_the_last_change_of_their_object_before_another_one_changed() -> None:
    def of(revision: int, *texts: str) -> Snapshot:
        return state({"status": {"revision": revision, "history": [{"text": text, "at": "<time>"} for text in texts]}})

    def accused_with(*labels: str) -> list[Finding]:
        rests = [{}, of(1, "a"), of(2, "b", "a"), of(2, "b", "a")]
        baseline = Result(end=rests[-1], rest_states=rests, desired_states=["[]", *labels])
        return compare_with_direct(baseline, Result(end=of(1, "b")), Reference(baseline, []))

    assert accused_with(desired("a"), desired("b"), desired("b", "changed")) == []
    assert accused_with(desired("b"), desired("a"), desired("b")), "they have not grown with the last change"


def test_what_a_user_made_may_go_with_its_new_owner() -> None:
    with_it, without = state(configmaps_free={"data": "x"}), state()
    assert accused(with_it, without, with_it)
    assert accused(with_it, without, with_it, collected=("configmaps default/free",)) == []


def test_what_the_control_plane_makes_for_the_whole_cluster_is_no_trace() -> None:
    def accused_with(*provided: str) -> list[Finding]:
        way = {**state(), "storageclasses.storage.k8s.io standard": [{"provisioner": "hollow"}]}
        baseline = Result(end=way, rest_states=[{}, way], desired_states=["", desired("1")], provided=list(provided))
        return compare_with_direct(baseline, Result(end=state()), Reference(baseline, []))

    assert accused_with("storageclasses.storage.k8s.io standard") == []
    assert accused_with(), "a controller that makes one leaves it behind"


def job(name: str, *, ended: bool) -> Snapshot:
    conditions = [{"type": "Complete", "status": "True"}] if ended else [{"type": "Suspended", "status": "True"}]
    return {f"jobs.batch default/{name}": [{"kind": "Job", "status": {"conditions": conditions}}]}


def test_work_that_has_ended_under_an_earlier_wish_is_no_trace_and_is_told() -> None:
    def accused_with(ended: Snapshot, direct: Snapshot) -> tuple[list[Finding], Reference]:
        baseline = Result(end=state() | ended, rest_states=[{}, state() | ended], desired_states=["", desired("1")])
        reference = Reference(baseline, [])
        return compare_with_direct(baseline, Result(end=state() | direct), reference), reference

    queue: Snapshot = {"queues default/one": [{"status": {"pending": 1}}]}
    findings, reference = accused_with(job("a", ended=True), job("a", ended=False) | queue)
    assert findings == []
    assert "jobs.batch default/a ended in only one of them" in reference.notes[0]
    assert "queues default/one" in reference.path_objects, "not compared either where a fault hides a change"
    findings, reference = accused_with(job("a", ended=True) | job("b", ended=True), job("a", ended=True) | queue)
    assert [finding.subject for finding in findings] == ["queues default/one"], "all that both have ended alike"
    assert 'ignore={"queues default/one": "..."}' in findings[0].message
    assert not reference.notes


def test_work_that_has_ended_between_two_steps_with_the_same_desired_state_is_no_trace() -> None:
    def found(*rests: Snapshot) -> tuple[list[Finding], list[str]]:
        baseline = Result(rest_states=[{}, *rests], desired_states=["", *map(desired, "121")])
        reference = Reference(baseline, [])
        return compare_steps(baseline, reference), reference.notes

    suspended, ended = job("a", ended=False), job("a", ended=True)
    assert found(suspended, ended, ended) == (
        [],
        [
            "the states after the steps 1 and 3 were not compared: jobs.batch default/a ended in only one of them; "
            "jobs.batch default/a: status.conditions.Suspended differs"
        ],
    )
    assert found(ended, ended | {"apps default/b": [{}]}, ended | {"apps default/b": [{}]})[0]


@pytest.mark.parametrize(
    ("status", "excused"),
    [
        ({"phase": "Completed"}, True),
        ({"conditions": [{"type": "Succeeded", "status": "True"}]}, True),
        ({"phase": "Ready"}, False),
        ({"phase": "Failed"}, False),
        ({"conditions": [{"type": "Succeeded", "status": "False"}]}, False),
    ],
)
def test_work_that_users_change_when_its_status_says_that_it_is_done_is_no_trace_and_is_told(
    status: dict[str, Any], excused: bool
) -> None:
    def ended(size: int) -> Snapshot:
        return state({"status": {**status, "size": size, "observedGeneration": "0 behind"}})

    def judged(*ends: Snapshot) -> tuple[list[Finding], Reference]:
        baseline = Result(end=ends[-1], rest_states=[{}, *ends], desired_states=[desired(str(n)) for n in range(3)])
        reference = Reference(baseline, [])
        return compare_with_direct(baseline, Result(end=ended(7)), reference), reference

    findings, reference = judged(ended(4), ended(4))
    assert (not findings) is excused
    assert any(f"{APP} had ended before users changed it" in note for note in reference.notes) is excused
    findings, _ = judged(ended(4), ended(5))
    assert findings, "something was done for the change"


def test_changes_of_the_desired_state_that_are_taken_back_are_compared_in_the_same_way() -> None:
    def found(*rests: Snapshot) -> list[Finding]:
        baseline = Result(rest_states=list(rests), desired_states=["", *map(desired, "1211")][: len(rests)])
        return compare_steps(baseline, Reference(baseline, []))

    old, new = state({"status": {"revision": 1}}), state({"status": {"revision": 2}})
    assert found({}, old, new, state({"status": {"revision": 3}})) == []
    assert found({}, old, new, state({"status": {"revision": 1}, "left": True}))


def test_a_smaller_stateful_set_leaves_its_claims() -> None:
    claims = [{"metadata": {"name": "data"}}]
    objects: dict[str, Any] = {"statefulsets.apps default/db": [{"spec": {"volumeClaimTemplates": claims}}]}
    left = {f"persistentvolumeclaims default/{name}": [{}] for name in ("data-db-1", "data-db-x", "data-other-1")}
    assert find_records(objects | left, objects) == {"persistentvolumeclaims default/data-db-1"}
    volume = "persistentvolumes pvc-<uid of persistentvolumeclaims default/data-db-1>"
    bound: Snapshot = {volume: [{"spec": {"claimRef": {"uid": "<uid of persistentvolumeclaims default/data-db-1>"}}}]}
    assert volume in find_records(objects | left | bound, objects)
    assert volume not in find_records(objects | bound, objects), "the volume of no claim that a set has left"


def test_uids_in_external_systems_do_not_hide_what_is_left_there() -> None:
    uids = {"11111111-1111-4111-8111-111111111111": "apps a", "22222222-2222-4222-8222-222222222222": "apps a"}
    snapshot = make_snapshot({}, uids, since=0, outside={"cloud": {"vms": {f"vm-{uid}": uid for uid in uids}}})
    word = "<uid of an earlier apps a>"
    assert snapshot == {"external cloud": [{"vms": {f"vm-{word}": word, f"vm-{word} again": word}}]}


def cloud(values: dict[str, str], *, made: int, **tags: str) -> Snapshot:
    """Apps that say which machine is theirs; and the machines, by the numbers that the cloud has given them."""
    apps: Snapshot = {f"apps default/{name}": [{"status": {"id": number}}] for name, number in values.items()}
    machines = {number.replace("_", "-"): tag for number, tag in tags.items()}
    return {**apps, "external cloud": [{"vms": machines, "made": made}]}


def judged(expected: Snapshot, snapshot: Snapshot) -> list[Finding]:
    return Reference(Result(end=expected), []).judge(Plan(), Result(end=snapshot))


def test_names_that_an_external_system_counts_out_may_be_others() -> None:
    calm = cloud({"a": "vm-1"}, made=1, vm_1="running")
    assert judged(calm, cloud({"a": "vm-2"}, made=2, vm_2="running")) == []
    assert judged(calm, cloud({"a": "vm-1"}, made=2, vm_2="running")), "the status names one that is not there"
    assert judged(calm, cloud({"a": "vm-1"}, made=2, vm_1="running", vm_2="running")), "one more is left"


def test_names_that_an_external_system_counts_out_may_be_given_in_another_order() -> None:
    calm = cloud({"a": "vm-1", "b": "vm-2"}, made=2, vm_1="of a", vm_2="of b")
    assert judged(calm, cloud({"a": "vm-2", "b": "vm-1"}, made=2, vm_1="of b", vm_2="of a")) == []
    assert judged(calm, cloud({"a": "vm-2", "b": "vm-3"}, made=3, vm_3="of b", vm_2="of a")) == []
    wrong = cloud({"a": "vm-1", "b": "vm-2"}, made=2, vm_1="of b", vm_2="of a")
    assert judged(calm, wrong), "each has the machine of the other one"
    alike = cloud({"a": "vm-1", "b": "vm-2"}, made=2, vm_1="running", vm_2="running")
    assert judged(alike, cloud({"a": "vm-3", "b": "vm-2"}, made=3, vm_2="running", vm_3="running")) == []
    assert judged(alike, cloud({"a": "vm-2", "b": "vm-2"}, made=2, vm_1="running", vm_2="running")), "one is shared"


def test_a_way_back_may_lead_to_other_numbers_of_an_external_system() -> None:
    rests = [
        cloud({}, made=0),
        cloud({"a": "vm-1", "b": "vm-2"}, made=2, vm_1="of a", vm_2="of b"),
        cloud({"b": "vm-2"}, made=2, vm_2="of b"),
        cloud({"a": "vm-3", "b": "vm-2"}, made=3, vm_2="of b", vm_3="of a"),
    ]
    labels = ["", "a b", "b", "a b"]
    baseline = Result(
        rest_states=rests, desired_states=[*map(desired, labels)], object_counts=[{} for _ in rests], end=rests[-1]
    )
    assert compare_steps(baseline, Reference(baseline, [])) == []
    baseline.rest_states[-1] = cloud({"a": "vm-2", "b": "vm-2"}, made=3, vm_2="of b", vm_3="of a")
    assert compare_steps(baseline, Reference(baseline, [])), "the status names the machine of another one"


def test_a_lost_answer_may_cost_one_more_object_of_a_generated_name() -> None:
    reference = Reference(Result(created={"pods default/load-*": 1}), [])
    lost = Plan((fault("lost-answer", "create pods default/load-* #1"),))
    assert reference.judge(lost, Result(created={"pods default/load-*": 2})) == []
    assert reference.judge(lost, Result(created={"pods default/load-*": 3}))
    crashed = Plan((fault("crash-after", "create pods default/load-* #1"),))
    assert reference.judge(crashed, Result(created={"pods default/load-*": 2}))


def test_a_status_that_users_write_for_another_controller_belongs_to_their_wishes() -> None:
    """As a cloud does, which gives load balancers their addresses."""

    async def reconcile(service: Service, ctx: sp.Context) -> None:
        balancer = service.status.load_balancer
        addresses = [item.ip or "" for item in balancer.ingress] if balancer is not None else []
        await ctx.apply(ConfigMap.named(service.name, data={"addresses": ",".join(addresses)}))

    async def scenario(cluster: sp.testing.Cluster) -> None:
        for port, address in ((80, "192.0.2.1"), (81, "192.0.2.2")):
            spec = ServiceSpec(type="LoadBalancer", ports=[ServicePort(port=port)])
            web = await cluster.apply(Service.named("web", "default", spec=spec))
            web.status.load_balancer = LoadBalancerStatus(ingress=[LoadBalancerIngress(ip=address)])
            await cluster.client.update_status(web)
            await cluster.settle()

    controller = sp.Controller(Service, reconcile).owns(ConfigMap)
    report = sp.simulation.check(
        scenario,
        lambda: [controller],
        control_plane=False,
        budget=Budget(runs=7),
        workers=1,
        off={"hash-seed": "costs processes"},
    )
    assert report.points["writes"] >= 2


def test_an_object_that_is_there_from_the_start_may_be_changed_by_users() -> None:
    async def reconcile(service: Service, ctx: sp.Context) -> None:
        await ctx.apply(ConfigMap.named(service.name, data=service.spec.selector | service.labels))

    def web(app: str, **labels: str) -> Service:
        spec = ServiceSpec(ports=[ServicePort(port=80)], selector={"app": app})
        return Service.named("web", "default", labels, spec=spec)

    async def scenario(cluster: sp.testing.Cluster) -> None:
        for app in ("two", "three"):
            await cluster.apply(web(app, label=app))
            await cluster.settle()

    report = sp.simulation.check(
        scenario,
        lambda: [sp.Controller(Service, reconcile).owns(ConfigMap)],
        objects=[web("one")],
        control_plane=False,
        budget=Budget(runs=7),
        workers=1,
        off={"hash-seed": "costs processes"},
    )
    assert report.points["writes"] >= 2


def test_annotations_that_the_control_plane_keeps_are_no_traces() -> None:
    def of(kind: str, **annotations: str) -> Snapshot:
        meta = {"annotations": annotations, "ownerReferences": [{"kind": kind, "uid": "<uid of web>"}]}
        return state() | {"replicasets.apps default/web-5c573780": [{"metadata": meta}]}

    old = of("Deployment", image="1", note="x")
    assert accused(of("Deployment", image="1"), old, old) == []
    mine = of("App", image="1", note="x")
    assert accused(of("App", image="1"), mine, mine), "a ReplicaSet of the program's own"
    assert accused(old, of("Deployment", image="1"), old), "one that is missing"


def test_histories_of_revisions_may_be_longer_and_lists_of_what_there_is_may_not() -> None:
    def of(*entries: dict[str, Any]) -> Snapshot:
        return state({"status": {"revisions": list(entries)}})

    def revision(number: int, image: str) -> dict[str, Any]:
        return {"revision": number, "image": image}

    way = of(revision(1, "1"), revision(2, "2"), revision(3, "3"))
    assert accused(of(revision(1, "3")), way, of(revision(1, "1"), revision(2, "2"))) == []
    assert accused(of(revision(1, "2")), way, of(revision(1, "1"))), "another image is the newest"
    ports = of({"port": 80, "name": "a"}, {"port": 90, "name": "b"})
    assert accused(of({"port": 90, "name": "b"}), ports, of({"port": 80, "name": "a"}))


def test_what_goes_wrong_if_all_is_wished_for_at_once_is_shown_by_the_run_in_which_it_does() -> None:
    async def one_after_the_other(cluster: sp.testing.Cluster) -> None:
        for name in ("one", "two"):
            await cluster.apply(App.named(name, "default"))
            await cluster.settle()
        await cluster.apply(App.named("one", "default", spec=AppSpec(size=2)))
        await cluster.settle()

    def factory() -> list[sp.Controller[App]]:
        busy: list[str] = []

        async def only_if_nothing_else_is_under_way(app: App, ctx: sp.Context) -> None:
            """A mistake: an App that comes while another one is worked on is forgotten."""
            if busy:
                return
            busy.append(app.name)
            await ctx.apply(Secret.named(app.name))
            busy.remove(app.name)

        return [sp.Controller(App, only_if_nothing_else_is_under_way, workers=2).owns(Secret)]

    with pytest.raises(Counterexample) as caught:
        check(one_after_the_other, factory, budget=Budget(runs=8))
    text = str(caught.value)
    assert (
        "secrets default/two is present after all changes, but <absent> if the user creates the final objects in o"
        in text
    )
    assert "expected" not in str(caught.value.findings[0])
    assert caught.value.contradicting_runs == [AT_ONCE, STEP_BY_STEP], "what went wrong comes first"
    for way in caught.value.contradicting_runs:
        assert f"{way}:" in text
        assert way in render_page(caught.value)


@pytest.mark.parametrize(
    ("quick", "slow", "ignore", "subjects"),
    [
        ({"sent": ["a"]}, {"sent": ["a", "b"]}, {}, ["external mail"]),
        ({"rate": 1, "sent": ["a"]}, {"rate": 2, "sent": ["a", "b"]}, {}, ["external mail"]),
        ({"sent": ["a"]}, {"sent": ["a"]}, {}, []),
        ({"sent": ["a"]}, {"sent": ["a", "b"]}, {"external sent": "one mail for each hour"}, []),
    ],
    ids=["an entry more", "several parts", "alike", "with a reason"],
)
def test_an_external_system_that_depends_on_how_long_users_wait_is_a_finding(
    quick: dict[str, Any], slow: dict[str, Any], ignore: dict[str, str], subjects: list[str]
) -> None:
    one, other = (Result(end={"external mail": [content]}) for content in (quick, slow))
    findings = compare_speeds(Reference(one, [], ignore), other)
    assert [finding.subject for finding in findings] == subjects
    for finding in findings:
        assert re.search(
            r'depends on how long users wait: .*ignore=\{"external (rate|sent)": \.\.\.\}', finding.message
        )
