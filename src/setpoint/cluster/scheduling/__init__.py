"""The scheduler: chooses the node that a pod is bound to, as kube-scheduler does with its default plugins."""

from setpoint.cluster.scheduling.scheduler import Scheduler

__all__ = ["Scheduler"]
