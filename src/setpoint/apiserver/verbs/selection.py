"""Selection of objects for a list, a watch or a deletion: label and field selectors on stored bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from setpoint.apiserver.errors import bad_request
from setpoint.apiserver.objects.codec import decode, labels_of, metadata_of
from setpoint.apiserver.objects.versions import Versions
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.options import ListOptions
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.apiserver.verbs import field_selectors as fields
from setpoint.meta import FieldSelector, Selector
from setpoint.meta.selector_requirements import FieldRequirement

__all__ = ["Matcher"]

_NAMES = frozenset({"metadata.name", "metadata.namespace"})


class Matcher:
    """A label selector and a field selector, combined.

    ``everything``: whether every object matches. ``decodes``: whether the field selector needs more than the name and
    the namespace, so objects have to be decoded.
    """

    __slots__ = ("_fields", "_labels", "_served", "decodes", "everything")

    def __init__(self, served: ServedResource, labels: Selector, fields_: FieldSelector) -> None:
        self._served = served
        self._labels = labels
        self._fields = fields_
        self.decodes = any(name not in _NAMES for name, _, _ in fields_.requirements)
        self.everything = not labels and not fields_

    @classmethod
    def of(cls, call: Call, options: ListOptions) -> Matcher:
        """The matcher for these options. Raises ApiStatusError (400) for a field that selectors can't use."""
        served = call.served
        selector = options.field_selector
        if selector:
            resource, custom = served.resource, served.custom
            supported = fields.supported(resource, served.selectable_fields, custom=custom)
            requirements: list[FieldRequirement] = []
            for name, equal, wanted in selector.requirements:
                field = fields.renamed(resource, name)
                if field not in supported:
                    raise bad_request(fields.unsupported(resource, name, custom=custom))
                requirements.append(FieldRequirement(field, equal, wanted))
            selector = FieldSelector(requirements)
        return cls(served, options.label_selector, selector)

    def matches(self, value: bytes, versions: Versions) -> bool:
        """Whether an object matches; ``value`` is the object as it is stored."""
        if self._labels and not self._labels.matches(labels_of(value)):
            return False
        return not self._fields or self._fields.matches(self._fields_of(value, versions))

    def _fields_of(self, value: bytes, versions: Versions) -> Mapping[str, str]:
        served = self._served
        if not self.decodes:
            metadata = metadata_of(value)
            return {"metadata.name": metadata.name, "metadata.namespace": metadata.namespace}
        obj: dict[str, Any] = decode(versions.converted(served, value))
        return fields.fields_of(served.resource, obj, served.selectable_fields)
