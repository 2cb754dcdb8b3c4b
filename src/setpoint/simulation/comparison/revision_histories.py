"""Histories of revisions: numbered objects, of which a controller makes one for each change and keeps the last few."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from setpoint.simulation.comparison.snapshot import JSON, Snapshot

_INERT: Final = ("configmaps", "secrets")
"""Built-in kinds on which nothing in the control plane acts. Objects of other built-in kinds do something."""
_NAME: Final = ("metadata", "name")
_NAME_NUMBER: Final = re.compile(r"(?<![A-Za-z0-9])\d+(?![A-Za-z0-9])")
_NUMBER: Final = "<number of the revision>"

_Path = tuple[str, ...]
_Fields = dict[_Path, JSON]


class _Revision(NamedTuple):
    number: int
    subject: str
    item: JSON
    content: _Fields
    """The fields without the number."""
    places: list[_Path]
    """The fields that have the number."""


def without_histories(left: Snapshot, right: Snapshot) -> tuple[Snapshot, Snapshot]:
    """Both states with only the newest revision of each history, and without its number.

    A history has objects of one kind and of one owner, with the same fields. Each of them has another number, in a
    field or in its name, and another content than the one before. The newest revisions of both states are equal except
    for the number, which counts the changes that the controller has seen. Objects that own others, or on which the
    control plane acts, are not revisions.
    """
    owners = {
        str(reference.get("uid"))
        for state in (left, right)
        for items in state.values()
        for item in items
        for reference in item.get("metadata", {}).get("ownerReferences") or ()
    }
    ours, theirs = _group(left, owners), _group(right, owners)
    rest = ({**left}, {**right})
    for key in ours.keys() & theirs.keys():
        for path in sorted(ours[key][0][2]):
            histories = [_number(group[key], path) for group in (ours, theirs)]
            if not all(histories) or not _differ_in_length(*histories):
                continue
            for state, history in zip(rest, histories, strict=True):
                for revision in history:
                    state.pop(revision.subject, None)
                newest = history[-1]
                item = newest.item
                for place in newest.places:
                    if place != _NAME:
                        item = _replace(item, place, _NUMBER)
                state[newest.subject] = [item]
            break
    return rest


def _differ_in_length(ours: list[_Revision], theirs: list[_Revision]) -> bool:
    """Whether both are histories, with another number of changes but the same newest content."""
    ours_newest, theirs_newest = ours[-1], theirs[-1]
    is_same = ours_newest.number != theirs_newest.number and ours_newest.content == theirs_newest.content
    changes = [before.content != after.content for history in (ours, theirs) for before, after in pairwise(history)]
    return is_same and bool(changes) and all(changes)


def _group(state: Snapshot, owners: set[str]) -> dict[tuple[object, ...], list[tuple[str, JSON, _Fields]]]:
    """The objects that may be revisions, and their fields, by what the objects of one history have in common."""
    groups: dict[tuple[object, ...], list[tuple[str, JSON, _Fields]]] = defaultdict(list)
    for subject, items in state.items():
        kind, _, label = subject.partition(" ")
        group = kind.partition(".")[2]
        is_custom = "." in group and not group.endswith(".k8s.io")
        if f"<uid of {subject}>" in owners or not (kind in _INERT or is_custom):
            continue
        for item in items:
            references = item.get("metadata", {}).get("ownerReferences") or ()
            owner = next((str(reference.get("uid")) for reference in references if reference.get("controller")), "")
            if owner:
                fields = dict(_leaves(item))
                name = str(fields.get(_NAME, ""))
                fields[_NAME] = "".join(_NAME_NUMBER.findall(name)[-1:])
                form = _NAME_NUMBER.sub("#", name) if fields[_NAME] else ""
                key = (kind, label.rpartition("/")[0], owner, form, *sorted(fields))
                groups[key].append((subject, item, fields))
    return groups


def _leaves(value: JSON, path: _Path = ()) -> Iterator[tuple[_Path, JSON]]:
    if isinstance(value, dict) and value:
        for name, item in value.items():
            yield from _leaves(item, (*path, name))
    else:
        yield path, value


def _number(group: list[tuple[str, JSON, _Fields]], path: _Path) -> list[_Revision]:
    """The objects in the order of their numbers; empty if the field is not a different number in each of them."""
    numbers = [fields[path] for _, _, fields in group]
    if not all(map(_is_number, numbers)) or len({*map(int, numbers)}) < len(numbers):
        return []
    places = [place for place in group[0][2] if all(str(fields[place]) == str(fields[path]) for _, _, fields in group)]
    history = [
        _Revision(
            int(fields[path]),
            subject,
            item,
            {place: value for place, value in fields.items() if place not in places},
            places,
        )
        for subject, item, fields in group
    ]
    return sorted(history, key=lambda revision: revision.number)


def _is_number(value: JSON) -> bool:
    return type(value) is int or (isinstance(value, str) and value.isdecimal())


def _replace(value: JSON, path: _Path, new: JSON) -> JSON:
    """The value with another one at the path."""
    if not path:
        return new
    name, *rest = path
    return {**value, name: _replace(value[name], tuple(rest), new)}
