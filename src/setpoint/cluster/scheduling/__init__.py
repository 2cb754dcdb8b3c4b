"""The scheduler: chooses the node to which a pod is bound, as kube-scheduler does with its default plugins."""

from setpoint.cluster.scheduling.scheduler import Scheduler

__all__ = ["Scheduler"]
