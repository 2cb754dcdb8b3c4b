"""Python classes from CustomResourceDefinitions: `definitions_to_source` writes a module of them."""

from setpoint.scaffold.classes.module import definitions_to_source
from setpoint.scaffold.classes.record import SchemaProblem

__all__ = ["SchemaProblem", "definitions_to_source"]
