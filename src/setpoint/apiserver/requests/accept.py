"""The Accept header: the media types that a client can read, in its order of preference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from setpoint.apiserver.requests.body import JSON_TYPE, YAML_TYPE
from setpoint.apiserver.requests.protobuf import PROTOBUF_TYPE

Media = Literal["json", "yaml", "protobuf"]
MEDIA_TYPES: Final[dict[Media, str]] = {"json": JSON_TYPE, "yaml": YAML_TYPE, "protobuf": PROTOBUF_TYPE}
_MEDIA: Final[dict[str, Media]] = {
    JSON_TYPE: "json",
    YAML_TYPE: "yaml",
    PROTOBUF_TYPE: "protobuf",
    "*/*": "json",
    "application/*": "json",
}


class Clause(NamedTuple):
    """One media type of an Accept header, with its parameters."""

    kind: str
    parameters: Mapping[str, str]


@lru_cache(maxsize=64)
def accepted(header: str) -> tuple[Clause, ...]:
    """The clauses of the header in order of preference: by descending ``q``, then clauses without wildcards before
    those with wildcards, then in the given order.
    """
    clauses = []
    for item in header.split(",") if header.strip() else ["*/*"]:
        kind, *rest = (part.strip() for part in item.split(";"))
        parameters = {}
        for part in rest:
            name, _, value = part.partition("=")
            parameters[name.strip()] = value.strip()
        clauses.append(Clause(kind.lower(), parameters))
    return tuple(sorted(clauses, key=_dislike))


def _dislike(clause: Clause) -> tuple[float, bool, bool]:
    try:
        quality = float(clause.parameters.get("q", 1))
    except ValueError:
        quality = 1.0
    return -quality, clause.kind.startswith("*/"), clause.kind.endswith("/*")


def media_of(clause: Clause) -> Media | None:
    """The supported media type for a clause of ``Accept``; None if the clause names no supported type."""
    return _MEDIA.get(clause.kind)


def has_representation(header: str, available: Iterable[str]) -> bool:
    """Whether a client that sends ``header`` can read one of the ``available`` types, which it must name, or ``*/*``.

    Upstream's routes of built-in kinds and of discovery decide so; ``application/*`` only counts behind them.
    """
    kinds = {*available, "*/*"}
    return not header.strip() or any(clause.kind in kinds for clause in accepted(header))


def of_statuses(header: str) -> Media:
    """The media type of a Status for a client that sends ``header``; the default is JSON."""
    if header in ("", "*/*", JSON_TYPE):
        return "json"
    for clause in accepted(header):
        media = media_of(clause)
        if media is not None and not clause.parameters.get("as") and not clause.parameters.get("stream"):
            return media
    return "json"
