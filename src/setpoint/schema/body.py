"""JSON bodies, read so that no field is silently lost."""

from __future__ import annotations

import json
from typing import Any

from .node import JSON

__all__ = ["parse_json"]


def parse_json(body: bytes | str) -> tuple[JSON, list[str]]:
    """The value in ``body`` and the paths of fields that are given more than once in one object (the last one counts).

    Raises ValueError if ``body`` is not JSON (this includes NaN and Infinity) or not UTF-8.
    """
    doubles: dict[int, tuple[dict[str, Any], list[str]]] = {}

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            seen: set[str] = set()
            twice = {key: None for key, _ in pairs if key in seen or seen.add(key)}  # type: ignore[func-returns-value]
            doubles[id(value)] = (value, list(twice))
        return value

    if isinstance(body, bytes):
        body = body.decode("utf-8")
    value = json.loads(body, object_pairs_hook=collect, parse_constant=_refuse)
    paths: list[str] = []
    if doubles:
        _locate(value, "", doubles, paths)
    return value, paths


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _locate(value: JSON, path: str, doubles: dict[int, tuple[dict[str, Any], list[str]]], paths: list[str]) -> None:
    if isinstance(value, dict):
        dot = f"{path}." if path else ""
        paths.extend(f"{dot}{key}" for key in doubles.get(id(value), ((), ()))[1])
        for key, item in value.items():
            _locate(item, f"{dot}{key}", doubles, paths)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _locate(item, f"{path}[{index}]", doubles, paths)
