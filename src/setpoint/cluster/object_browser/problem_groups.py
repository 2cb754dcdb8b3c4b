"""Problems: the objects that are not in their wanted state, grouped with the objects that have the same problem."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from setpoint.cluster.object_browser.inventory import InventoryItem
from setpoint.cluster.object_browser.problem_causes import RANK, Reasons

Named = tuple[str, InventoryItem]
"""An object with the name of its resource."""


class Problem(NamedTuple):
    """The object that stands for a problem, and the other objects with that problem, ordered by resource and key."""

    head: Named
    others: tuple[Named, ...]


def problems(named: Iterable[Named], reasons: Reasons) -> list[Problem]:
    """The problems among these objects. Two objects have the same problem if one is a cause of the other's state.

    The head of a problem is the object that does not cause the state of any other: a Deployment rather than its pods.
    If several objects wait for the same object, as pods may for a claim, the head is the object that they wait for.
    """
    objects = {(name, item.key): (name, item) for name, item in named}
    causes = {
        place: [causing for name, item in reasons.causes(named_item[1]) if (causing := (name, item.key)) in objects]
        for place, named_item in objects.items()
    }
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    group_of: dict[tuple[str, str], tuple[str, str]] = {}
    for place in objects:
        groups[place], group_of[place] = [place], place
    for place, cause_list in causes.items():
        for cause in cause_list:
            larger, smaller = group_of[place], group_of[cause]
            if larger == smaller:
                continue
            if len(groups[larger]) < len(groups[smaller]):
                larger, smaller = smaller, larger
            for causing in groups[smaller]:
                group_of[causing] = larger
            groups[larger] += groups.pop(smaller)
    result: list[Problem] = []
    for members in groups.values():
        members.sort()
        is_cause = {cause for place in members for cause in causes[place] if cause != place}
        tops = [member for member in members if member not in is_cause]
        ends = [member for member in members if not causes[member]]
        heads = ends if len(tops) > 1 and len(ends) == 1 else tops or members
        head = min(heads, key=lambda member: (RANK[reasons.state(objects[member][1])], member))
        result.append(Problem(objects[head], tuple(objects[member] for member in members if member != head)))
    return result
