"""Finalizers: added before the first action on the outside world, removed after the last one.

Both changes are JSON patches that test the state on which they rely, so two writers never undo each other's finalizers:
a failed test is a conflict, and the patch is retried on the new state. After a reconcile has removed a finalizer, it
makes no other write.
"""

from __future__ import annotations

from typing import Any

from setpoint.meta import Object, Resource
from setpoint.meta.names import qualified_name


def finalizer_name(resource: Resource, controller: str) -> str:
    """The name of a controller's finalizer on a kind: ``GROUP/CONTROLLER``.

    Raises:
        ValueError: the kind's group is not a domain, as with built-in kinds.
    """
    if "." not in resource.group or resource.group.endswith(".k8s.io"):
        raise ValueError(
            f"finalizers on {resource} need a name with your own domain: "
            f"finalize(function, name='example.com/{controller}')"
        )
    return checked_name(f"{resource.group}/{controller}")


def checked_name(name: str) -> str:
    """``name``, if the server accepts it as the name of a finalizer.

    Raises:
        ValueError: the name is not a qualified name with a domain.
    """
    problems = qualified_name(name)
    if "/" not in name:
        problems.append("must have a domain of yours before a slash, like example.com/cleanup")
    if problems:
        raise ValueError(f"finalizer {name!r}: {'; '.join(problems)}")
    return name


def added(obj: Object, name: str) -> list[dict[str, Any]]:
    """The JSON patch that adds the finalizer; [] if the object has it already."""
    finalizers = obj.metadata.finalizers
    if name in finalizers:
        return []
    if not finalizers:
        return [
            {"op": "test", "path": "/metadata/resourceVersion", "value": obj.metadata.resource_version},
            {"op": "test", "path": "/metadata/uid", "value": obj.uid},
            {"op": "add", "path": "/metadata/finalizers", "value": [name]},
        ]
    return [
        {"op": "test", "path": "/metadata/uid", "value": obj.uid},
        {"op": "test", "path": "/metadata/finalizers", "value": finalizers},
        {"op": "add", "path": "/metadata/finalizers/-", "value": name},
    ]


def removed(obj: Object, name: str) -> list[dict[str, Any]]:
    """The JSON patch that removes every occurrence of the finalizer; [] if there is none."""
    finalizers = obj.metadata.finalizers
    places = [place for place, found in enumerate(finalizers) if found == name]
    if not places:
        return []
    return [
        {"op": "test", "path": "/metadata/uid", "value": obj.uid},
        {"op": "test", "path": "/metadata/finalizers", "value": finalizers},
        *({"op": "remove", "path": f"/metadata/finalizers/{place}"} for place in reversed(places)),
    ]
