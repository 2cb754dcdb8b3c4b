"""The base class of custom resources' statuses."""

from __future__ import annotations

from typing import Annotated

from setpoint.crd.field import Field
from setpoint.meta import Condition, Model, find_condition


class Status(Model):
    """A status that brings conditions and the generation that it speaks of.

    The controller sets ``observed_generation`` and the conditions' transition times by itself; see
    https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md
    """

    observed_generation: Annotated[
        int | None, Field(description="the generation of the spec that this status speaks of")
    ] = None
    conditions: Annotated[
        list[Condition], Field(list_map_keys=("type",), description="what was observed about the object, by type")
    ] = []

    def condition(self, type: str) -> Condition | None:
        """The condition of that type, or None."""
        return find_condition(self.conditions, type)
