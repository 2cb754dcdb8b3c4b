"""Path independence: checks that the same desired state leads to the same result, whatever steps the user took."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from setpoint.meta import Quantity
from setpoint.simulation.comparison.differences import ABSENT, Difference, find_differences, format_value
from setpoint.simulation.comparison.ended_work import find_changed_after_end, find_ended_in_one
from setpoint.simulation.comparison.name_equivalence import (
    differences_after_swap,
    find_alternations,
    rename_counted_names,
    split_words,
)
from setpoint.simulation.comparison.revision_histories import without_histories
from setpoint.simulation.comparison.snapshot import TIME, Snapshot, add_unchanged, find_records
from setpoint.simulation.scenario.desired_state import HELD, read_desired
from setpoint.simulation.trace.result import Finding, Result

if TYPE_CHECKING:
    from setpoint.simulation.oracles.differential import Reference


def compare_steps(baseline: Result, reference: Reference) -> list[Finding]:
    """At most one finding, about the first step that shows a trace of a change that users have taken back: at its end,
    users ask for the same objects as at the end of an earlier step, but the actual state differs.
    """
    first: dict[str, int] = {}
    desired_states = baseline.desired_states
    for step, desired in enumerate(desired_states):
        if step + 1 < len(desired_states) and desired_states[step + 1] == desired:
            continue  # the user only waits: work that is still under way then is not a trace of another desired state
        earlier = first.setdefault(desired, step)
        if earlier == step:
            continue
        traces = _Traces(baseline, step, reference, reference.passing_masks)
        states = _rests(baseline, earlier, step)
        for difference in traces.between(*states):
            if work := find_ended_in_one(*states):
                ended = f"{work} ended in only one of them"
                reference.notes.append(_explain_ended(f"after the steps {earlier} and {step}", ended, difference))
                break
            return [
                Finding(
                    "paths",
                    difference.subject,
                    f"the desired state after step {step} is the same as after step {earlier}, but "
                    f"{difference.place} was "
                    f"{format_value(difference.expected)} after step {earlier}, and is "
                    f"{format_value(difference.actual)} after step "
                    f"{step}{_intended(difference)}",
                    difference.expected,
                    difference.actual,
                    step=step,
                )
            ]
    return []


def compare_speeds(reference: Reference, slow: Result) -> list[Finding]:
    """At most one finding, about the first part of an external system that is another one in the end if users take
    more time (``slow``) than in the ``reference``.
    """
    for difference in reference.outside(slow):
        part = re.split(r"[.\[]", difference.path, maxsplit=1)[0]
        return [
            Finding(
                "paths",
                difference.subject,
                f"{difference.subject}: {difference.path} depends on how long users wait: it is "
                f"{format_value(difference.expected)} without waits, and {format_value(difference.actual)} with a "
                f"wait after "
                f"each step"
                f' (if it may depend on that, give the reason in ignore={{"external {part}": ...}})',
                difference.expected,
                difference.actual,
            )
        ]
    return []


def list_direct_objects(baseline: Result) -> tuple[dict[str, Any], ...]:
    """The objects that users ask for at the end; empty if the scenario asks for all of them in one step, or if users
    have deleted an object and still hold it then.
    """
    if len(set(baseline.desired_states)) <= 2 or not baseline.desired_objects:
        return ()
    if any(document == HELD for _, document in msgspec.json.decode(baseline.desired_states[-1])):
        return ()
    return tuple(baseline.desired_objects)


def find_first_rest(baseline: Result) -> Snapshot:
    """The state at the end of the first step after which users ask for the same as at the end."""
    desired_states = baseline.desired_states
    if not desired_states or not baseline.rest_states:
        return {}
    return baseline.rest_states[desired_states.index(desired_states[-1])]


def allow_paths(baseline: Result, direct: Result, reference: Reference) -> None:
    """Notes in ``reference`` the objects and fields that depend on the path: those that differ in ``direct``, a run in
    which users ask for the final state in one step.
    """
    differences = find_differences(
        add_unchanged(baseline.end, direct.end, baseline.initial, baseline.object_counts),
        add_unchanged(direct.end, baseline.end, baseline.initial, direct.object_counts),
        reference.masks,
    )
    reference.records = find_records(baseline.end, direct.end)
    reference.path_objects = frozenset(difference.subject for difference in differences if not difference.path)
    reference.path_masks = frozenset(difference.mask for difference in differences)
    reference.least = direct.end
    reference.allow(direct)


def compare_with_direct(baseline: Result, direct: Result, reference: Reference) -> list[Finding]:
    """At most one finding, about the first difference from ``direct``, a run in which users ask for the final state in
    one step. If the states do not differ, ``reference`` is changed to allow what may depend on the path (counters,
    times, names, and the numbers of creations and deletions), since a fault may hide some of the user's changes.
    """
    reference.records = find_records(baseline.end, direct.end)
    traces = _Traces(baseline, len(baseline.rest_states) - 1, reference)
    states = _ends(baseline, direct)
    differences = traces.between(*states)
    if differences and (ended := _explain_ended_work(baseline, *states)):
        allow_paths(baseline, direct, reference)
        reference.notes.append(_explain_ended("after all changes and in one step", ended, differences[0]))
        return []
    if not differences:
        reference.masks |= traces.harmless
        reference.alternates = traces.alternates
        reference.least = direct.end
        reference.allow(direct)
    return [
        Finding(
            "paths",
            difference.subject,
            f"{difference.place} is {format_value(difference.actual)} after all changes, but "
            f"{format_value(difference.expected)} if the "
            f"user creates the final objects in one step{_intended(difference)}",
            difference.expected,
            difference.actual,
        )
        for difference in differences[:1]
    ]


def _intended(difference: Difference) -> str:
    place = difference.mask.rstrip()
    return f' (this is right for work that is kept once it was done; if so, say why: ignore={{"{place}": "..."}})'


def _explain_ended_work(baseline: Result, expected: Snapshot, actual: Snapshot) -> str:
    """The reason why ended work makes two ends different; ``""`` if it does not."""
    if work := find_ended_in_one(expected, actual):
        return f"{work} ended in only one of them"
    steps = [read_desired(text) for text in baseline.desired_states]
    if work := find_changed_after_end(baseline.rest_states, steps):
        return f"{work} had ended before users changed it, and its status has stayed the same since"
    return ""


def _explain_ended(states: str, ended: str, difference: Difference) -> str:
    return f"the states {states} were not compared: {ended}; {difference.place} differs"


def ends_agree(baseline: Result, other: Result, reference: Reference, subject: str) -> bool:
    """Whether two runs without faults end alike, as far as the object or the external system ``subject`` goes."""
    differences = _Traces(baseline, len(baseline.rest_states) - 1, reference).between(*_ends(baseline, other))
    return not any(difference.subject == subject for difference in differences)


def _ends(baseline: Result, direct: Result) -> tuple[Snapshot, Snapshot]:
    return (
        add_unchanged(direct.end, baseline.end, baseline.initial, direct.object_counts),
        add_unchanged(baseline.end, direct.end, baseline.initial, baseline.object_counts),
    )


def _rests(baseline: Result, earlier: int, later: int) -> tuple[Snapshot, Snapshot]:
    """The states at the ends of two steps. An object that only one of the states has is added to the other state if it
    existed before the run and at the end of that state's step.
    """
    earlier_state, later_state = baseline.rest_states[earlier], baseline.rest_states[later]
    return (
        add_unchanged(earlier_state, later_state, baseline.initial, baseline.object_counts[: earlier + 1]),
        add_unchanged(later_state, earlier_state, baseline.initial, baseline.object_counts[: later + 1]),
    )


class _Traces:
    """Looks for traces of earlier desired states in the state at the end of a step.

    The following are not traces: records of past actions and their times, counters of changes, lists of what happened
    when, the sizes of volumes that have been larger, values from a pool that other objects held before, users' objects
    that the garbage collector deleted with their owner, names that alternate (blue and green, numbers of revisions),
    names that external systems made by counting, entries of external systems that nothing can remove, and objects that
    the control plane makes for the whole cluster when they are first needed (a default storage class).
    """

    def __init__(self, baseline: Result, step: int, reference: Reference, masks: frozenset[str] = frozenset()) -> None:
        self._baseline = baseline
        self._masks = reference.masks | masks
        self._logs = reference.logs
        self._exchanges = reference.exchanges
        self._come_and_go = len({tuple(paths) for paths in baseline.desired_paths if paths}) > 1
        """Whether users' objects came at different times, so that each may have got what was left then."""
        desired = baseline.desired_states[step]
        passed = [*zip(baseline.rest_states[:step], baseline.desired_states[:step], strict=True)]
        self._before = [rest for rest, earlier in passed if earlier != desired]
        self._desired, self._passed = desired, passed
        self.harmless: frozenset[str] = frozenset()
        """The fields that hold times, counters, lists of what happened, or the sizes of volumes."""
        self.alternates = False

    def between(self, expected: Snapshot, actual: Snapshot) -> list[Difference]:
        expected, actual = without_histories(expected, actual)
        differences = self._between(expected, actual)
        if differences and (renamed := rename_counted_names(expected, actual)) is not None:
            return differences if self._between(renamed.expected, renamed.actual) else []
        if differences and self._come_and_go:
            ways = self._exchanges.of(expected, actual, differences, alike=True)
            if any(not self._between(way, actual) for _, way in ways):
                return []
        return differences

    def _between(self, expected: Snapshot, actual: Snapshot) -> list[Difference]:
        records = find_records(actual, expected)
        differences = []
        for difference in find_differences(expected, actual, self._masks):
            if difference.subject in records or (difference.is_less and difference.subject in self._baseline.collected):
                continue
            if (difference.is_more and difference.subject in self._baseline.provided) or difference.is_ended(
                self._baseline.ended
            ):
                continue
            if self._logs.has_more(difference, expected, actual):
                continue
            if (
                _is_moment(difference)
                or self._counts(difference)
                or _only_grows(difference)
                or _is_kept(difference, actual)
            ):
                if not difference.subject.startswith("external "):
                    self.harmless |= {difference.mask}
            elif self._is_log(
                whole := difference._replace(path=difference.path.partition("[")[0]), actual
            ) or _is_revisions(whole, actual, expected):
                self.harmless |= {whole.mask}
            else:
                differences.append(difference)
        words = {
            old: new
            for old, new in find_alternations(differences).items()
            if not (old.isdecimal() and new.isdecimal())
            or self._is_fresh(differences, new)
            or self._is_fresh(differences, old)
        }
        if words and not [
            difference
            for difference in differences_after_swap(expected, actual, words, self._masks)
            if difference.subject not in records
        ]:
            self.alternates = True
            return []
        derived = {*self._baseline.dependents, *self._baseline.provided}  # what the control plane makes of the others
        return sorted(differences, key=lambda difference: difference.subject in derived)

    def _is_fresh(self, differences: list[Difference], number: str) -> bool:
        """Whether the number is in the name of a new object, and no object had that name at the end of an earlier step
        with a different desired state. Otherwise it is not the number of a revision.
        """
        named = [
            difference.subject
            for difference in differences
            if difference.is_more and number in split_words(difference.subject)
        ]
        return bool(named) and not any(name in rest for rest in self._before for name in named)

    def _earlier(self, subject: str) -> list[Snapshot]:
        """The states at the ends of earlier steps with a different desired state: of the object itself, if users ask
        for it, since the last change may be one of another object.
        """
        desired = read_desired(self._desired)
        if subject not in desired:
            return self._before
        return [rest for rest, earlier in self._passed if read_desired(earlier).get(subject) != desired[subject]]

    def _counts(self, difference: Difference) -> bool:
        """Whether the difference is in a counter of changes: its number is larger than the expected one and than at the
        end of each earlier step with a different desired state. For an external system, it only has to be larger than
        expected.
        """
        if (
            difference.subject.startswith("external ")
            and isinstance(difference.expected, int)
            and isinstance(difference.actual, int)
        ):
            return difference.actual > difference.expected
        if not difference.path.startswith(("status.", "metadata.annotations.")) or not _is_plain(difference):
            return False
        if difference.path.startswith("status.") and not (type(difference.expected) is type(difference.actual) is int):
            return False
        if not (str(difference.expected).isdecimal() and str(difference.actual).isdecimal()):
            return False
        rests = self._earlier(difference.subject)
        before = [int(value) for rest in rests if str(value := _value(rest, difference)).isdecimal()]
        return bool(before) and max(before) < int(difference.actual) > int(difference.expected)

    def _is_log(self, difference: Difference, actual: Snapshot) -> bool:
        """Whether the difference is in a list of what happened when, to which the last change has added entries: all
        entries of such a list have times, and old entries may have been dropped.
        """
        rests = self._earlier(difference.subject)
        now, *before = (_value(rest, difference) for rest in (actual, *reversed(rests)))
        old = next((value for value in before if isinstance(value, list)), [])
        if not (difference.path.startswith("status.") and isinstance(now, list) and all(map(_has_time, (*old, *now)))):
            return False
        sizes = range(1, len(now))
        return any(now[:size] == old[-size:] or now[-size:] == old[:size] for size in sizes)


