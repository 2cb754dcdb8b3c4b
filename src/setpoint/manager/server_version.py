"""The version of the API server, compared with the one of the models."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from setpoint.client import ApiError, Client, TransportError
from setpoint.controller import Controller
from setpoint.meta import GroupVersionKind, Object, resource_of

logger = logging.getLogger("setpoint.manager")
_MOST: Final = 12
"""So many fields are named in the log."""


class _Version(msgspec.Struct):
    major: str = ""
    minor: str = ""


class ServerVersion:
    """A runnable that asks the API server for its version, once, and ends.

    If the server is older than the models, one line of the log names the built-in kinds of the controllers that the
    server does not have (a warning), and fields of the kinds that they own that it drops (`setpoint.models.history`).
    Servers that don't answer, or with a version that is not one, are left to the requests that need them.
    """

    leader_only = False
    group = "servers"

    def __init__(self, client: Client, controllers: Sequence[Controller[Any]]) -> None:
        self._client = client
        self._controllers = controllers

    async def run(self) -> None:
        """Asks and logs."""
        try:
            version = msgspec.json.decode(await self._client.request("GET", "/version"), type=_Version)
            minor = int(version.minor.rstrip("+"))  # some providers write 33+
        except (ApiError, TransportError, ValueError) as problem:
            logger.debug("the version of the API server is not known: %s", problem)
            return
        watches = [watch for controller in self._controllers for watch in controller.watched]
        kinds = _named([controller.kind for controller in self._controllers] + [watch.kind for watch in watches])
        owned = _named(watch.kind for watch in watches if watch.role == "owns")
        if text := difference(minor, kinds, owned):
            level, line = text
            logger.log(level, "the API server is Kubernetes 1.%d: %s", minor, line)


def difference(
    minor: int, kinds: Iterable[GroupVersionKind], owned: Iterable[GroupVersionKind]
) -> tuple[int, str] | None:
    """The level and the text for the log if a server of that minor version lacks something; None otherwise."""
    from setpoint.models.history import NEWEST, OLDEST, is_known_kind, newer_fields  # most servers are new enough

    if minor >= NEWEST:
        return None
    if minor < OLDEST:
        return logging.WARNING, f"versions before 1.{OLDEST} are not supported"
    missing = [f"{gvk.api_version} {gvk.kind}" for gvk in kinds if not is_known_kind(gvk, minor)]
    fields = list(dict.fromkeys(field for gvk in owned for field in newer_fields(gvk, minor)))
    parts = [f"it has no {', '.join(missing)}"] if missing else []
    if fields:
        more = f" and {len(fields) - _MOST} more" if len(fields) > _MOST else ""
        parts.append(f"it drops these fields of kinds that are owned here: {', '.join(fields[:_MOST])}{more}")
    return (logging.WARNING if missing else logging.INFO, "; ".join(parts)) if parts else None


def _named(kinds: Iterable[type[Object]]) -> list[GroupVersionKind]:
    return list(dict.fromkeys(resource_of(kind).gvk for kind in kinds))
