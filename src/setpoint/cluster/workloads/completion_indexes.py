"""Completion indexes of Jobs: sets of numbers, written as in a Job's status, such as ``0-4,7``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from setpoint.meta.go_integers import NumberError, parse_uint
from setpoint.models.core_v1 import Pod

INDEX: Final = "batch.kubernetes.io/job-completion-index"


def index_of(pod: Pod, completions: int) -> int | None:
    """The pod's completion index; None if the pod does not have one below ``completions``."""
    try:
        index = parse_uint(pod.annotations.get(INDEX, ""))
    except NumberError:
        return None
    return index if index < completions else None


def format_indexes(indexes: Iterable[int]) -> str:
    """The indexes as text: runs of three or more with a dash, all others one by one, such as ``0-4,7``."""
    parts: list[str] = []
    first = last = None
    for index in [*sorted(set(indexes)), None]:
        if first is not None and last is not None and index != last + 1:
            parts.append(str(first) if first == last else f"{first}{',' if last == first + 1 else '-'}{last}")
            first = None
        if first is None:
            first = index
        last = index
    return ",".join(parts)


def read(text: str | None, completions: int) -> set[int]:
    """The indexes below ``completions`` in a text; unreadable parts are left out."""
    indexes: set[int] = set()
    for part in (text or "").split(","):
        first, _, last = part.partition("-")
        try:
            low, high = parse_uint(first), parse_uint(last or first)
        except NumberError:
            continue
        indexes.update(range(low, min(high + 1, completions)))
    return indexes
