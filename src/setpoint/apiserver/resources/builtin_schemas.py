"""The schemas of the built-in kinds."""

from __future__ import annotations

from functools import cache

from setpoint.models import schemas
from setpoint.schema import Schemas

__all__ = ["built_in_schemas"]


@cache
def built_in_schemas() -> Schemas:
    """The schemas of the built-in kinds, each made when it is first needed. They are immutable and shared by all
    servers.
    """
    return Schemas(schemas())
