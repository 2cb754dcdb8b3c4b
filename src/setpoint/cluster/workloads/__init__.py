"""Workloads, which create pods from templates: Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs."""
