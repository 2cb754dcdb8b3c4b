"""Differential oracle: judges a run by comparing it with the undisturbed ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from setpoint.simulation.comparison.allocated_values import AllocatedValues, Permutation, make_replacer
from setpoint.simulation.comparison.differences import (
    Difference,
    find_differences,
    is_masked_whole,
    mask_of_object,
)
from setpoint.simulation.comparison.ended_work import find_unscheduled_ends, find_work
from setpoint.simulation.comparison.name_equivalence import (
    differences_after_swap,
    find_alternations,
    rename_counted_names,
)
from setpoint.simulation.comparison.revision_histories import without_histories
from setpoint.simulation.comparison.snapshot import Snapshot, add_unchanged
from setpoint.simulation.faults.plan import Fault, Plan
from setpoint.simulation.oracles.append_only_logs import AppendOnlyLogs
from setpoint.simulation.scenario.desired_state import subject_of
from setpoint.simulation.trace.result import Finding, Result

_UNANSWERED: Final = ("lost-answer", "late-write", "slow-answer", "slow-request")


@dataclass
class Reference:
    """The results of undisturbed runs, with which all other results must agree."""

    baseline: Result
    others: list[Result]
    ignore: Mapping[str, str] = field(default_factory=dict)
    off: Mapping[str, str] = field(default_factory=dict)
    logs: AppendOnlyLogs = field(default_factory=AppendOnlyLogs)

    records: frozenset[str] = frozenset()
    """Objects that are records of earlier desired states. Whether they exist depends on how long each state
    was desired.
    """

    path_masks: frozenset[str] = frozenset()
    path_objects: frozenset[str] = frozenset()
    """With the oracle ``paths`` switched off, the objects (here) and the masks of fields (in ``path_masks``) that
    depend on the order of the user's changes. They are not compared if a fault may hide some of these changes.
    """

    least: Snapshot | None = None
    """The end of the run in which users ask for the final state at once, or the state at the end of the first step in
    which they ask for it: what logs have to contain even if a fault hides some of the user's changes. None if
    neither is known.
    """

    alternates: bool = False
    """Whether names depend on the number of changes that the controller saw, as in blue-green deployments."""

    notes: list[str] = field(default_factory=list)
    """Sentences about states that are not compared."""

    def __post_init__(self) -> None:
        masks = {*self.ignore, *map(mask_of_object, self.ignore)}
        self.created, self.deleted = dict(self.baseline.created), dict(self.baseline.deleted)
        last = self.baseline.object_counts[-1] if self.baseline.object_counts else {}
        self.passing = frozenset(
            subject for subject in last if subject in self.deleted and subject not in self.baseline.end
        )
        """Objects that disappear by themselves some time after the user's last step. A fault may shorten that time."""
        desired = {subject_of(path) for paths in self.baseline.desired_paths for path in paths}
        self.exchanges = AllocatedValues(self.baseline.rest_states, desired)
        at_rest: set[str] = set()
        for other in self.others:
            masks |= self._learned(self.baseline.end, other.end)
            for ours, theirs in zip(self.baseline.rest_states, other.rest_states, strict=False):
                at_rest |= self._learned(ours, theirs)
            self.allow(other)
        self.masks = frozenset(masks)
        """Fields that are never compared, and objects that exist by chance."""
        self.passing_masks = frozenset(at_rest)
        """Fields and objects that are not compared at the ends of steps: they change with time, and are the same in all
        runs without faults when the scenario has been over for a while. These objects are not counted either.
        """
        self.repeated = _find_repeated_work(self.baseline.rest_states)
        """Work that was done for a desired state to which users have come back: where a fault hides what they asked for
        in between, it need not be done again.
        """
        self.stays = self._stays()
        """The number of objects with each label that have to exist at the end of each step: the smallest number until
        users act again, since a controller may do sooner what it does later in the undisturbed run.
        """

    def _learned(self, left: Snapshot, right: Snapshot) -> frozenset[str]:
        """The masks of fields that depend on chance. Values that merely changed places are not masked."""
        differences = find_differences(left, right)
        if any(not find_differences(way, right) for _, way in self.exchanges.of(left, right, differences)):
            return frozenset()
        return frozenset(difference.mask for difference in differences)

    def outside(self, other: Result) -> list[Difference]:
        """The differences between the external systems at the ends of the undisturbed run and of ``other``."""
        ours, theirs = self.baseline.end, other.end
        differences = find_differences(ours, theirs, self.masks)
        if any(
            not find_differences(way, theirs, self.masks) for _, way in self.exchanges.of(ours, theirs, differences)
        ):
            return []
        if (renamed := rename_counted_names(ours, theirs)) is not None:
            differences = find_differences(renamed.expected, renamed.actual, self.masks)
            differences = [difference for difference in differences if not renamed.is_counter(difference)]
        return [difference for difference in differences if difference.subject.startswith("external ")]

    def _stays(self) -> tuple[dict[str, int], ...]:
        least: list[dict[str, int]] = []
        for step, counts in reversed([*enumerate(self.baseline.object_counts)]):
            if least and step + 1 not in self.baseline.active_steps:
                counts = {label: min(number, least[-1].get(label, 0)) for label, number in counts.items()}
            least.append(counts)
        return tuple(reversed(least))

    def allow(self, other: Result) -> None:
        """Allows as many creations and deletions of each object as there were in ``other``, a run without faults."""
        for allowed, counts in ((self.created, other.created), (self.deleted, other.deleted)):
            for subject, number in counts.items():
                allowed[subject] = max(allowed.get(subject, 0), number)

    def follow(self, whole: Reference) -> None:
        """Also excuses what ``whole`` does, the reference of the whole scenario of which this is the beginning: what
        depends on the way may show only in later steps.
        """
        self.masks |= whole.masks
        self.passing_masks |= whole.passing_masks
        self.records |= whole.records
        self.path_masks |= whole.path_masks
        self.path_objects |= whole.path_objects
        self.alternates |= whole.alternates
        self.least = None if whole.least is None else {}  # that of the whole scenario is about later desired states

    def judge(self, plan: Plan, result: Result) -> list[Finding]:
        """The findings about a disturbed run, except those that the undisturbed run has, too."""
        expected_findings = {finding.identity for finding in self.baseline.findings}
        findings = [finding for finding in result.findings if finding.identity not in expected_findings]
        if result.cut or any(finding.oracle in ("hang", "scenario") for finding in findings):
            return self._enabled(findings)
        differing, ways = self._compare(result, less=plan.starts_stale, hides=plan.hides_changes)
        counts = [list(self._counts(plan, result, exchange)) for exchange in ways]
        return self._enabled([*findings, *differing, *min(counts, key=len)])

    def _compare(self, result: Result, *, less: bool, hides: bool) -> tuple[list[Finding], list[Permutation]]:
        """A finding for every object that differs from the undisturbed run, and the exchanges after which it may be
        compared with that: if objects have only got each other's values, there are several, and no finding. With
        ``less``, additional objects are not findings; with ``hides``, neither are differences that depend on which of
        the users' changes the controller has seen.
        """
        initial, object_counts = self.baseline.initial, self.baseline.object_counts
        expected = add_unchanged(self.baseline.end, result.end, initial, object_counts)
        actual = add_unchanged(result.end, self.baseline.end, initial, result.object_counts)
        if hides:
            expected, actual = without_histories(expected, actual)
        by_subject = self._differences(result, expected, actual, less=less, hides=hides)
        if not by_subject:
            return [], [{}]
        if self.alternates or hides:
            # An additional object may stand in the place of a missing one.
            both = self._differences(result, expected, actual, less=False, hides=hides)
            differences = [difference for several in both.values() for difference in several]
            words = find_alternations(differences)
            is_free = self.alternates or self._may_alternate(result, differences, words)
            if words and is_free and not differences_after_swap(expected, actual, words, self.masks):
                return [], [{}]
        if (renamed := rename_counted_names(expected, actual)) is not None:
            others = self._differences(result, renamed.expected, renamed.actual, less=less, hides=hides)
            if all(renamed.is_counter(difference) for several in others.values() for difference in several):
                return [], [{}]
        ways = [
            exchange
            for exchange, way in self.exchanges.of(
                expected, actual, find_differences(expected, actual, self.masks), alike=hides
            )
            if not self._differences(result, way, actual, less=less, hides=hides)
        ]
        if ways:
            return [], ways
        derived = {*self.baseline.dependents, *result.dependents}  # what the control plane makes of the others
        outside_first = sorted(
            by_subject.items(), key=lambda item: (not item[0].startswith("external "), item[0] in derived)
        )
        findings = [
            Finding(
                "end state",
                subject,
                "at the end, " + "; ".join(str(difference) for difference in several[:4]),
                {difference.path: difference.expected for difference in several},
                {difference.path: difference.actual for difference in several},
            )
            for subject, several in outside_first
        ]
        return findings, [{}]

    def _may_alternate(self, result: Result, differences: Sequence[Difference], words: Mapping[str, str]) -> bool:
        """Whether the names of the missing objects are drawn in turns with those of the additional ones: these were in
        use after other changes of the users, except those that the control plane made. Numbers are drawn in turns if
        they are those of new revisions: there were no objects of the missing names for an earlier desired state.
        """
        rests, desired_states = self.baseline.rest_states, self.baseline.desired_states
        more = {difference.subject for difference in differences if difference.is_more and not difference.path}
        if not all(any(subject in rest for rest in rests) for subject in more - {*result.dependents}):
            return False
        passed = zip(rests, desired_states, strict=False)
        before = [rest for rest, desired in passed if desired != desired_states[-1]]
        missing = [difference.subject for difference in differences if difference.is_less]
        return not any(map(str.isdecimal, words)) or not any(subject in rest for subject in missing for rest in before)

    def _differences(
        self, result: Result, expected: Snapshot, actual: Snapshot, *, less: bool, hides: bool
    ) -> dict[str, list[Difference]]:
        """The differences that matter, keyed by object."""
        masks = self.masks | self.path_masks if hides else self.masks
        either_way = self.records | self.path_objects if hides else self.records
        by_subject: dict[str, list[Difference]] = {}
        # A user's object goes with its owner if that was seen in time to adopt it, and stays if not.
        either = {*self.baseline.collected, *result.collected}
        # The control plane never made the objects that it makes on demand if a fault has hidden the demand.
        either |= {*self.baseline.provided} - {*result.provided}
        ended = {*self.baseline.ended, *result.ended}
        unscheduled = find_unscheduled_ends(expected) | find_unscheduled_ends(actual)
        for difference in find_differences(expected, actual, masks):
            if (not difference.path and difference.subject in either) or difference.is_ended(ended):
                continue
            if difference.subject in unscheduled and difference.path != "status.phase":
                continue
            if hides and difference.subject in self.repeated and result.created.get(difference.subject):
                continue
            if hides and self.least is not None and self.logs.has_enough(difference, self.least, expected, actual):
                continue
            if difference.subject not in either_way and not (less and difference.is_more):
                by_subject.setdefault(difference.subject, []).append(difference)
        return by_subject

    def _counts(self, plan: Plan, result: Result, exchange: Permutation) -> Iterable[Finding]:
        """Findings about objects that were created or deleted too often. Objects that were exchanged are counted
        together.
        """
        place = make_replacer(exchange)
        if plan.starts_stale:
            # On an old view much is made that has to go again: what counts is what should have stayed, and went.
            wrong = sorted(result.wrong_deletions.items(), key=lambda item: not item[0].startswith("namespaces "))
            for subject, times in wrong:  # a namespace takes with it what is in it
                if subject in self.passing or (place(subject) != subject and self.deleted.get(place(subject))):
                    continue
                yield Finding(
                    "destroyed",
                    subject,
                    f"{subject} was deleted {_times(times)}, although it should exist, because the controller "
                    "saw an old state: lists of a server that can't stream them may be old. Before a controller "
                    "deletes, "
                    "it has to read the objects that it decides by from the server (ctx.client), or leave the "
                    "deletion to "
                    "ctx.keep",
                    0,
                    times,
                )
            return
        # A Deployment that is scaled and given another template at once adds pods to both of its ReplicaSets.
        by_control_plane = result.dependents if plan.hides_changes else ()
        user_changes = {point.name for point in self.baseline.points if point.by_user}
        is_late = any(fault.at in user_changes for fault in plan.of("lag"))
        twice = Counter(unknown for fault in plan.faults if (unknown := _unknown(fault, self.created)))
        for word, allowed, counts in (
            ("created", self.created, result.created),
            ("deleted", self.deleted, result.deleted),
        ):
            for subject, times in counts.items():
                if subject in by_control_plane or is_masked_whole(subject, self.masks | self.passing_masks):
                    continue  # the number depends on how many changes were seen as one, or on chance
                most = allowed.get(subject, 0) + twice.get(subject, 0)
                others = _circle(subject, place)
                if others and sum(counts.get(label, 0) for label in others) <= sum(
                    allowed.get(label, 0) for label in others
                ):
                    continue
                if plan.hides_changes and (word == "deleted" or _total(subject, counts) <= _total(subject, allowed)):
                    continue  # which of several objects go and come depends on the order in which changes are seen
                if is_late and times - most == result.deleted.get(subject, 0) - self.deleted.get(subject, 0):
                    continue  # it was made for what users had changed only in part, and deleted again
                if times > most and subject not in self.records:
                    message = f"{subject} was {word} {_times(times)}, but {_times(most)} without faults"
                    yield Finding("counts", subject, message, most, times)

    def _enabled(self, findings: Iterable[Finding]) -> list[Finding]:
        return [finding for finding in findings if finding.oracle not in self.off]


