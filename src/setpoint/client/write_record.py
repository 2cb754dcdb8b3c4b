"""WriteRecord: the description of one write, which observers of writes receive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

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

    @property
    def is_gone(self) -> bool:
        """Whether the answer is the last state of an object that this write has removed: by a deletion, or by a change
        without which its deletion waited, such as that of the last finalizer. Such an answer has an older version than
        the deletion.
        """
        if self.after is None or (self.verb != "delete" and b'"deletionTimestamp"' not in self.after):
            return False
        document: dict[str, Any] = msgspec.json.decode(self.after)
        metadata = document["metadata"]
        if not metadata.get("deletionTimestamp"):
            return self.verb == "delete"
        if metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds"):
            return False
        # A namespace has finalizers in its spec, too, which an answer that is only its metadata does not show.
        is_namespace = not self.resource.group and self.resource.plural == "namespaces"
        return not is_namespace or (document.get("kind") == "Namespace" and not document["spec"].get("finalizers"))


WriteObserver: TypeAlias = Callable[[WriteRecord], None]
"""A function that is called with each write of a single object, before the verb returns; see `Client.on_write`."""
