"""Desired state: the objects that users have asked for, and the statuses that users have reported in place of a
controller.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import msgspec

from setpoint.apiserver.requests.path import parse_path
from setpoint.patch import merge_patch
from setpoint.simulation.trace.history import label_of

_DESIRED: Final = ("name", "namespace", "labels", "annotations", "ownerReferences")
_NAMESPACES: Final = ("", "namespaces")
_DEFINITIONS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")

HELD: Final = "deleted"
"""The place of an object's content if users have deleted the object, and a finalizer of theirs holds it."""


class DesiredState:
    """The objects that users currently ask for, by the path of the object.

    An object that users have deleted, and that a finalizer of theirs still holds, is not one of these, but is part of
    what users ask for (`text`): it is there because of them.
    """

    def __init__(self) -> None:
        self._documents: dict[str, dict[str, Any]] = {}
        self._uids: dict[str, str] = {}
        self._holds: dict[str, set[str]] = {}
        """The finalizers of objects that users have set themselves."""
        self._leaving: set[str] = set()
        """The paths of deleted objects that finalizers of users hold."""

    def record(
        self, path: str, document: dict[str, Any], before: dict[str, Any] | None = None, *, request_body: bytes = b""
    ) -> None:
        """Notes that a user has asked for an object; ``document`` is the stored object, ``before`` the one that was
        stored before the request, and ``request_body`` the body of the request.
        """
        finalizers = _finalizers(document)
        new = {
            finalizer for finalizer in finalizers - _finalizers(before or {}) if finalizer.encode() in request_body
        }  # others are of the server
        holds = (self._holds.get(path, set()) & finalizers) | new
        self._holds[path] = holds
        if document.get("metadata", {}).get("deletionTimestamp"):
            if not holds:
                self._leaving.discard(path)
            return
        self._leaving.discard(path)
        earlier = self._documents.get(path)
        desired = extract_desired(document)
        if earlier is not None and before is not None:
            desired["metadata"] = _without_those_of_controllers(desired["metadata"], before, earlier)
        reported = None if earlier is None else earlier.get("status")
        self._documents[path] = desired if reported is None else {**desired, "status": reported}
        self._uids[path] = document.get("metadata", {}).get("uid", "")

    def withdraw(self, path: str) -> None:
        """Notes that a user has asked for the deletion of an object. That of a namespace includes all objects in it,
        and that of a CustomResourceDefinition all objects of its kind.
        """
        for other in [other for other in self._documents if other == path or _is_part(other, path)]:
            del self._documents[other]
            if self._holds[other]:
                self._leaving.add(other)

    def reported(self, path: str, change: Any) -> None:
        """Notes that a user has written the status of an object, as a controller of a real cluster would. ``change`` is
        the JSON merge patch of the status; it is ignored if it is empty, or if users have not asked for the object.
        """
        if change and path in self._documents:
            desired = self._documents[path]
            self._documents[path] = {**desired, "status": merge_patch.apply(desired.get("status", {}), change)}

    def paths(self) -> list[str]:
        return sorted(self._documents)

    def documents(self) -> list[dict[str, Any]]:
        return list(self._documents.values())

    def missing(self, alive: Collection[str]) -> list[dict[str, Any]]:
        """The requested objects that no longer exist, though users have not asked for their deletion; ``alive`` has the
        uids of all objects.
        """
        return [document for path, document in self._documents.items() if self._uids[path] not in alive]

    def text(self, alive: Collection[str]) -> str:
        """The requested objects as text, and those that users hold; ``alive`` has the uids of all objects. It does not
        depend on the order in which users asked for them.
        """
        leaving = [(path, HELD) for path in self._leaving if self._uids[path] in alive]
        return msgspec.json.encode(sorted([*self._documents.items(), *leaving]), order="sorted").decode()


def read_desired(text: str) -> dict[str, Any]:
    """The documents of a `DesiredState.text`, by collection and label."""
    return {subject_of(path): document for path, document in msgspec.json.decode(text)} if text else {}


def subject_of(path: str) -> str:
    """The collection and the label of the object at the path, as states have them."""
    parsed = parse_path(path)
    if parsed is None:
        return ""
    collection = f"{parsed.resource}.{parsed.group}" if parsed.group else parsed.resource
    return f"{collection} {label_of(parsed.namespace, parsed.name, '')}"


def _without_those_of_controllers(
    metadata: dict[str, Any], before: dict[str, Any], earlier: dict[str, Any]
) -> dict[str, Any]:
    """The metadata without labels and annotations that a controller has written in the meantime: they are neither in
    what users have asked for ``earlier`` nor changed by the request, before which the object was ``before``.
    """
    result = dict(metadata)
    for name in ("labels", "annotations"):
        past, desired = (part.get("metadata", {}).get(name) or {} for part in (before, earlier))
        entries = result.pop(name, None) or {}
        if theirs := {key: value for key, value in entries.items() if key in desired or past.get(key) != value}:
            result[name] = theirs
    return result


def _finalizers(document: dict[str, Any]) -> set[str]:
    return set(document.get("metadata", {}).get("finalizers") or ())


def _is_part(path: str, whole: str) -> bool:
    """Whether the object at ``path`` goes with the one at ``whole``, a namespace or a CustomResourceDefinition."""
    part, above = parse_path(path), parse_path(whole)
    if part is None or above is None:
        return False
    if (above.group, above.resource) == _NAMESPACES:
        return part.namespace == above.name
    if (above.group, above.resource) == _DEFINITIONS:
        return f"{part.resource}.{part.group}" == above.name
    return False


def extract_desired(document: dict[str, Any]) -> dict[str, Any]:
    """The object without its status, and with only those metadata that users set: name, namespace, labels, annotations
    and owner references.
    """
    metadata = {key: value for key, value in document.get("metadata", {}).items() if key in _DESIRED}
    return {
        **{key: value for key, value in document.items() if key not in ("status", "metadata")},
        "metadata": metadata,
    }
