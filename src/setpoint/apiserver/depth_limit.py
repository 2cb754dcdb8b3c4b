"""The limit on the nesting of documents.

A kube-apiserver accepts JSON with up to 10,000 levels, the limit of Go's decoder, because Go's stack grows as needed.
Python's stack is bounded, and an accepted object must stay readable, patchable, printable and watchable, so the limit
here is lower, and it is the same for all operations.
"""

from __future__ import annotations

from typing import Any, Final

from setpoint.apiserver.errors import ApiStatusError, invalid
from setpoint.meta import GroupKind, Resource
from setpoint.schema import ErrorType, FieldError, nested_over
from setpoint.schema.errors import OMITTED

MAX_DEPTH: Final = 256
"""The maximum number of nested objects and lists in a stored object, including the outermost. Managed fields count too,
and are five levels deeper than the fields that they describe.
"""
_AROUND: Final = 8
"""The number of levels that a patch or review may add around an object."""
TOO_DEEP: Final = f"exceeded max depth: objects may be nested {MAX_DEPTH} levels deep, managed fields included"


def is_too_deep(value: Any) -> bool:
    """Whether ``value``, an object or a document that contains one, is nested too deeply to be processed."""
    return nested_over(value, MAX_DEPTH + _AROUND)


def check_document(body: bytes, value: Any) -> None:
    """Raises ValueError if ``value``, which was decoded from ``body``, is nested too deeply to be processed."""
    if _may_be_deep(body) and is_too_deep(value):
        raise ValueError(TOO_DEEP)


def check_stored(resource: Resource, obj: dict[str, Any], encoded: bytes) -> None:
    """Raises ApiStatusError (422) if an object that is about to be stored is nested too deeply."""
    if _may_be_deep(encoded) and nested_over(obj, MAX_DEPTH):
        raise too_deep(resource, obj)


def too_deep(resource: Resource, obj: dict[str, Any]) -> ApiStatusError:
    """The error for a change that nests an object too deeply (422)."""
    name = obj["metadata"].get("name", "")
    return invalid(
        GroupKind(resource.group, resource.kind), name, [FieldError(ErrorType.INVALID, "", TOO_DEEP, OMITTED)]
    )


def _may_be_deep(encoded: bytes) -> bool:
    """Whether there are enough brackets to exceed the limit; nearly all objects have fewer, and need not be examined
    further. YAML can nest without brackets.
    """
    return encoded.count(b"{") + encoded.count(b"[") > MAX_DEPTH or not encoded.startswith(b"{")
