"""The limit on the nesting of documents.

A kube-apiserver refuses JSON deeper than 10,000 levels, since Go's decoder does, whose stack grows. Python's calls are
bounded, and what is accepted must be readable, patchable, printable and watchable ever after: so the bound is lower,
and the same for all.
"""

from __future__ import annotations

from typing import Any, Final

from setpoint.apiserver.errors import ApiStatusError, invalid
from setpoint.meta import GroupKind, Resource
from setpoint.schema import ErrorType, FieldError, nested_over
from setpoint.schema.errors import OMITTED

__all__ = ["MAX_DEPTH", "TOO_DEEP", "check_depth", "check_document", "check_stored", "is_too_deep", "too_deep"]

MAX_DEPTH: Final = 256
"""Levels of objects and lists in a stored object, the outermost included. Its managed fields count, and lie five levels
deeper than the fields that they are about."""
_AROUND: Final = 8
"""Levels that a patch or review may have around an object."""
TOO_DEEP: Final = f"exceeded max depth: objects may be nested {MAX_DEPTH} levels deep, managed fields included"


def is_too_deep(value: Any) -> bool:
    """Whether ``value``, an object or a document around one, is too deep to be worked with."""
    return nested_over(value, MAX_DEPTH + _AROUND)


def check_document(body: bytes, value: Any) -> None:
    """Raises ValueError if ``value``, which was decoded from ``body``, is too deep to be worked with."""
    if _may_be_deep(body) and is_too_deep(value):
        raise ValueError(TOO_DEEP)


def check_stored(resource: Resource, obj: dict[str, Any], encoded: bytes) -> None:
    """Raises ApiStatusError (422) if what is about to be stored is too deep."""
    if _may_be_deep(encoded) and nested_over(obj, MAX_DEPTH):
        raise too_deep(resource, obj)


def check_depth(resource: Resource, obj: dict[str, Any]) -> None:
    """As `check_stored`, before there are bytes."""
    if nested_over(obj, MAX_DEPTH):
        raise too_deep(resource, obj)


def too_deep(resource: Resource, obj: dict[str, Any]) -> ApiStatusError:
    """The answer to a change that nests an object too deeply (422)."""
    name = obj["metadata"].get("name", "")
    return invalid(
        GroupKind(resource.group, resource.kind), name, [FieldError(ErrorType.INVALID, "", TOO_DEEP, OMITTED)]
    )


def _may_be_deep(encoded: bytes) -> bool:
    """Whether there are enough brackets; nearly all objects have fewer, and need no closer look. (YAML needs none.)"""
    return encoded.count(b"{") + encoded.count(b"[") > MAX_DEPTH or not encoded.startswith(b"{")
