"""Custom resources: CustomResourceDefinitions from Python classes."""

from setpoint.crd.cel_rule import ValidationRule, at_least_one_of, at_most_one_of, exactly_one_of, immutable
from setpoint.crd.conditioned_status import ConditionedStatus
from setpoint.crd.conversion import Conversion
from setpoint.crd.conversion_verification import verify
from setpoint.crd.custom_resource import Column, CustomResource, Definition, ScaleSubresource
from setpoint.crd.definition import crd_for
from setpoint.crd.errors import ConversionError, DefinitionError
from setpoint.crd.field import Field
from setpoint.crd.schema import schema_of, schema_of_type
from setpoint.crd.versions import Versions

__all__ = [
    "Column",
    "ConditionedStatus",
    "Conversion",
    "ConversionError",
    "CustomResource",
    "Definition",
    "DefinitionError",
    "Field",
    "ScaleSubresource",
    "ValidationRule",
    "Versions",
    "at_least_one_of",
    "at_most_one_of",
    "crd_for",
    "exactly_one_of",
    "immutable",
    "schema_of",
    "schema_of_type",
    "verify",
]
