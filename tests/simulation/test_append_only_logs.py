"""Ledgers: what was written to an external system that only grows can't be taken back, so it is not a trace."""

from __future__ import annotations

import heapq
from typing import Any

import pytest
from tests.simulation.corpus.notifications import Topic
from tests.simulation.kinds import App, AppSpec
from tests.simulation.test_check import create_and_delete

import setpoint as sp
from setpoint.simulation import Budget, Counterexample, External, Plan, call, check
from setpoint.simulation.comparison.differences import Difference, find_differences
from setpoint.simulation.faults.plan import fault
from setpoint.simulation.oracles.append_only_logs import AppendOnlyLogs, find_append_only_attributes


class Mail(External):
    """Messages, each sent once; and a mailbox that can be emptied."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.boxes: dict[str, list[str]] = {}

    @call
    async def send(self, name: str, text: str) -> None:
        if f"{name}: {text}" not in self.sent:
            self.sent.append(f"{name}: {text}")

    @call
    async def put(self, name: str, text: str) -> None:
        self.boxes.setdefault(name, []).append(text)

    @call
    async def empty(self, name: str) -> None:
        self.boxes[name].pop()
        del self.boxes[name]


class Growing(External):
    """Each attribute only grows, in a way of its own."""

    def __init__(self, *first: str) -> None:
        self.appended = list(first)
        self.added: set[str] = set()
        self.joined: list[str] = []
        self.copied: tuple[str, ...] = ()
        self.sorted: list[str] = []
        self.merged: dict[str, str] = {}
        self.nested: dict[str, list[str]] = {}

    def add(self, name: str) -> None:
        self.appended.append(name)
        self.added |= {name}
        self.joined = self.joined + [name]  # noqa: RUF005
        self.copied = (*self.copied, name)
        self.sorted = sorted({*self.sorted, name})
        self.merged = {**self.merged, name: name}
        lines = self.nested.setdefault(name, [])
        lines.append(name)
        other: dict[str, str] = {}
        other.pop(name, None)

    def read(self) -> list[str]:
        return [item for item in self.appended if item in self.added and len(self.joined) > 1]


class Shrinking(External):
    """Something may be taken out of each attribute, in a way of its own."""

    def __init__(self) -> None:
        self.popped: dict[str, str] = {}
        self.deleted: dict[str, str] = {}
        self.filtered: list[str] = []
        self.less: set[str] = set()
        self.sliced: list[str] = []
        self.by_a_name: dict[str, list[str]] = {}
        self.by_a_loop: dict[str, list[str]] = {}
        self.by_a_function: list[str] = []
        self.set_anew = ""

    def take(self, name: str) -> None:
        self.popped.pop(name, None)
        del self.deleted[name]
        self.filtered = [item for item in self.filtered if item != name]
        self.less -= {name}
        self.sliced[:] = []
        lines = self.by_a_name[name]
        lines.remove(name)
        for box in self.by_a_loop.values():
            box.clear()
        heapq.heappop(self.by_a_function)
        self.set_anew = name


class HandsItselfOut(External):
    def __init__(self) -> None:
        self.items: list[str] = []

    def take(self) -> None:
        take_from(self)


class TakesFromAnything(External):
    def __init__(self) -> None:
        self.items: list[str] = []

    def take(self, items: list[str]) -> None:
        items.remove("x")


class TellsItsOwnState(External):
    def __init__(self) -> None:
        self.items: list[str] = []

    def add(self) -> None:
        self.items.append("x")

    def state(self) -> dict[str, Any]:
        return {"items": self.items[-1:]}


class Inherits(Mail):
    def forget(self) -> None:
        self.sent.clear()


def take_from(system: HandsItselfOut) -> None:
    system.items.clear()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Mail, {"sent"}),
        (Topic, {"messages"}),
        (Growing, {"appended", "added", "joined", "copied", "sorted", "merged", "nested"}),
        (Shrinking, set()),
        (HandsItselfOut, set()),
        (TakesFromAnything, set()),
        (TellsItsOwnState, set()),
        (Inherits, set()),
    ],
)
def test_a_ledger_is_an_attribute_from_which_no_method_takes_anything(kind: type[External], expected: set[str]) -> None:
    assert find_append_only_attributes(kind) == expected


def test_a_class_without_source_has_no_ledgers() -> None:
    space: dict[str, Any] = {"External": External}
    exec("class Made(External):\n    def add(self):\n        self.items.append(1)\n", space)
    assert find_append_only_attributes(space["Made"]) == frozenset()


@pytest.mark.parametrize(
    ("expected_part", "is_enough"),
    [
        ({"sent": ["n: b"]}, True),
        ({"sent": ["n: a", "n: b", "n: b"]}, False),
        ({"sent": ["n: a"]}, False),
        ({"sent": ["n: c", "n: b"]}, False),
        ({"count": 1}, True),
        ({"count": 3}, False),
    ],
)
def test_a_ledger_may_lack_what_was_hidden_and_may_have_nothing_twice(
    expected_part: dict[str, Any], is_enough: bool
) -> None:
    class Told(External):
        def __init__(self) -> None:
            self.sent: list[str] = []
            self.count = 0

        def tell(self, text: str) -> None:
            self.sent.append(text)
            self.count += 1

    subject, name = "external told", next(iter(expected_part))
    expected = {"sent": ["n: a", "n: b"]} if name == "sent" else {"count": 2}
    least = {"sent": ["n: b"]} if name == "sent" else {"count": 1}
    difference = Difference(subject, name, expected[name], expected_part[name])
    ledgers = AppendOnlyLogs([Told()])
    assert (
        ledgers.has_enough(difference, {subject: [least]}, {subject: [expected]}, {subject: [expected_part]})
        is is_enough
    )


@pytest.mark.parametrize(
    ("expected", "expected_part", "is_more"),
    [
        ({"new": "bye"}, {"new": "bye", "old": "hello"}, True),
        ({"n-1": "bye"}, {"n-1": "hello", "n-2": "bye"}, True),
        ({"web": "10.0.0.2"}, {"web": "10.0.0.1"}, False),
        ({"new": "bye"}, {"old": "hello"}, False),
    ],
)
def test_a_value_in_the_place_of_another_one_is_not_more(
    expected: dict[str, str], expected_part: dict[str, str], is_more: bool
) -> None:
    one, other = ({"external topic": [{"messages": item}]} for item in (expected, expected_part))
    ledgers = AppendOnlyLogs([Topic()])
    assert all(ledgers.has_more(difference, one, other) for difference in find_differences(one, other)) is is_more


@pytest.mark.parametrize("key", ["n1", "default/n1", "route-to-n1"])
def test_a_number_in_the_name_of_an_object_counts_no_changes(key: str) -> None:
    one, other = (
        {"external topic": [{"messages": {key: f"10.0.{number}.0"}}], "apps default/n1": [{"spec": {}}]}
        for number in (2, 1)
    )
    logs = AppendOnlyLogs([Topic()])
    for difference in find_differences(one, other):
        assert not logs.has_more(difference, one, other)
        assert not logs.has_enough(difference, one, one, other)


# -- controllers that tell others --------------------------------------------------------------------------------------


async def on_and_off(cluster: sp.testing.Cluster) -> None:
    for feature in (False, True):
        await cluster.apply(App.named("one", "default", spec=AppSpec(feature=feature)))
        await cluster.settle()


async def several(cluster: sp.testing.Cluster) -> None:
    for name in ("one", "two", "three"):
        await cluster.apply(App.named(name, "default"))
    await cluster.settle()


mail, topic = Mail(), Topic()


def tells(*, first: bool = False) -> Any:
    """A controller that sends a mail for each change; with ``first`` it notes that before it has done so."""

    async def reconcile(app: App, ctx: sp.Context) -> None:
        text = f"the feature is {'on' if app.spec.feature else 'off'}"
        if app.status.note == text:
            return
        await ctx.ensure_current()
        if first:
            note = {"status": {"note": text}}
            await ctx.client.patch(App, app.name, note, namespace=app.namespace, subresource="status")
        await mail.send(app.name, text)
        app.status.note = text

    return lambda: [sp.Controller(App, reconcile)]


async def publish(app: App, ctx: sp.Context) -> None:
    text = f"the feature is {'on' if app.spec.feature else 'off'}"
    if app.status.note != text:
        await ctx.ensure_current()
        await topic.publish(f"{app.uid}-{app.metadata.generation}", text)
        app.status.note = text


def test_mails_about_earlier_wishes_are_no_traces() -> None:
    assert check(on_and_off, tells(), externals=[mail], budget=Budget(runs=60)).runs


def test_mails_for_several_objects_may_be_sent_in_any_order() -> None:
    assert check(several, tells(), externals=[mail], budget=Budget(runs=40)).runs


def test_messages_whose_keys_count_the_changes_are_no_traces() -> None:
    assert check(on_and_off, lambda: [sp.Controller(App, publish)], externals=[topic], budget=Budget(runs=40)).runs


def test_a_mail_that_is_never_sent_is_found() -> None:
    with pytest.raises(Counterexample) as raised:
        check(on_and_off, tells(first=True), externals=[mail], budget=Budget(runs=150))
    assert [finding.subject for finding in raised.value.findings] == ["external mail"]


def test_a_mail_about_the_last_wish_must_be_sent_even_if_earlier_ones_were_hidden() -> None:
    calls: dict[str, bool] = {}

    async def by_changes(app: App, _ctx: sp.Context) -> None:
        before = calls.get(app.uid)
        calls[app.uid] = app.spec.feature
        if before is False and app.spec.feature:  # a process that was away for the change has no state before it
            await mail.send(app.name, "on")

    def controllers() -> list[sp.Controller[App]]:
        calls.clear()
        return [sp.Controller(App, by_changes)]

    off = {"paths": "mails are about changes"}
    with pytest.raises(Counterexample) as raised:
        check(on_and_off, controllers, externals=[mail], budget=Budget(runs=150), off=off)
    assert raised.value.plan.faults


def test_a_box_that_should_have_been_emptied_is_a_trace() -> None:
    async def reconcile(app: App, _ctx: sp.Context) -> None:
        if not app.spec.feature and not mail.boxes.get(app.name):
            await mail.put(app.name, "off")

    with pytest.raises(Counterexample) as raised:
        check(on_and_off, lambda: [sp.Controller(App, reconcile)], externals=[mail], budget=Budget(runs=10))
    assert {finding.oracle for finding in raised.value.findings} == {"paths"}


class Routes(External):
    """Has the newest version of each route. The program that writes a route chooses its version."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self._versions: dict[str, int] = {}

    @call
    async def version(self, name: str) -> int:
        return self._versions.get(name, 0)

    @call
    async def put(self, name: str, size: int, version: int) -> None:
        if version < self._versions.get(name, 0):
            raise ValueError("there is a newer version")
        self.sizes[name], self._versions[name] = size, version


