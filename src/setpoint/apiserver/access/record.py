"""A record of the requests that clients made: for tests of permissions, and for tools that write roles."""

from __future__ import annotations

from collections.abc import Collection

from setpoint.apiserver.access.attributes import Attributes
from setpoint.apiserver.access.authorizer import Decision

__all__ = ["AccessRecord"]


class AccessRecord:
    """Remembers each thing that was asked for once, with what was refused.

        record = AccessRecord()
        async with ApiServer(access_record=record) as server:
            ...
        for asked in record.asked:
            print(asked.verb, asked.group, asked.resource, asked.subresource, asked.namespace, asked.name)

    Requests of the users named in ``ignore`` are not remembered. Requests to a server without an authorizer are
    remembered as well: record a program where everything is allowed, and write the role that it needs.
    """

    def __init__(self, *, ignore: Collection[str] = ()) -> None:
        self._ignore = frozenset(ignore)
        self._asked: dict[tuple[str, ...], Attributes] = {}
        self._refused: dict[tuple[str, ...], tuple[Attributes, str]] = {}

    @property
    def asked(self) -> list[Attributes]:
        """In the order of the first requests."""
        return list(self._asked.values())

    @property
    def refused(self) -> list[tuple[Attributes, str]]:
        """Answered with 403, each with the authorizer's reason (often empty)."""
        return list(self._refused.values())

    def clear(self) -> None:
        """Forgets everything."""
        self._asked.clear()
        self._refused.clear()

    def note(self, attributes: Attributes, decision: Decision) -> None:
        """Called by the server for each request."""
        user = attributes.user.name
        if user in self._ignore:
            return
        key = (
            *(user, attributes.verb, attributes.group, attributes.combined),
            *(attributes.namespace, attributes.name, attributes.path),
        )
        self._asked.setdefault(key, attributes)
        if not decision.allowed:
            self._refused.setdefault(key, (attributes, decision.reason))