def _find_repeated_work(rest_states: Sequence[Snapshot]) -> frozenset[str]:
    """The Jobs, and their dependents, that are in the end as they were after an earlier step, but not in between."""
    if not rest_states:
        return frozenset()
    end = rest_states[-1]
    alike = {subject: [rest.get(subject) == end[subject] for rest in rest_states] for subject in find_work(end)}
    return frozenset(
        subject for subject, steps in alike.items() if True in steps and False in steps[steps.index(True) :]
    )


def _unknown(fault: Fault, created: Iterable[str]) -> str:
    """The objects (collection and label, one of ``created``) of a generated name of which the fault hides from the
    controller whether one was created or deleted; ``""`` if there are none. The controller may create another object
    and delete the surplus one, or choose another one to delete and replace it.
    """
    verb, _, rest = fault.at.partition(" ")
    subject = rest.rpartition(" #")[0]
    if fault.kind not in _UNANSWERED:
        return ""
    if verb == "delete":
        return next((label for label in created if label.endswith("*") and subject.startswith(label[:-1])), "")
    return subject if verb == "create" and subject.endswith("*") else ""


def _circle(subject: str, place: Callable[[str], str]) -> list[str]:
    """The objects that were exchanged with this one, and this one; empty if there was no exchange."""
    subjects, other = [subject], place(subject)
    while other not in subjects:
        subjects.append(other)
        other = place(other)
    return subjects if len(subjects) > 1 and other == subject else []


def _total(subject: str, counts: Mapping[str, int]) -> int:
    """The sum of the counts of all objects of the subject's kind."""
    kind = subject.partition(" ")[0]
    return sum(number for label, number in counts.items() if label.partition(" ")[0] == kind)


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")
