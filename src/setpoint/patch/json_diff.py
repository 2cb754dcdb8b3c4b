"""Computes a JSON patch (RFC 6902) from one document to another."""

from __future__ import annotations

from typing import Any

from setpoint.meta.json_values import json_equal

Operation = dict[str, Any]


def diff(original: Any, modified: Any) -> list[Operation]:
    """The operations that turn ``original`` into ``modified``; none if they are the same JSON.

    Only differences are included: objects are compared member by member; in lists, equal items at the beginning and at
    the end are skipped. There are no ``test`` operations, so the patch still applies after other webhooks have changed
    other parts of the document.

    Raises:
        RecursionError: the documents are nested more deeply than Python's recursion limit allows.
    """
    operations: list[Operation] = []
    _compare(original, modified, "", operations)
    return operations


def _compare(original: Any, modified: Any, path: str, operations: list[Operation]) -> None:
    if original is modified:
        return
    if isinstance(original, dict) and isinstance(modified, dict):
        for key in original:
            if key not in modified:
                operations.append({"op": "remove", "path": f"{path}/{_escaped(key)}"})
        for key, value in modified.items():
            if key not in original:
                operations.append({"op": "add", "path": f"{path}/{_escaped(key)}", "value": value})
            elif original[key] is not value:  # most of a document is unchanged, and needs no path
                _compare(original[key], value, f"{path}/{_escaped(key)}", operations)
    elif isinstance(original, list) and isinstance(modified, list):
        _compare_lists(original, modified, path, operations)
    elif not json_equal(original, modified):
        operations.append({"op": "replace", "path": path, "value": modified})


def _compare_lists(original: list[Any], modified: list[Any], path: str, operations: list[Operation]) -> None:
    shorter = min(len(original), len(modified))
    head = 0
    while head < shorter and json_equal(original[head], modified[head]):
        head += 1
    tail = 0
    while tail < shorter - head and json_equal(original[-1 - tail], modified[-1 - tail]):
        tail += 1
    common = shorter - head - tail
    for index in range(head, head + common):
        _compare(original[index], modified[index], f"{path}/{index}", operations)
    middle = head + common
    for index in range(len(original) - tail - 1, middle - 1, -1):
        operations.append({"op": "remove", "path": f"{path}/{index}"})
    for index in range(middle, len(modified) - tail):
        operations.append({"op": "add", "path": f"{path}/{index}", "value": modified[index]})


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
