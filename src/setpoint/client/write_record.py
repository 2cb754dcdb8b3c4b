"""WriteRecord: what write observers are told of a write, once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from setpoint.meta import ObjectKey, Resource

__all__ = ["WriteObserver", "WriteRecord"]


class WriteRecord(NamedTuple):
    """A write that the server carried out.

    ``resource`` is that of the written object, also where a subresource was written. ``labels`` and ``after``, the JSON
    of the answer, are None where the answer is not the object. ``before`` is the JSON that the writer knew of the
    object: empty if it knew that there was none, None if it knew nothing. ``content_type`` and ``body`` are what was
    sent.
    """

    resource: Resource
    key: ObjectKey
    uid: str
    version: str
    verb: Literal["create", "update", "patch", "apply", "delete"]
    labels: dict[str, str] | None = None
    before: bytes | None = None
    after: bytes | None = None
    content_type: str = ""
    body: bytes = b""


WriteObserver: TypeAlias = Callable[[WriteRecord], None]
"""Called with each write that the server carried out, before the verb returns."""
