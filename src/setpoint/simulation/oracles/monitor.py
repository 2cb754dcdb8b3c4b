"""Monitor: the oracles that watch a run as it goes on."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from setpoint.controller.context import current
from setpoint.controller.outcome import BUGS
from setpoint.simulation.comparison.snapshot import make_snapshot, to_plain
from setpoint.simulation.comparison.write_diff_text import describe_diff
from setpoint.simulation.sandbox.actor import Actor
from setpoint.simulation.sandbox.event_loop import find_line_of_call
from setpoint.simulation.scenario.externals import External
from setpoint.simulation.scenario.temporal_properties import Objects, Predicate
from setpoint.simulation.trace.history import Entry, History, sketch
from setpoint.simulation.trace.operation import Operation
from setpoint.simulation.trace.result import Finding, Options, Point, Result
from setpoint.simulation.trace.trace import Trace
from setpoint.testing.user_code import find_line_of_bug

CIRCLES: Final = 12
"""An object that returns to an earlier state this many times within one step is in a hot loop."""
REPLACEABLE: Final = frozenset(
    {"pods", "replicasets.apps", "controllerrevisions.apps", "endpoints", "endpointslices.discovery.k8s.io"}
)
"""Kinds whose objects are interchangeable: if an object is deleted because of a stale view and then replaced, nothing
is lost.
"""
UNCOUNTED: Final = frozenset({"ipaddresses.networking.k8s.io"})
"""Kinds of which the server makes an object for each Service, named after whichever value was free. The Services are
counted.
"""
TURNOVER: Final = 100
"""Controllers that delete and then create this many objects of one generated name within one step are in a hot loop."""
MOST_WRITES: Final = 1500
"""The most writes that controllers may make in one step; one more counts as a hot loop."""
RENEWED: Final = "when all objects had got new versions with the same content"
"""The quiet phase in which a controller may only note the versions, in a status or in metadata."""


class Rules(Protocol):
    """The part of a setup that the oracles use."""

    @property
    def off(self) -> Mapping[str, str]: ...
    @property
    def predicates(self) -> Sequence[Predicate]: ...
    @property
    def externals(self) -> Sequence[External]: ...


class MonitoredRun(Protocol):
    """The interface of a run, in virtual or in real time, that its `Monitor` uses."""

    @property
    def setup(self) -> Rules: ...
    @property
    def history(self) -> History: ...
    @property
    def trace(self) -> Trace: ...
    @property
    def expected_counts(self) -> list[dict[str, int]]: ...
    @property
    def resting(self) -> bool: ...
    @property
    def options(self) -> Options: ...
    def give_up(self, why: str) -> None: ...
    def catch_up(self) -> bool: ...


class Monitor:
    """Watches every change. Findings are added to ``findings``. A hot loop ends the run, unless that oracle is switched
    off. One about an owner that is gone ends the faults instead, since it ends by itself when the process sees that.
    """

    def __init__(self, world: MonitoredRun) -> None:
        self._world = world
        self._off = world.setup.off
        self.findings: list[Finding] = []
        self.created: Counter[str] = Counter()
        self.deleted: Counter[str] = Counter()
        self.controller_deletions: dict[int, Counter[str]] = {}
        """The number of deletions that users did not make, by step and label."""
        self.wrong_deletions: Counter[str] = Counter()
        self.active_steps: set[int] = set()
        """The steps in which users changed objects."""
        self.collected: set[str] = set()
        """Objects that users created and the garbage collector has deleted."""
        self.provided: set[str] = set()
        """Objects without an owner that the control plane created, such as a default storage class."""
        self.dependents: set[str] = set()
        """Objects with an owner that the control plane created, such as the pods of a Deployment."""
        self.writes = 0
        self.quiet_phase: str = ""
        """The phase in which nothing may be written; ``""`` while writes are allowed."""
        self._step_writes = 0
        self._step = -1
        self._states: dict[str, Counter[bytes]] = {}
        self._departed: Counter[str] = Counter()
        """The objects with generated names that controllers have deleted in this step and not yet replaced."""
        self._replaced: Counter[str] = Counter()
        self._broken: set[str] = set()
        self._uncounted: set[str] = set()
        self._users: set[str] = set()
        self._authors: dict[str, tuple[str, str]] = {}
        """For each object, the author of its last change, and the line of the user's code (see `_author_of`)."""
        self._made_for: dict[str, str] = {}
        """For each object that a reconcile created, the uid of the object that was reconciled."""
        self.is_uncounted = False
        """Whether objects are being created because of a fault. Such objects, and their deletions, are not counted."""
        self._objects = Objects(world.history)
        self._last: Entry | None = None
        self._outside: dict[str, Counter[str]] = {}
        self._catch_up: Callable[[], None] | None = None
        self._caught_up = -1
        """The step in which faults were ended because objects were made for an owner that is gone."""
        self._had_old_lists = False

    def report(self, oracle: str, subject: str, message: str, **more: Any) -> None:
        """Adds a finding, unless the oracle is switched off or has already reported the same finding."""
        finding = Finding(oracle, subject, message, step=self._world.history.step, **more)
        if oracle in self._off or any(earlier.identity == finding.identity for earlier in self.findings):
            return
        self.findings.append(finding)
        self._world.trace.add("server", "oracle", "finding", str(finding))
        if self._world.options.debug:
            breakpoint()

    # -- changes -------------------------------------------------------------------------------------------------------

    def changed(self, entry: Entry) -> None:
        """Judges a change. The run calls this for every change as soon as the storage shows it."""
        self._last = entry
        self.check_predicates()
        if entry.step != self._step:
            self._step, self._step_writes = entry.step, 0
            self._forget_circles()
        subject = f"{entry.collection} {entry.label}"
        self._world.trace.mark(
            Point(
                entry.point,
                "change",
                entry.step,
                entry.collection,
                entry.type,
                changed=True,
                revision=entry.revision,
                by_user=entry.lane == "user",
            )
        )
        if entry.lane == "user":
            self.active_steps.add(entry.step)
            if entry.type == "ADDED":
                self._users.add(entry.uid)
        if entry.lane == "garbage collector" and entry.type == "DELETED" and entry.uid in self._users:
            self.collected.add(subject)
        if entry.lane == "control plane" and entry.type == "ADDED":
            (self.dependents if sketch(entry.value).metadata.owner_references else self.provided).add(subject)
        if entry.lane != "user" and entry.collection not in UNCOUNTED:
            if entry.type == "ADDED":
                if entry.orphan or self.is_uncounted or self._is_for_uncounted(entry) or self._is_for_deleted():
                    self._uncounted.add(entry.uid)
                else:
                    self.created[subject] += 1
            elif entry.type == "DELETED" and entry.uid not in self._uncounted:
                self.deleted[subject] += 1
                self.controller_deletions.setdefault(entry.step, Counter())[subject] += 1
                self._check_desired(entry, subject)
        if entry.lane == "controller":
            self._controller_changed(entry, subject)

    def _is_for_deleted(self) -> bool:
        """Whether the running reconcile is for an object that no longer exists; False outside reconciles."""
        context = current.get()
        return context is not None and context.object.uid not in self._world.history.alive

    def _is_for_uncounted(self, entry: Entry) -> bool:
        """Whether the object was made for one that is not counted, as its child or (the volume of a claim) by name."""
        if not self._uncounted:
            return False
        owners = {owner.uid for owner in sketch(entry.value).metadata.owner_references or ()}
        return bool(owners & self._uncounted) or any(uid in entry.name for uid in self._uncounted)

    def _check_desired(self, entry: Entry, subject: str) -> None:
        """Counts the deletion in ``wrong_deletions`` if a process that began with old lists may be its cause, and the
        object should have stayed, according to the states at the ends of the undisturbed run's steps.
        """
        rests = self._world.expected_counts
        expected = self._world.options.expected_deletions.get(entry.step, {}).get(subject, 0)
        if not self._had_old_lists or not rests or self.controller_deletions[entry.step][subject] <= expected:
            return
        step = min(entry.step, len(rests) - 1)
        before, after = rests[max(step - 1, 0)].get(subject, 0), rests[step].get(subject, 0)
        least = after if self._world.resting else min(before, after)
        here = sum(1 for collection, label in self._world.history.alive.values() if f"{collection} {label}" == subject)
        if here < least and entry.collection not in REPLACEABLE:
            self.wrong_deletions[subject] += 1

    def begin_old_lists(self, catch_up: Callable[[], None]) -> None:
        """Begins the phase, until `end_old_lists`, in which new processes see an older state. In this phase, reconciles
        for objects that no longer exist must not remove anything that the external systems have now.

        The first hot loop in this phase is not reported. Instead, ``catch_up`` is called, which shows the processes the
        current state.
        """
        self._had_old_lists = True
        self._catch_up = catch_up
        self._outside = {external.name: _leaves(to_plain(external.state())) for external in self._world.setup.externals}

    def end_old_lists(self) -> None:
        self._outside = {}
        self._catch_up = None

    def check_externals(self) -> None:
        """Judges the state of the external systems after a call to one of them."""
        self.check_predicates()
        lives = not self._is_for_deleted()
        for external in self._world.setup.externals if self._outside else ():
            leaves = self._outside[external.name]
            missing = leaves - _leaves(to_plain(external.state()))
            for leaf in sorted(missing.elements()):
                if not lives:  # else it is what an earlier desired state was about, and comes back with the newest
                    self.wrong_deletions[f"external {external.name} {leaf}"] += 1
            self._outside[external.name] = leaves - missing

    def _controller_changed(self, entry: Entry, subject: str) -> None:
        if entry.type == "ADDED" and (context := current.get()) is not None:
            self._made_for[entry.uid] = context.object.uid
        self.writes += 1
        self._step_writes += 1
        place = entry.key + entry.collection
        author = _author_of(entry)
        before = self._authors.get(place, author)
        self._authors[place] = author
        others = (
            f"; the change before that was made by {' at '.join(filter(None, before))}"
            if before[0] != author[0]
            else ""
        )
        is_late = entry.type == "DELETED" and entry.uid in self._uncounted
        if self.quiet_phase and not is_late and not (self.quiet_phase == RENEWED and _is_note(entry)):
            text = _text_of(entry)
            message = f"{subject} was written {self.quiet_phase}, although the desired state was reached: "
            message += f"{text}{others}"
            self.report("quiet", subject, message, point=entry.point, actual=text)
        visits = self._states.setdefault(place, Counter())
        state = _content(entry.value) + entry.type.encode()
        visits[state] += 1
        again = sum(count - 1 for count in visits.values())
        circles = again >= CIRCLES or self._replaces(entry, subject)
        if circles and self._catch_up is not None:
            self._forget_circles()
            catch_up, self._catch_up = self._catch_up, None
            catch_up()
            return
        if circles and (entry.orphan or self._is_for_deleted()):
            if self._world.catch_up():
                self._caught_up = entry.step
            if self._caught_up == entry.step:  # a client that has to list again takes a second or two to do so
                self._forget_circles()
                return
        if "hot loop" not in self._off and (circles or self._step_writes > MOST_WRITES):
            if again >= CIRCLES:
                behaviour = f"kept returning to the same states: {sum(visits.values())} writes"
            elif circles:
                behaviour = f"was deleted and created again {self._replaced[subject]} times"
            else:
                behaviour = f"kept changing: {sum(visits.values())} writes"
            text = _text_of(entry)
            message = f"{subject} {behaviour} in one step; the last one: {text}{others}"
            self.report("hot loop", subject, message, point=entry.point, actual=text)
            self._world.give_up("a hot loop")

    def _replaces(self, entry: Entry, subject: str) -> bool:
        """Whether an object with a generated name takes, once too often, the place of one that controllers deleted."""
        if "*" not in entry.label:
            return False
        if entry.type == "DELETED":
            self._departed[subject] += 1
        elif entry.type == "ADDED" and self._departed[subject]:
            self._departed[subject] -= 1
            self._replaced[subject] += 1
        return self._replaced[subject] >= TURNOVER

    def _forget_circles(self) -> None:
        self._states.clear()
        self._departed.clear()
        self._replaced.clear()

    def summarize(self, result: Result) -> None:
        """Adds the findings, and what was counted, to the result of the run."""
        result.findings, result.writes = list(self.findings), self.writes
        result.created, result.deleted = dict(self.created), dict(self.deleted)
        result.wrong_deletions, result.active_steps = dict(self.wrong_deletions), sorted(self.active_steps)
        result.controller_deletions = {step: dict(counts) for step, counts in self.controller_deletions.items()}
        result.collected = sorted(self.collected)
        result.provided = sorted(self.provided)
        result.dependents = sorted(self.dependents)

    # -- writes --------------------------------------------------------------------------------------------------------

    def check_write(
        self, seen_uids: Collection[str], operation: Operation, point: str, target: str | None, *, changed: bool
    ) -> None:
        """Judges a process's write to ``target``, the uid of the object (None if there was no object): a deletion must
        have a precondition, or be of an object that the process has seen, or that an earlier process created for the
        same owner. ``seen_uids`` has the uids of all objects that the process has ever seen.
        """
        if target is None or not changed or operation.careful or operation.verb != "delete" or target in seen_uids:
            return
        context = current.get()
        if context is not None and self._made_for.get(target) == context.object.uid:
            return
        subject = f"{operation.collection} {operation.label}"
        self.report(
            "blind delete",
            subject,
            f"{subject} was deleted by name, although this process had never seen that object: "
            "it may be a new object of the same name; delete with a uid precondition",
            point=point,
        )

    def check_predicates(self) -> None:
        """Judges the current objects by the user's `always` and `never` predicates."""
        if self._had_old_lists and self._last is not None and self._last.type != "DELETED":
            return  # on an old view much is made that has to go again
        for predicate in self._world.setup.predicates:
            if predicate.mode == "eventually" or predicate.why in self._broken:
                continue
            if why := predicate.broken(self._objects):
                self._broken.add(predicate.why)
                last = self._last.point if self._last is not None else ""
                word = "does not hold" if predicate.mode == "always" else "happened"
                self.report("predicate", predicate.why, f"{predicate.mode}: {why} {word}, after {last}", point=last)

    def check_in_the_end(self) -> None:
        for predicate in self._world.setup.predicates:
            why = predicate.broken(self._objects)
            if why and predicate.why not in self._broken:
                self.report("predicate", predicate.why, f"{predicate.mode}: {why} does not hold at the end")

    def check_tasks(self, tasks: Iterable[tuple[asyncio.Task[Any], Actor | None, str]]) -> None:
        """Reports the tasks that a reconcile started without waiting for them: they would be lost if the process
        restarted.
        """
        for task, actor, place in tasks:
            if not task.done() and actor is not None and actor.state == "running":
                self.report(
                    "error",
                    place,
                    f"a reconcile started a task that it never awaited: {place}; await the task before the "
                    f"reconcile returns",
                )

    # -- errors --------------------------------------------------------------------------------------------------------

    def report_exception(self, doing: str, problem: BaseException) -> None:
        """Judges an exception from a user's function. Errors in the program are findings; errors that the world causes
        are not.
        """
        if isinstance(problem, BaseExceptionGroup):
            for inner in problem.exceptions:
                self.report_exception(doing, inner)
            return
        if isinstance(problem, BUGS) and (place := find_line_of_bug(problem)):
            text = f"{type(problem).__name__}: {problem}"
            self.report("error", place, f"{text} at {place}, {doing}")