def _is_kept(difference: Difference, actual: Snapshot) -> bool:
    """Whether the difference is in an annotation of a Deployment's ReplicaSet: the control plane copies those of the
    Deployment, and takes none away.
    """
    if not difference.subject.startswith("replicasets.apps ") or difference.expected != ABSENT:
        return False
    owners = [
        ref
        for item in actual.get(difference.subject, ())
        for ref in item.get("metadata", {}).get("ownerReferences", ())
    ]
    return difference.path.startswith("metadata.annotations") and any(ref.get("kind") == "Deployment" for ref in owners)


def _is_revisions(difference: Difference, actual: Snapshot, expected: Snapshot) -> bool:
    """Whether the difference is in a list of revisions, one for each of the user's changes: its entries are numbered,
    and the newest is the same except for its number.
    """
    now, direct = _value(actual, difference), _value(expected, difference)
    if not (difference.path.startswith("status.") and isinstance(now, list) and isinstance(direct, list) and direct):
        return False
    number = _number_of(now)
    if not number or len(now) <= len(direct) or not isinstance(direct[-1], dict):
        return False
    return {**now[-1], number: 0} == {**direct[-1], number: 0}


def _number_of(entries: list[Any]) -> str:
    """The name of the value that numbers the entries, each by one more than the one before; ``""`` if there is none."""
    if not all(isinstance(entry, dict) for entry in entries):
        return ""
    for name in entries[0]:
        numbers = [entry.get(name) for entry in entries]
        if all(type(before) is type(after) is int and after == before + 1 for before, after in pairwise(numbers)):
            return str(name)
    return ""


