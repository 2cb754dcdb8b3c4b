"""Lists of a job's completion indexes, such as ``1,3-5``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from setpoint.meta.go_integers import NumberError, parse_int
from setpoint.meta.text_escaping import quote

_TWO_PARTS: Final = "violates the requirement that an index interval can have at most two parts separated by '-'"


def indexes_problem(text: str, completions: int) -> str:
    """The first error in a list of indexes for a job with the given ``completions``; empty if the list is valid."""
    return count_indexes(text, completions)[1]


def count_indexes(text: str, completions: int) -> tuple[int, str]:
    """The number of indexes in a list and an empty string, or 0 and the first error if the list is invalid."""
    total, last = 0, None
    for part in text.split(",") if text else ():
        interval = _interval(part, completions)
        if isinstance(interval, str):
            return 0, interval
        first, end = interval
        if last is not None and last >= first:
            return 0, f"non-increasing order, previous: {last}, current: {first}"
        total, last = total + end - first + 1, end
    return total, ""


def index_intervals(text: str, completions: int) -> Iterator[tuple[int, int]]:
    """The intervals of a list; invalid intervals are left out."""
    for part in text.split(",") if text else ():
        interval = _interval(part, completions)
        if not isinstance(interval, str):
            yield interval


def _interval(text: str, completions: int) -> tuple[int, int] | str:
    """The first and the last index of an interval, or the error in it."""
    limits = text.split("-")
    if len(limits) > 2:
        return f"the fragment {quote(text)} {_TWO_PARTS}"
    numbers: list[int] = []
    for limit in limits:
        try:
            numbers.append(parse_int(limit))
        except NumberError:
            return f"cannot convert string to integer for index: {quote(limit)}"
        if numbers[-1] >= completions:
            return f"too large index: {quote(limit)}"
    first, end = numbers[0], numbers[-1]
    if len(limits) == 2 and first >= end:
        return f"non-increasing order, previous: {first}, current: {end}"
    return first, end
