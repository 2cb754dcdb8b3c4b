"""Compares two recorded conversations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

Entry = dict[str, Any]


def differences(expected: Sequence[Entry], entries: Sequence[Entry]) -> Iterator[tuple[str, str, Any, Any]]:
    """Of each request, each place where the answers differ: (request, path in the answer, expected, found)."""
    for number, (one, other) in enumerate(zip(expected, entries, strict=False)):
        request = f"{number}: {one['request']}"
        if one["request"] != other["request"]:
            yield request, "<request>", one["request"], other["request"]
            return
        for name in ("status", "warnings", "body"):
            for path, left, right in _walk(name, one[name], other[name]):
                yield request, path, left, right
    if len(expected) != len(entries):
        yield "<length>", "", len(expected), len(entries)


def _walk(path: str, one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            if key not in one:
                yield f"{path}.{key}", "<absent>", other[key]
            elif key not in other:
                yield f"{path}.{key}", one[key], "<absent>"
            else:
                yield from _walk(f"{path}.{key}", one[key], other[key])
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _walk(f"{path}[{index}]", left, right)
    elif (one != other or type(one) is not type(other)) and not _says_more(path, one, other):
        yield path, one, other


def _says_more(path: str, one: Any, other: Any) -> bool:
    """Whether a message only goes on where the expected one ends."""
    return path.endswith(".message") and isinstance(one, str) and isinstance(other, str) and other.startswith(one)