def _is_moment(difference: Difference) -> bool:
    return (
        _is_plain(difference)
        and difference.path.startswith("status.")
        and {difference.expected, difference.actual} == {TIME, ABSENT}
    )


def _has_time(entry: Any) -> bool:
    return isinstance(entry, dict) and TIME in entry.values()


def _only_grows(difference: Difference) -> bool:
    """Whether the difference is in the size of a volume: a request for storage can be made larger, never smaller."""
    volumes = difference.subject.startswith(("persistentvolumeclaims ", "persistentvolumes "))
    if not volumes or not difference.path.endswith(".storage") or ABSENT in (difference.expected, difference.actual):
        return False
    return Quantity(difference.actual) > Quantity(difference.expected)  # the server has checked that both are sizes


def _is_plain(difference: Difference) -> bool:
    return isinstance(difference.expected, (str, int)) and isinstance(difference.actual, (str, int))


def _value(rest: Snapshot, difference: Difference) -> Any:
    items = rest.get(difference.subject, [])
    value: Any = items[0] if len(items) == 1 else None
    first, _, name = (
        difference.path.partition("metadata.annotations.") if "annotations" in difference.path else ("", "", "")
    )
    parts = ["metadata", "annotations", name] if name and not first else difference.path.split(".")
    for part in parts:
        value = value.get(part) if isinstance(value, dict) else None
    return value
