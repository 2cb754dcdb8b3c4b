"""Selection of objects for a list, a watch or a deletion: label, field and shard selectors on stored bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from setpoint.apiserver.errors import bad_request
from setpoint.apiserver.objects.codec import decode, labels_of, metadata_of
from setpoint.apiserver.objects.versions import Versions
from setpoint.apiserver.requests.call import Call
from setpoint.apiserver.requests.options import ListOptions
from setpoint.apiserver.requests.shard_selector import parse_shards
from setpoint.apiserver.resources.registry import ServedResource
from setpoint.apiserver.verbs import field_selectors as fields
from setpoint.meta import FieldSelector, Selector
from setpoint.meta.selector_requirements import FieldRequirement
from setpoint.meta.shard_ranges import ShardRanges

_NAMES = frozenset({"metadata.name", "metadata.namespace"})


class Matcher:
    """A label selector, a field selector and the ranges of a shard, combined.

    ``everything``: whether every object matches. ``shards``: the ranges; None if there is no shard selector.
    ``one_name``: whether only objects of one name match.
    ``decodes``: whether the field selector needs more than the name and the namespace, so objects have to be decoded.
    """

    __slots__ = ("_fields", "_labels", "_served", "decodes", "everything", "one_name", "shards")

    def __init__(
        self, served: ServedResource, labels: Selector, fields_: FieldSelector, shards: ShardRanges | None = None
    ) -> None:
        self._served = served
        self._labels = labels
        self._fields = fields_
        self.decodes = any(name not in _NAMES for name, _, _ in fields_.requirements)
        self.one_name = any(name == "metadata.name" and equal for name, equal, _ in fields_.requirements)
        self.shards = shards
        self.everything = not labels and not fields_ and shards is None

    @classmethod
    def of(cls, call: Call, options: ListOptions) -> Matcher:
        """The matcher for these options. Raises ApiStatusError (400) for a field that selectors can't use, and for an
        invalid shard selector.
        """
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
        # metrics-server, which serves what is computed here, does not know shards
        text = options.shard_selector if call.state.serves_shards and not served.computed else ""
        return cls(served, options.label_selector, selector, parse_shards(text) if text else None)

    def matches(self, value: bytes, versions: Versions) -> bool:
        """Whether an object matches; ``value`` is the object as it is stored."""
        if self._labels and not self._labels.matches(labels_of(value)):
            return False
        if (shards := self.shards) is not None and not shards.has(getattr(metadata_of(value), shards.field)):
            return False
        return not self._fields or self._fields.matches(self._fields_of(value, versions))

    def _fields_of(self, value: bytes, versions: Versions) -> Mapping[str, str]:
        served = self._served
        if not self.decodes:
            metadata = metadata_of(value)
            return {"metadata.name": metadata.name, "metadata.namespace": metadata.namespace}
        obj: dict[str, Any] = decode(versions.converted(served, value))
        return fields.fields_of(served.resource, obj, served.selectable_fields)
