"""The scheduler: which node a pod is bound to, as kube-scheduler decides with its default plugins."""

from setpoint.cluster.scheduling.scheduler import Scheduler

__all__ = ["Scheduler"]
