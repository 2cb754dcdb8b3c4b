"""Objects reduced to their metadata."""

from __future__ import annotations

from functools import cache
from typing import ClassVar

from setpoint.meta import Object, Resource, resource_of
from setpoint.meta.model import ModelMeta

_FORM = "application/json;as={};g=meta.k8s.io;v=v1,application/json"


class PartialObjectMetadata(Object, omit_defaults=True):
    """An object of any kind, reduced to its metadata by the server (``meta.k8s.io/v1``).

    `metadata_only` returns the class for a kind. Every verb that reads accepts the class, as do `delete`, `patch` and,
    for changes to the metadata, `update`.
    """

    accept: ClassVar[str] = _FORM.format("PartialObjectMetadata")
    accept_list: ClassVar[str] = _FORM.format("PartialObjectMetadataList")


def metadata_only(kind: type[Object] | Resource) -> type[PartialObjectMetadata]:
    """The class of ``kind`` objects reduced to their metadata. Calls with the same resource return the same class."""
    return _class_of(kind if isinstance(kind, Resource) else resource_of(kind))


@cache
def _class_of(resource: Resource) -> type[PartialObjectMetadata]:
    cls: type[PartialObjectMetadata] = ModelMeta(
        f"{resource.kind}Metadata",
        (PartialObjectMetadata,),
        {"resource": resource, "__doc__": f"Metadata of a {resource.kind}.", "__annotations__": {}},
        omit_defaults=True,
    )
    return cls
