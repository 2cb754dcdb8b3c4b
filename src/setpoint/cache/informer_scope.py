"""Scope: the collection that an informer watches, and the parts of its objects that the informer keeps."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from setpoint.cache.key_shard import KeyShard
from setpoint.cache.namespace_shard import NamespaceShard
from setpoint.cache.object_parser import Transform
from setpoint.client.requester import JSON
from setpoint.meta import FieldSelector, Resource, Selector

_DROP = ";drop=metadata.managedFields"
"""Asks the server to leave out managedFields, which may be half of an object (KEP-5958). API servers ignore parameters
that they do not know. For others, which may refuse them (406), the type without this parameter comes next.
"""
_PARTIAL = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"

_ZERO_VALUES: Final = {
    "spec.hostNetwork": "false",
    "spec.unschedulable": "false",
    "status.replicas": "0",
    "status.successful": "0",
}
"""The values of selectable fields of built-in kinds that are booleans or numbers, for objects without them."""


class Scope(NamedTuple):
    """The collection that an informer watches, and the parts of its objects that the informer keeps.

    Informers with the same scope share one stream and one store.
    """

    resource: Resource
    namespace: str = ""
    selector: Selector = Selector()
    field_selector: FieldSelector = FieldSelector()
    metadata_only: bool = False
    projection: type[Any] | None = None
    transform: Transform | None = None
    keep_managed_fields: bool = False
    shard: NamespaceShard | KeyShard | None = None

    @property
    def identity(self) -> Hashable:
        return (self.resource.gvr, *self[1:])

    def covers(self, namespace: str) -> bool:
        """Whether all objects of the namespace are in the collection, as far as namespaces go; ``""`` stands for all
        namespaces, and for cluster-scoped objects.
        """
        return (not self.namespace or self.namespace == namespace) and (
            self.shard is None or self.shard.part.covers(namespace)
        )

    def selects(self, labels: Mapping[str, str], document: bytes) -> bool:
        """Whether the selectors select an object. A selected field is looked up in ``document``, the object's JSON;
        a field that it lacks has the zero value, as for API servers.
        """
        if self.selector and not self.selector.matches(labels):
            return False
        if not self.field_selector:
            return True
        values: Any = msgspec.json.decode(document)
        return self.field_selector.matches(
            {requirement.field: _field(values, requirement.field) for requirement in self.field_selector.requirements}
        )

    @property
    def accept(self) -> str:
        """The media types that a watch asks for."""
        return self._accept("")

    @property
    def list_accept(self) -> str:
        return self._accept("List")

    def _accept(self, suffix: str) -> str:
        # A transform may read managedFields, which are dropped after it.
        is_needed = self.keep_managed_fields or self.transform is not None
        wanted = _PARTIAL.format(suffix) if self.metadata_only else JSON
        types = [*([] if is_needed else [f"{wanted}{_DROP}"]), wanted]
        return ",".join([*types, JSON] if self.metadata_only else types)

    @property
    def path(self) -> str:
        return self.resource.path(namespace=self.namespace)

    def describe(self) -> str:
        """The scope in words, for messages."""
        text = str(self.resource)
        if self.namespace:
            text += f" in namespace {self.namespace}"
        for selector in (self.selector, self.field_selector):
            if selector:
                text += f" where {selector}"
        return text

    @property
    def query(self) -> tuple[tuple[str, str], ...]:
        query = []
        if self.selector:
            query.append(("labelSelector", str(self.selector)))
        if self.field_selector:
            query.append(("fieldSelector", str(self.field_selector)))
        if self.shard is not None and (selector := self.shard.part.selector):
            query.append(("shardSelector", selector))
        return tuple(query)


def _field(document: Any, path: str) -> str:
    value = document
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    return _ZERO_VALUES.get(path, "") if value is None else str(value)
