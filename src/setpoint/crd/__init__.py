"""Custom resources: Python classes to CustomResourceDefinitions."""

from setpoint.crd.custom_resource import Column, CustomResource, Definition, DefinitionError, Scale
from setpoint.crd.definition import crd_for
from setpoint.crd.field import Field, Rule
from setpoint.crd.schema import schema_of, schema_of_type
from setpoint.crd.status import Status

__all__ = [
    "Column",
    "CustomResource",
    "Definition",
    "DefinitionError",
    "Field",
    "Rule",
    "Scale",
    "Status",
    "crd_for",
    "schema_of",
    "schema_of_type",
]
