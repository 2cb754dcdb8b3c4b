"""Objects of kinds without a class of their own: plain JSON with typed metadata."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Self

import msgspec

from setpoint.meta import Object, ObjectMeta, Resource, plain, raw_of, resource_of, to_wire
from setpoint.meta.model import ModelMeta

_CONTENT = "_content"


class DynamicObject(Object, omit_defaults=True):
    """An object of any kind. ``metadata`` is typed; the rest is plain JSON with wire names.

        Certificate = dynamic(await client.rest_mapper.resource("certificates.cert-manager.io"))
        certificate = await client.get(Certificate, "web")
        certificate["spec"]["renewBefore"] = "360h"
        await client.update(certificate)

    Every verb accepts the class that `dynamic` returns.
    """

    @classmethod
    def of(cls, document: dict[str, Any]) -> Self:
        """A new object with the content of ``document``, like one created locally.

        Raises:
            ValueError: ``document`` has a different kind, or its metadata is not valid.
        """
        resource = resource_of(cls)
        identity = (document.get("apiVersion", resource.api_version), document.get("kind", resource.kind))
        if identity != (resource.api_version, resource.kind):
            raise ValueError(
                f"the document is a {identity[0]} {identity[1]}, not a {resource.api_version} {resource.kind}"
            )
        obj = cls(metadata=msgspec.convert(document.get("metadata") or {}, ObjectMeta))
        vars(obj)[_CONTENT] = _content_of(document)
        return obj

    @property
    def raw(self) -> dict[str, Any]:
        """The document without apiVersion, kind and metadata, parsed on first access; you may change it.

        Raises:
            TooDeep: the document is nested too deeply.
        """
        content = vars(self).get(_CONTENT)
        if content is None:
            read = raw_of(self)
            content = vars(self)[_CONTENT] = {} if read is None else _content_of(plain(read))
        document: dict[str, Any] = content
        return document

    def __getitem__(self, field: str) -> Any:
        return self.raw[field]

    def __setitem__(self, field: str, value: Any) -> None:
        if field in ("apiVersion", "kind", "metadata"):
            raise KeyError(f"{field} can't be set as an item: the class determines the kind, and .metadata is typed")
        self.raw[field] = value

    def __delitem__(self, field: str) -> None:
        del self.raw[field]

    def __contains__(self, field: object) -> bool:
        return field in self.raw

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw)

    def __wire__(self) -> dict[str, Any]:
        """The whole document; see `setpoint.meta.to_wire`."""
        resource = resource_of(type(self))
        metadata = to_wire(self.metadata)
        return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **self.raw}


def dynamic(resource: Resource) -> type[DynamicObject]:
    """The class of a resource's objects. Calls with the same resource return the same class."""
    return _class_of(resource)


@cache
def _class_of(resource: Resource) -> type[DynamicObject]:
    cls: type[DynamicObject] = ModelMeta(
        resource.kind,
        (DynamicObject,),
        {"resource": resource, "__doc__": f"A {resource.kind} of {resource.api_version}.", "__annotations__": {}},
        omit_defaults=True,
    )
    return cls


def _content_of(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in ("apiVersion", "kind", "metadata")}
