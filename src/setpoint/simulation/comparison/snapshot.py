"""Snapshot: the current objects, in a form that makes the states of two runs comparable."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from setpoint.simulation.comparison.placeholders import Placeholders
from setpoint.simulation.trace.history import label_of

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


def make_snapshot(
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
    stand_ins = Placeholders(documents, called, starred)
    state: Snapshot = {}
    for (collection, _), document in sorted(documents.items(), key=lambda item: item[0]):
        meta = document.get("metadata", {})
        if int(meta.get("resourceVersion", 0)) <= since:
            continue
        if _is_history(collection, document):
            continue
        label = starred(label_of(meta.get("namespace", ""), meta.get("name", ""), meta.get("generateName", "")))
        if collection == "secrets" and isinstance(data := document.get("data"), dict):
            document = {**document, "data": {name: _decoded(value) for name, value in data.items()}}
        if collection == "deployments.apps" and "collisionCount" in document.get("status", {}):
            # It counts ReplicaSets of earlier Deployments that were not yet gone.
            document = {**document, "status": {**document["status"]}}
            del document["status"]["collisionCount"]
        state.setdefault(f"{collection} {stand_ins.text(label)}", []).append(_plain(document, stand_ins))
    for name, attributes in (outside or {}).items():
        state[f"external {name}"] = [_walk(to_plain(attributes), stand_ins, None)]
    return sort_snapshot(state)


def sort_snapshot(snapshot: Snapshot) -> Snapshot:
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


def find_records(way: Snapshot, direct: Snapshot) -> frozenset[str]:
    """The objects in ``way`` but not in ``direct`` that only record the past: Jobs and the objects that they own, the
    claims that a StatefulSet left behind when it was scaled down, and the volumes bound to these claims.

    ``way`` is the state after several changes, and ``direct`` is the state after asking for the final objects in one
    step.
    """
    recorded = {subject for subject in way if subject not in direct and subject.startswith(_RECORDS)}
    owners = {f"<uid of {subject}>" for subject in recorded}
    sets = [
        (*subject.partition(" ")[2].rpartition("/"), items[0])
        for subject, items in way.items()
        if subject.startswith(_SETS)
    ]
    for subject, items in way.items():
        references = [ref for item in items for ref in item.get("metadata", {}).get("ownerReferences", ())]
        if subject not in direct and any(ref.get("uid") in owners for ref in references):
            recorded.add(subject)
        collection, _, label = subject.partition(" ")
        if collection == "persistentvolumeclaims" and subject not in direct:
            space, _, name = label.rpartition("/")
            if any(
                space == set_namespace and _claims(name, called, document)
                for set_namespace, _, called, document in sets
            ):
                recorded.add(subject)
    claims = {f"<uid of {subject}>" for subject in recorded if subject.startswith("persistentvolumeclaims ")}
    for subject, items in way.items():
        if subject.startswith("persistentvolumes ") and subject not in direct:
            bound = [(item.get("spec", {}).get("claimRef") or {}).get("uid") for item in items]
            if bound and all(uid in claims for uid in bound):
                recorded.add(subject)
    return frozenset(recorded)


def _claims(name: str, called: str, stateful_set: JSON) -> bool:
    """Whether a claim for one of the pods of the StatefulSet ``called`` could have the name ``name``, however many pods
    there are.
    """
    templates = stateful_set.get("spec", {}).get("volumeClaimTemplates", ())
    begins = [f"{template['metadata']['name']}-{called}-" for template in templates]
    return any(name.startswith(begin) and name[len(begin) :].isdecimal() for begin in begins)


def _plain(document: dict[str, JSON], stand_ins: Placeholders) -> JSON:
    meta = document.get("metadata", {})
    generation = meta.get("generation")
    metadata = {name: value for name, value in meta.items() if name not in _DROPPED}
    if isinstance(finalizers := metadata.get("finalizers"), list):
        metadata["finalizers"] = sorted(finalizers, key=str)  # a set: API servers promise no order
    if any(name in meta.get("annotations", ()) for name in _REVISIONS):
        metadata["annotations"] = {name: value for name, value in meta["annotations"].items() if name not in _REVISIONS}
    return _walk({**document, "metadata": metadata}, stand_ins, generation)


def _walk(value: JSON, stand_ins: Placeholders, generation: int | None) -> JSON:
    if isinstance(value, dict):
        plain: dict[str, JSON] = {}
        for key, item in value.items():
            name = stand_ins.text(key)
            while name in plain:  # the uids of several predecessors have the same words
                name += " again"
            if key == "observedGeneration" and generation is not None and isinstance(item, int):
                plain[name] = f"{generation - item} behind"
            else:
                plain[name] = stand_ins.port(item) if key == "nodePort" else _walk(item, stand_ins, generation)
        return plain
    if isinstance(value, list):
        return [_walk(item, stand_ins, generation) for item in value]
    if isinstance(value, str):
        if len(value) >= 20 and _TIME.fullmatch(value):
            return TIME
        return stand_ins.text(value)
    return value


def to_plain(value: JSON) -> JSON:
    """An external system's state as JSON. Keys, bytes, times, decimals and UUIDs become text, and sets become sorted
    lists. Other objects become mappings of their attributes or, if they have none, the names of their types.
    """
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((to_plain(item) for item in value), key=repr)
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    attributes = getattr(value, "__dict__", None)
    if isinstance(attributes, dict):
        return to_plain(attributes)
    try:
        return to_plain(msgspec.to_builtins(value, str_keys=True))
    except TypeError:
        return type(value).__name__


def add_unchanged(
    state: Snapshot, other: Snapshot, initial: Snapshot, object_counts: Sequence[Mapping[str, int]]
) -> Snapshot:
    """``state`` plus the objects of ``other`` that existed before the run (``initial``) and still exist at its end (the
    last entry of ``object_counts``). The run's own snapshots lack them because it never changed them.
    """
    alive = object_counts[-1] if object_counts else {}
    return {**{name: initial[name] for name in other if name in initial and alive.get(name)}, **state}
