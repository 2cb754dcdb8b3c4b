"""The base class of custom resources' statuses."""

from __future__ import annotations

from typing import Annotated

from setpoint.crd.field import Field
from setpoint.meta import Condition, Model, find_condition


class ConditionedStatus(Model):
    """A status with conditions and the observed generation.

    The controller sets ``observed_generation`` and the conditions' transition times; see
    https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md
    """

    observed_generation: Annotated[
        int | None, Field(description="the generation of the spec that this status reports on")
    ] = None
    conditions: Annotated[
        list[Condition], Field(list_map_keys=("type",), description="the observed conditions of the object, by type")
    ] = []

    def condition(self, type: str) -> Condition | None:
        """The condition of that type; None if it is not set."""
        return find_condition(self.conditions, type)
