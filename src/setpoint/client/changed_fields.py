"""Changes: the paths of the fields that a write changes, without their values, which may be secret."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from setpoint.client import PatchType
from setpoint.patch import merge_patch

MAX_FIELDS: Final = 20
"""The maximum number of reported fields of one write."""
_BOOKKEEPING: Final = frozenset({"resourceVersion", "managedFields", "generation"})
_PRECONDITIONS: Final = frozenset({("metadata", "uid"), ("metadata", "resourceVersion")})


def sent_fields(content_type: str, body: bytes) -> tuple[str, ...]:
    """The paths that a patch names, at most `MAX_FIELDS`; () for a body that is not a patch, and for a patch that names
    more fields than it changes (server-side apply).
    """
    if content_type == PatchType.JSON.value:
        operations: list[dict[str, Any]] = msgspec.json.decode(body)
        return tuple(
            dict.fromkeys(
                _dotted(operation["path"])
                for operation in operations
                if operation["op"] != "test" and tuple(operation["path"].split("/")[1:]) not in _PRECONDITIONS
            )
        )[:MAX_FIELDS]
    if content_type in (PatchType.MERGE.value, PatchType.STRATEGIC.value):
        patch = msgspec.json.decode(body)
        if isinstance(patch, dict) and isinstance(metadata := patch.get("metadata"), dict):
            rest = {name: value for name, value in metadata.items() if ("metadata", name) not in _PRECONDITIONS}
            patch = {**patch, "metadata": rest} if rest else {k: v for k, v in patch.items() if k != "metadata"}
        return tuple(leaves(patch))[:MAX_FIELDS]
    return ()


def changed_fields(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """The paths of the fields that differ between two documents of an object, at most `MAX_FIELDS`. Fields that the
    server maintains are left out.
    """
    documents = []
    for document in (before, after):
        metadata = {name: value for name, value in document["metadata"].items() if name not in _BOOKKEEPING}
        documents.append({**document, "metadata": metadata})
    return leaves(merge_patch.diff(*documents))[:MAX_FIELDS]


def leaves(patch: Any, path: str = "") -> list[str]:
    """The paths of the fields in a merge patch, sorted by name at each level. A name that contains a dot or a slash is
    enclosed in brackets.
    """
    if not isinstance(patch, dict) or not patch:
        return [path] if path else []
    return [leaf for name, value in sorted(patch.items()) for leaf in leaves(value, _joined(path, name))]


def _joined(path: str, name: str) -> str:
    if "." in name or "/" in name:
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name


def _dotted(pointer: str) -> str:
    path = ""
    for token in pointer.split("/")[1:]:
        path = _joined(path, token.replace("~1", "/").replace("~0", "~"))
    return path
