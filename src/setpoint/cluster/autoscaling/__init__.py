"""HorizontalPodAutoscalers: how many replicas the metrics ask for, and how fast there may be more or fewer."""

from setpoint.cluster.autoscaling.autoscalers import Autoscalers

__all__ = ["Autoscalers"]
