"""State: the current objects, in a form that makes the states of two runs comparable."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from setpoint.simulation.history import label_of
from setpoint.simulation.identities import StandIns

JSON = Any
Snapshot = dict[str, list[JSON]]
"""The objects by ``collection label``. A label has several objects if the server generated their names."""
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_DROPPED: Final = frozenset(
    {
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "managedFields",
        "generation",
        "selfLink",
        "deletionGracePeriodSeconds",
    }
)
TIME: Final = "<time>"
_REVISIONS: Final = (
    "deployment.kubernetes.io/revision",
    "deployment.kubernetes.io/revision-history",
    "deprecated.daemonset.template.generation",
)
_SETS: Final = "statefulsets.apps "
_RECORDS: Final = ("jobs.batch",)
"""Collections whose objects remain as records of work that was done once."""


class Difference(NamedTuple):
    """A field whose value differs from that in the undisturbed run. If ``path`` is empty, the whole object differs."""

    subject: str
    path: str
    expected: JSON
    found: JSON

    @property
    def is_more(self) -> bool:
        """Whether there are more objects with this label, or there is more of an external system's state, than
        expected.
        """
        counts = type(self.expected) is type(self.found) is int
        if counts and (not self.path or self.subject.startswith("external ")):
            return bool(self.found > self.expected)
        if self.subject.startswith("external ") and isinstance(self.expected, list):
            return isinstance(self.found, list) and all(item in self.found for item in self.expected)
        return self.expected == ABSENT and (not self.path or self.subject.startswith("external "))

    @property
    def is_less(self) -> bool:
        """Whether there are fewer objects with this label than expected."""
        if not self.path and isinstance(self.expected, int):
            return bool(self.found < self.expected)
        return not self.path and self.found == ABSENT

    def is_ended(self, ended: Collection[str]) -> bool:
        """Whether only one run has a condition that the control plane had set from True to False (it is in ``ended``).
        In the other run, the control plane came too late to see the passing state.
        """
        there = self.expected if self.found == ABSENT else self.found if self.expected == ABSENT else None
        return isinstance(there, dict) and there.get("status") == "False" and f"{self.subject} {self.path}" in ended

    @property
    def mask(self) -> str:
        """The mask that excludes this field from comparison in all objects of the kind or, if the whole object differs,
        the object.
        """
        if not self.path:
            return whole(self.subject)
        return f"{self.subject.partition(' ')[0]} {generic(self.path)}"

    @property
    def place(self) -> str:
        """The object, and the field in it."""
        return f"{self.subject}: {self.path}" if self.path else self.subject

    def __str__(self) -> str:
        return f"{self.place} is {told_value(self.found)}, expected {told_value(self.expected)}"


ABSENT: Final = "<absent>"


def snapshot(
    documents: Mapping[tuple[str, str], dict[str, JSON]],
    called: Mapping[str, str],
    *,
    since: int,
    outside: Mapping[str, JSON] | None = None,
    starred: Callable[[str], str] = str,
) -> Snapshot:
    """The objects that were written after the revision ``since``, and the states of external systems (``outside``).

    Values that differ between any two runs are left out (the object's own uid, version and generation, for example) or
    replaced: uids and addresses by the names of their objects, generated names by their prefixes, and times by
    ``<time>``. Objects that only keep an earlier desired state, such as old ReplicaSets, are left out. The data of
    Secrets are decoded where they are text. ``starred`` replaces the random parts of names.
    """
    stand_ins = StandIns(documents, called, starred)
    found: Snapshot = {}
    for (collection, _), document in sorted(documents.items(), key=lambda item: item[0]):
        meta = document.get("metadata", {})
        if int(meta.get("resourceVersion", 0)) <= since:
            continue
        if _is_history(collection, document):
            continue
        label = starred(label_of(meta.get("namespace", ""), meta.get("name", ""), meta.get("generateName", "")))
        if collection == "secrets" and isinstance(data := document.get("data"), dict):
            document = {**document, "data": {name: _decoded(value) for name, value in data.items()}}
        found.setdefault(f"{collection} {stand_ins.text(label)}", []).append(_plain(document, stand_ins))
    for name, state in (outside or {}).items():
        found[f"external {name}"] = [_walk(plain_values(state), stand_ins, None)]
    return in_order(found)


def in_order(snapshot: Snapshot) -> Snapshot:
    """The snapshot with the objects of each label in an order that depends on nothing but their content."""
    for items in snapshot.values():
        if len(items) > 1:
            items.sort(key=lambda item: msgspec.json.encode(item, order="sorted"))
    return snapshot


def _decoded(value: JSON) -> JSON:
    """The text that base64 stands for; ``value`` itself if it does not stand for a text."""
    try:
        return base64.b64decode(value, validate=True).decode()
    except (TypeError, ValueError):
        return value


def _is_history(collection: str, document: dict[str, JSON]) -> bool:
    """Whether the control plane keeps the object for an earlier desired state. The number of such objects depends on
    how long each desired state lasted.
    """
    if collection == "replicasets.apps":
        return bool(document["metadata"].get("ownerReferences")) and not document.get("spec", {}).get("replicas", 1)
    return collection == "controllerrevisions.apps"


def records(way: Snapshot, direct: Snapshot) -> frozenset[str]:
    """The objects in ``way`` but not in ``direct`` that only record the past: Jobs and the objects that they own, the
    claims that a StatefulSet left behind when it was scaled down, and the volumes bound to these claims.

    ``way`` is the state after several changes, and ``direct`` is the state after asking for the final objects in one
    step.
    """
    found = {each for each in way if each not in direct and each.startswith(_RECORDS)}
    owners = {f"<uid of {each}>" for each in found}
    sets = [
        (*each.partition(" ")[2].rpartition("/"), items[0]) for each, items in way.items() if each.startswith(_SETS)
    ]
    for subject, items in way.items():
        references = [ref for item in items for ref in item.get("metadata", {}).get("ownerReferences", ())]
        if subject not in direct and any(ref.get("uid") in owners for ref in references):
            found.add(subject)
        collection, _, label = subject.partition(" ")
        if collection == "persistentvolumeclaims" and subject not in direct:
            space, _, name = label.rpartition("/")
            if any(space == one and _claims(name, called, document) for one, _, called, document in sets):
                found.add(subject)
    claims = {f"<uid of {each}>" for each in found if each.startswith("persistentvolumeclaims ")}
    for subject, items in way.items():
        if subject.startswith("persistentvolumes ") and subject not in direct:
            bound = [(item.get("spec", {}).get("claimRef") or {}).get("uid") for item in items]
            if bound and all(uid in claims for uid in bound):
                found.add(subject)
    return frozenset(found)


def _claims(name: str, called: str, stateful_set: JSON) -> bool:
    """Whether a claim for one of the pods of the StatefulSet ``called`` could have the name ``name``, however many pods
    there are.
    """
    templates = stateful_set.get("spec", {}).get("volumeClaimTemplates", ())
    begins = [f"{each['metadata']['name']}-{called}-" for each in templates]
    return any(name.startswith(begin) and name[len(begin) :].isdecimal() for begin in begins)


def _plain(document: dict[str, JSON], stand_ins: StandIns) -> JSON:
    meta = document.get("metadata", {})
    generation = meta.get("generation")
    kept = {name: value for name, value in meta.items() if name not in _DROPPED}
    if isinstance(finalizers := kept.get("finalizers"), list):
        kept["finalizers"] = sorted(finalizers, key=str)  # a set: API servers promise no order
    if any(name in meta.get("annotations", ()) for name in _REVISIONS):
        kept["annotations"] = {name: value for name, value in meta["annotations"].items() if name not in _REVISIONS}
    return _walk({**document, "metadata": kept}, stand_ins, generation)


def _walk(value: JSON, stand_ins: StandIns, generation: int | None) -> JSON:
    if isinstance(value, dict):
        found: dict[str, JSON] = {}
        for key, item in value.items():
            name = stand_ins.text(key)
            while name in found:  # the uids of several predecessors have the same words
                name += " again"
            if key == "observedGeneration" and generation is not None and isinstance(item, int):
                found[name] = f"{generation - item} behind"
            else:
                found[name] = stand_ins.port(item) if key == "nodePort" else _walk(item, stand_ins, generation)
        return found
    if isinstance(value, list):
        return [_walk(item, stand_ins, generation) for item in value]
    if isinstance(value, str):
        if len(value) >= 20 and _TIME.fullmatch(value):
            return TIME
        return stand_ins.text(value)
    return value


def plain_values(value: JSON) -> JSON:
    """An external system's state as JSON. Keys, bytes, times, decimals and UUIDs become text, and sets become sorted
    lists. Other objects become mappings of their attributes or, if they have none, the names of their types.
    """
    if isinstance(value, Mapping):
        return {str(key): plain_values(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((plain_values(item) for item in value), key=repr)
    if isinstance(value, (list, tuple)):
        return [plain_values(item) for item in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    attributes = getattr(value, "__dict__", None)
    if isinstance(attributes, dict):
        return plain_values(attributes)
    try:
        return plain_values(msgspec.to_builtins(value, str_keys=True))
    except TypeError:
        return type(value).__name__


def differences(expected: Snapshot, found: Snapshot, masks: frozenset[str] = frozenset()) -> list[Difference]:
    """The differences between ``expected`` and ``found``, except in masked fields."""
    result: list[Difference] = []
    for subject in sorted({*expected, *found}):
        ours, theirs = expected.get(subject, []), found.get(subject, [])
        if len(ours) != len(theirs):
            one = len(ours) <= 1 and len(theirs) <= 1
            result.append(
                Difference(
                    subject,
                    "",
                    ("present" if ours else ABSENT) if one else len(ours),
                    ("present" if theirs else ABSENT) if one else len(theirs),
                )
            )
            continue
        kind = subject.partition(" ")[0]
        for one_of_ours, one_of_theirs in zip(ours, theirs, strict=True):
            for path, wanted, got in differing(one_of_ours, one_of_theirs, ""):
                difference = Difference(subject, path, wanted, got)
                if not is_masked(kind, path, masks):
                    result.append(difference)
    return [each for each in result if each.path or not is_masked_whole(each.subject, masks)]


def completed(state: Snapshot, other: Snapshot, initial: Snapshot, there: Sequence[Mapping[str, int]]) -> Snapshot:
    """``state`` plus the objects of ``other`` that existed before the run (``initial``) and still exist at its end (the
    last entry of ``there``). The run's own snapshots lack them because it never changed them.
    """
    alive = there[-1] if there else {}
    return {**{name: initial[name] for name in other if name in initial and alive.get(name)}, **state}


def whole(subject: str) -> str:
    """The mask of a whole object, whether or not it exists (or of all objects of a kind, if it is the kind's)."""
    return f"{subject} "


def is_masked_whole(subject: str, masks: Collection[str]) -> bool:
    """Whether it does not matter if the object exists: it is masked itself, or its kind is."""
    return whole(subject) in masks or whole(subject.partition(" ")[0]) in masks


def is_masked(kind: str, path: str, masks: frozenset[str]) -> bool:
    """Whether the field, or a field or list that contains it, is masked."""
    parts = generic(path).split(".")
    wholes = [f"{kind} {'.'.join(parts[:length])}" for length in range(1, len(parts) + 1)]
    return any(whole in masks or whole.removesuffix("[]") in masks for whole in wholes)


def generic(path: str) -> str:
    """The path without the indexes of list items."""
    return re.sub(r"\[\d+\]", "[]", path)


def _says_nothing(path: str, value: JSON) -> bool:
    """Whether readers of a status can't tell the value from a missing one: many controllers write an empty value only
    where there was something before.
    """
    return path.startswith("status.") and value in ("", [], {}, None)


def differing(wanted: JSON, got: JSON, path: str = "") -> Iterator[tuple[str, JSON, JSON]]:
    """The path of each field in which two plain values differ, and both of its values."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        for key in [*wanted, *(key for key in got if key not in wanted)]:
            place = f"{path}.{key}" if path else key
            if key not in got:
                if not _says_nothing(place, wanted[key]):
                    yield place, wanted[key], ABSENT
            elif key not in wanted:
                if not _says_nothing(place, got[key]):
                    yield place, ABSENT, got[key]
            else:
                yield from differing(wanted[key], got[key], place)
    elif isinstance(wanted, list) and isinstance(got, list):
        if all(isinstance(item, dict) and "type" in item for item in (*wanted, *got)):
            # Conditions and the like: by their key, not their place.
            yield from differing({item["type"]: item for item in wanted}, {item["type"]: item for item in got}, path)
        elif len(wanted) != len(got):
            yield path, wanted, got
        else:
            for place, (one, other) in enumerate(zip(wanted, got, strict=True)):
                yield from differing(one, other, f"{path}[{place}]")
    elif wanted != got or type(wanted) is not type(got):
        yield path, wanted, got


def counted(subjects: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for subject in subjects:
        found[subject] = found.get(subject, 0) + 1
    return found


def told_value(value: JSON, most: int = 100) -> str:
    """The value as text of at most so many characters."""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= most else f"{text[: most - 3]}..."
