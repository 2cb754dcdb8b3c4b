"""scalekinds.py: QueueScaler, as users write it, and the memory in its status."""

from datetime import datetime
from typing import Annotated

import setpoint as sp

Name = Annotated[str, sp.Field(min_length=1, max_length=253)]


class Target(sp.Model):
    """An object with a scale subresource."""

    api_version: str = "apps/v1"
    kind: Annotated[str, sp.Field(min_length=1)] = "Deployment"
    name: Name


class QueueScalerSpec(
    sp.Model,
    rules=[
        sp.ValidationRule(
            rule="self.minReplicas <= self.maxReplicas", message="minReplicas must not be more than maxReplicas"
        ),
        sp.ValidationRule(
            rule="duration(self.poll) >= duration('1s') && duration(self.poll) <= duration('10m')",
            message="poll must be 1s to 10m",
        ),
        sp.ValidationRule(
            rule="[self.scaleDownWindow, self.scaleUpWindow].all(each, duration(each) >= duration('0s') && "
            "duration(each) <= duration('1h'))",
            message="scaleDownWindow and scaleUpWindow must be 0s to 1h",
        ),
    ],
):
    scale_target_ref: Target
    queue: Annotated[str, sp.Field(pattern=r"^[\w.-]+$", max_length=253)]
    messages_per_replica: Annotated[int, sp.Field(ge=1)]
    min_replicas: Annotated[int, sp.Field(ge=0)] = 1
    max_replicas: Annotated[int, sp.Field(ge=1)]
    poll: sp.Duration = sp.Duration(seconds=15)
    scale_down_window: sp.Duration = sp.Duration(minutes=5)
    """The time for which fewer replicas must have been enough before there are fewer."""
    scale_up_window: sp.Duration = sp.Duration(0)


class Mark(sp.Model):
    """A number of replicas that was proposed until a time."""

    replicas: int
    until: datetime


class Change(sp.Model):
    """The last change of the target by this QueueScaler. It is noted before it is made, and done when it is made."""

    uid: str
    before: int
    after: int
    done: bool = False


class Hold(sp.Model):
    """A number of replicas that is not this QueueScaler's, at a generation of its spec."""

    uid: str
    replicas: int
    generation: int


class QueueScalerStatus(sp.ConditionedStatus):
    messages: int | None = None
    current_replicas: int | None = None
    desired_replicas: int | None = None
    proposed: int | None = None
    """The number that the last look at the queue asked for, before any window."""
    highest: list[Mark] = []
    lowest: list[Mark] = []
    change: Change | None = None
    hold: Hold | None = None
    last_scale_time: datetime | None = None


class QueueScaler(
    sp.CustomResource,
    group="scaling.example.com",
    version="v1",
    short_names=("qs",),
    columns=(
        sp.Column("Target", ".spec.scaleTargetRef.name"),
        sp.Column("Messages", ".status.messages"),
        sp.Column("Replicas", ".status.currentReplicas"),
        sp.Column("Active", ".status.conditions[?(@.type=='ScalingActive')].status"),
        sp.Column("Reason", ".status.conditions[?(@.type=='ScalingActive')].reason"),
    ),
):
    """The number of replicas of a target, by the length of a queue."""

    spec: QueueScalerSpec
    status: QueueScalerStatus = QueueScalerStatus()
