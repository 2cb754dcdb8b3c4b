"""HorizontalPodAutoscalers: the replicas that metrics need, and the limits on the speed of changes."""

from setpoint.cluster.autoscaling.autoscalers import Autoscalers

__all__ = ["Autoscalers"]
