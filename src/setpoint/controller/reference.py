"""Reference: the field by which one object names another one."""

from __future__ import annotations

from setpoint.meta import Object, resource_of
from setpoint.models.core_v1 import ObjectReference


def reference_to(obj: Object) -> ObjectReference:
    """A reference to ``obj`` that includes its version; a field whose value is unknown is left out."""
    resource = resource_of(type(obj))
    return ObjectReference(
        api_version=resource.api_version,
        kind=resource.kind,
        name=obj.name,
        namespace=obj.namespace or None,
        uid=obj.uid or None,
        resource_version=obj.metadata.resource_version or None,
    )
