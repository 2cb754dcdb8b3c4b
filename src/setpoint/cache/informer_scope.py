"""Scope: the collection that an informer watches, and the parts of its objects that the informer keeps."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from setpoint.cache.object_parser import Transform
from setpoint.meta import FieldSelector, Resource, Selector

_PARTIAL = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1,application/json"


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

    @property
    def identity(self) -> Hashable:
        return (self.resource.gvr, *self[1:])

    @property
    def accept(self) -> str:
        """The media types that a watch asks for."""
        return _PARTIAL.format("") if self.metadata_only else "application/json"

    @property
    def list_accept(self) -> str:
        return _PARTIAL.format("List") if self.metadata_only else "application/json"

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
        return tuple(query)