def test_a_route_that_a_former_leader_sets_back_is_found_although_the_name_of_its_object_has_a_number() -> None:
    routes = Routes()

    async def grows(cluster: sp.testing.Cluster) -> None:
        for size in (1, 2, 3):
            await cluster.apply(App.named("n1", "default", spec=AppSpec(size=size)))
            await cluster.settle()

    async def announce(app: App, _ctx: sp.Context) -> None:
        if app.status.ready != app.spec.size:
            version = await routes.version(app.name)
            await routes.put(app.name, app.spec.size, version + 1)
            app.status.ready = app.spec.size

    frozen = Plan((fault("freeze", "call routes.put('n1', 2, 2) #1", until="step"),))
    with pytest.raises(Counterexample, match=r"external routes: sizes\.n1 is 2, expected 3"):
        check(
            grows,
            lambda: [sp.Controller(App, announce)],
            externals=[routes],
            leader_election=True,
            replay=frozen.token(),
        )


class Numbers(External):
    """Machines that get numbers."""

    def __init__(self) -> None:
        self.last = 0
        self.machines: dict[str, int] = {}

    @call
    async def create(self, name: str) -> None:
        if name not in self.machines:
            self.last += 1
            self.machines[name] = self.last

    @call
    async def delete(self, name: str) -> None:
        self.machines.pop(name, None)


