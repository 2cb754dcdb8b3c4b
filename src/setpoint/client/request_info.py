"""RequestInfo: what a request asks for, in the terms of the Kubernetes API."""

from __future__ import annotations

from msgspec import Struct

from setpoint.meta import Resource


class RequestInfo(Struct, frozen=True, gc=False):
    """The verb and the object of a request, for error messages; the server never sees them.

    ``verb`` is one of the API's verbs (``get``, ``list``, ``watch``, ``create``, ``update``, ``patch``, ``delete``,
    ``deletecollection``). ``resource`` is a path if the request is for no resource. ``key`` is that of an object
    (``namespace/name``, or ``name``) or of a namespace's collection (``namespace/``).
    """

    verb: str
    resource: Resource | str
    key: str = ""
    subresource: str = ""

    @property
    def target(self) -> Resource | str:
        """The resource, with its subresource if there is one."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource
