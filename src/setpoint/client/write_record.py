"""WriteRecord: the description of one write, which observers of writes receive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from setpoint.meta import ObjectKey, Resource


class WriteRecord(NamedTuple):
    """A write that the server carried out.

    ``resource`` is the resource of the written object, even if a subresource was written. ``labels`` is None if the
    answer is not the object. ``after`` is the JSON of the answer, or None if the answer is not the object; after a
    deletion it has a deletion timestamp unless the object is gone. ``before`` is the object's JSON as the writer knew
    it: empty if the writer knew that the object did not exist, None if it knew nothing. ``content_type`` and ``body``
    are those of the request; they are empty for a deletion and for `Client.patch_scale`.
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
"""A function that is called with each write of a single object, before the verb returns; see `Client.on_write`."""
