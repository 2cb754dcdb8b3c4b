"""The names and types that all kinds share: kinds and resources, keys, metadata, conditions, selectors, quantities, and
the base class of models.
"""

from setpoint.meta.codec import decode, encode, from_wire, json_of, raw_of, remember_raw, to_wire
from setpoint.meta.condition import Condition, find_condition, is_condition_true, remove_condition, set_condition
from setpoint.meta.duration import Duration
from setpoint.meta.invalid_values import Misfit, decode_as_read
from setpoint.meta.json_document import DecodeError, TooDeep, elements, end_of_value, members, plain, with_valid_unicode
from setpoint.meta.model import ApiModel, Model, Object, resource_of
from setpoint.meta.model_fields import wire_name
from setpoint.meta.object_head import Head, head_in, head_of
from setpoint.meta.object_key import ObjectKey
from setpoint.meta.object_meta import ListMeta, ManagedFieldsEntry, ObjectMeta, OwnerReference
from setpoint.meta.quantity import IntOrString, Quantity
from setpoint.meta.resource import (
    GroupKind,
    GroupResource,
    GroupVersion,
    GroupVersionKind,
    GroupVersionResource,
    Resource,
)
from setpoint.meta.selector_requirements import Requirement, SelectorError
from setpoint.meta.selectors import (
    EVERYTHING,
    FieldSelector,
    LabelSelector,
    LabelSelectorRequirement,
    Selector,
)
from setpoint.meta.status import Status, StatusCause, StatusDetails
from setpoint.meta.time_format import MicroTime, format_micro_time, format_time, parse_time

__all__ = [
    "EVERYTHING",
    "ApiModel",
    "Condition",
    "DecodeError",
    "Duration",
    "FieldSelector",
    "GroupKind",
    "GroupResource",
    "GroupVersion",
    "GroupVersionKind",
    "GroupVersionResource",
    "Head",
    "IntOrString",
    "LabelSelector",
    "LabelSelectorRequirement",
    "ListMeta",
    "ManagedFieldsEntry",
    "MicroTime",
    "Misfit",
    "Model",
    "Object",
    "ObjectKey",
    "ObjectMeta",
    "OwnerReference",
    "Quantity",
    "Requirement",
    "Resource",
    "Selector",
    "SelectorError",
    "Status",
    "StatusCause",
    "StatusDetails",
    "TooDeep",
    "decode",
    "decode_as_read",
    "elements",
    "encode",
    "end_of_value",
    "find_condition",
    "format_micro_time",
    "format_time",
    "from_wire",
    "head_in",
    "head_of",
    "is_condition_true",
    "json_of",
    "members",
    "parse_time",
    "plain",
    "raw_of",
    "remember_raw",
    "remove_condition",
    "resource_of",
    "set_condition",
    "to_wire",
    "wire_name",
    "with_valid_unicode",
]
