"""The schemas of the built-in kinds."""

from __future__ import annotations

from functools import cache

from setpoint.models.history import NEWEST, schemas_of
from setpoint.schema import Schemas


@cache
def built_in_schemas(minor: int = NEWEST) -> Schemas:
    """The schemas of the built-in kinds in a minor version of Kubernetes, each made when it is first needed. They are
    immutable and shared by all servers.
    """
    return Schemas(schemas_of(minor))
