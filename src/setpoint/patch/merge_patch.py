"""JSON merge patch (RFC 7386) as API servers apply it.

A merge patch cannot express every change: null means *remove*, so no patch can set a field of an object to null, and
lists are replaced as a whole. Unlike the RFC, the library of API servers (evanphx/json-patch v4) also drops the nulls
of objects inside lists, except in a list that replaces an object.
"""

from __future__ import annotations

from typing import Any

from setpoint.meta.json_values import json_equal


def apply(document: Any, patch: Any) -> Any:
    """``document`` with ``patch`` merged into it. Neither argument is changed; the result shares unchanged parts
    with both.
    """
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = apply(result.get(key), value)
        elif isinstance(value, list) and not isinstance(result.get(key), dict):
            result[key] = _without_nulls(value)
        else:
            result[key] = value
    return result


def _without_nulls(value: Any) -> Any:
    """``value`` without the nulls of objects; those that are items of lists stay."""
    if isinstance(value, dict):
        return {
            key: _without_nulls(item) if isinstance(item, (dict, list)) else item
            for key, item in value.items()
            if item is not None
        }
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def diff(original: Any, modified: Any) -> Any:
    """The smallest patch with ``apply(original, patch) == modified``, if no object in ``modified`` holds a null.

    Nulls in ``modified`` in place of other values become removals; nulls that are items of lists are kept, because
    lists are replaced as a whole. The result shares parts with ``modified``.
    """
    if not isinstance(original, dict) or not isinstance(modified, dict):
        return modified
    patch: dict[str, Any] = {}
    for key, value in modified.items():
        if key not in original:
            patch[key] = value
            continue
        before = original[key]
        if value is before:
            continue
        if isinstance(value, dict) and isinstance(before, dict):
            inner = diff(before, value)
            if inner:
                patch[key] = inner
        elif not json_equal(before, value):
            patch[key] = value
    for key in original:
        if key not in modified:
            patch[key] = None
    return patch