def _leaves(value: Any, path: str = "") -> Counter[str]:
    """The parts of a plain value, each with the number of times that it occurs: the paths of the names in mappings, and
    the items of lists with the path of the list.
    """
    leaves: Counter[str] = Counter()
    if isinstance(value, dict):
        for key, item in value.items():
            place = f"{path}.{key}" if path else key
            leaves[place] += 1
            leaves += _leaves(item, place)
    elif isinstance(value, list):
        leaves.update(f"{path}: {msgspec.json.encode(item).decode()}" for item in value)
    return leaves


def _content(value: bytes) -> bytes:
    document = msgspec.json.decode(value)
    plain = make_snapshot({("x", "x"): document}, {}, since=-1)
    return blake2b(msgspec.json.encode(plain, order="sorted"), digest_size=8).digest()


def _author_of(entry: Entry) -> tuple[str, str]:
    """The author of a change, and the line of the user's code: the controller, and the object that the reconcile is for
    if that is not the changed one; outside of reconciles, the process.
    """
    context, place = current.get(), Path(find_line_of_call()).name
    if context is None:
        return entry.author, place
    of = "" if context.object.uid == entry.uid else f" for {type(context.object).__name__} {context.object.key}"
    return f"controller {context.controller}{of}", place


def describe_author(entry: Entry) -> str:
    """The author of the change that is being made, and the line of the user's code, as text."""
    return " at ".join(filter(None, _author_of(entry)))


def _is_note(entry: Entry) -> bool:
    """Whether only status or metadata have changed: controllers may note there which version they have seen."""
    if entry.previous is None or entry.type != "MODIFIED":
        return False
    before, after = (msgspec.json.decode(value) for value in (entry.previous, entry.value))
    return all(before.get(part) == after.get(part) for part in {*before, *after} - {"status", "metadata"})


def _text_of(entry: Entry) -> str:
    """The author of a change, and the fields that were changed."""
    text = f"{entry.type.lower()} by {describe_author(entry)}"
    diff = "" if entry.type == "DELETED" else describe_diff(entry.previous, entry.value)
    return f"{text} ({diff})" if diff else text
