"""Responses: the requests and answers that faults substitute for the real ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from setpoint.simulation.faults.plan import Fault
from setpoint.testing.fake_answers import Answer, refusal

Query: TypeAlias = tuple[tuple[str, str], ...]


def make_error(faults: Iterable[Fault]) -> Answer | None:
    """The error response that the first of the error faults (``error-429``, ``error-500``) causes; None if ``faults``
    has none of these.
    """
    for fault in faults:
        if fault.kind == "error-429":
            seconds = str(fault.get("seconds", 1))
            return refusal(429, "TooManyRequests", "too many requests, please try again later", seconds)
        if fault.kind == "error-500":
            return refusal(500, "InternalError", "Internal error occurred: etcdserver: leader changed")
    return None


def refuse_streamed_list() -> Answer:
    """The answer with which a server that does not support streamed lists refuses one."""
    return refusal(
        422, "Invalid", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the "
        "WatchList feature gate is enabled",
    )  # fmt: skip


def make_query_stale(query: Query, since: int | None) -> Query:
    """The query of a list request, changed to ask for the state that a lagging watch cache has, if that cache may serve
    the request; otherwise ``query`` itself. The cache lacks the changes from the revision ``since`` on; with None it is
    up to date.
    """
    operation = dict(query)
    wanted = operation.get("resourceVersion", "")
    if not wanted or "continue" in operation or since is None or since < 1:
        return query
    visible = since - 1
    if wanted.isdecimal() and int(wanted) > visible:
        return query
    operation.pop("limit", None)
    operation |= {"resourceVersion": str(visible), "resourceVersionMatch": "Exact"}
    return tuple(operation.items())