def test_a_number_that_was_never_given_out_because_the_wish_was_hidden_is_not_missed() -> None:
    numbers = Numbers()

    async def reconcile(app: App, _ctx: sp.Context) -> None:
        await numbers.create(app.name)

    async def finalize(app: App, _ctx: sp.Context) -> None:
        await numbers.delete(app.name)

    def controllers() -> list[sp.Controller[App]]:
        return [sp.Controller(App, reconcile).finalize(finalize)]

    down = Plan((fault("crash-after", "patch apps.test.example.com default/one #1", until="step"),))
    check(create_and_delete, controllers, externals=[numbers], replay=down.token())


def test_two_mails_for_one_object_in_another_order_are_found() -> None:
    class Log(External):
        def __init__(self) -> None:
            self.lines: list[str] = []

        @call
        async def write(self, line: str) -> None:
            if line not in self.lines:
                self.lines.append(line)

    log = Log()

    async def reconcile(app: App, _ctx: sp.Context) -> None:
        if app.status.note:
            await log.write(f"{app.name} is ready")  # the next reconcile may come before the line below
        else:
            app.status.note = "begun"
            await _ctx.client.patch(
                App, app.name, {"status": {"note": "begun"}}, subresource="status", namespace="default"
            )
        await log.write(f"{app.name} was begun")

    with pytest.raises(Counterexample) as raised:
        check(several, lambda: [sp.Controller(App, reconcile)], externals=[log], budget=Budget(runs=150))
    assert [finding.subject for finding in raised.value.findings] == ["external log"]
