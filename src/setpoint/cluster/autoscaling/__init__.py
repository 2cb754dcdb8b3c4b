"""HorizontalPodAutoscalers: the number of replicas that metrics call for, and the limits on how fast it changes."""

from setpoint.cluster.autoscaling.horizontal_pod_autoscalers import Autoscalers

__all__ = ["Autoscalers"]
