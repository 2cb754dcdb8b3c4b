"""Policies of Jobs: the effect of a failed pod, and the successes that make a Job complete."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from setpoint.cluster.workloads.completion_indexes import read
from setpoint.models.batch_v1 import Job, PodFailurePolicyOnExitCodesRequirement
from setpoint.models.core_v1 import ContainerStatus, Pod


class Verdict(NamedTuple):
    """The action that one failed pod causes: ``FailJob``, ``FailIndex``, ``Ignore`` or ``Count``, and the reason."""

    action: str
    message: str = ""


def verdict(job: Job, pod: Pod) -> Verdict:
    """The verdict of the first rule of the pod failure policy that matches the failed pod; ``Count`` if none
    matches.
    """
    policy = job.spec.pod_failure_policy
    for number, rule in enumerate(policy.rules if policy is not None else ()):
        if rule.on_exit_codes is not None:
            status = next(_matching(pod, rule.on_exit_codes), None)
            if status is None or status.state is None or status.state.terminated is None:
                continue
            reason = (
                f"Container {status.name} for pod {pod.key} failed with exit code {status.state.terminated.exit_code}"
            )
        else:
            wanted = {(pattern.type, pattern.status or "True") for pattern in rule.on_pod_conditions}
            matching = next(
                (condition for condition in pod.status.conditions if (condition.type, condition.status) in wanted), None
            )
            if matching is None:
                continue
            reason = f"Pod {pod.key} has condition {matching.type}"
        return Verdict(rule.action, f"{reason} matching {rule.action} rule at index {number}")
    return Verdict("Count")


def success(job: Job, succeeded: set[int]) -> str | None:
    """The message of the first rule of the success policy that is met; None if no rule is met."""
    policy = job.spec.success_policy
    completions = job.spec.completions or 0
    for number, rule in enumerate(policy.rules if policy is not None else ()):
        wanted = read(rule.succeeded_indexes, completions) if rule.succeeded_indexes is not None else None
        indexes = succeeded if wanted is None else succeeded & wanted
        least = rule.succeeded_count if rule.succeeded_count is not None else len(wanted or ())
        if least and len(indexes) >= least:
            return f"Matched rules at index {number}"
    return None


def _matching(pod: Pod, rule: PodFailurePolicyOnExitCodesRequirement) -> Iterator[ContainerStatus]:
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        ended = status.state.terminated if status.state is not None else None
        if ended is None or not ended.exit_code or rule.container_name not in (None, "", status.name):
            continue
        if (ended.exit_code in rule.values) == (rule.operator == "In"):
            yield status
