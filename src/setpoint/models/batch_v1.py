# Generated from Kubernetes 1.37 by tools/generate_models.py: do not edit, run `make models`.
"""batch/v1."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

import msgspec

from setpoint.meta import ApiModel, LabelSelector, Object, ObjectMeta, Resource
from setpoint.models import _table
from setpoint.models._kind_list import KindList
from setpoint.models._mixins import JobMixin
from setpoint.models.core_v1 import Container, ObjectReference, PodSpec, PodTemplateSpec
from setpoint.models.scheduling_v1alpha3 import (
    WorkloadPodGroupDisruptionMode,
    WorkloadPodGroupResourceClaim,
    WorkloadPodGroupSchedulingConstraints,
    WorkloadPodGroupSchedulingPolicy,
)


class CronJobSpec(ApiModel):
    """CronJobSpec describes how the job execution will look like and when it will actually run."""

    concurrency_policy: str | None = None
    """Specifies how to treat concurrent executions of a Job."""
    failed_jobs_history_limit: int | None = None
    """The number of failed finished jobs to retain. Defaults to 1."""
    job_template: JobTemplateSpec
    """Specifies the job that will be created when executing a CronJob."""
    schedule: str
    """The schedule in Cron format, see https://en.wikipedia.org/wiki/Cron."""
    starting_deadline_seconds: int | None = None
    """Optional deadline in seconds for starting the job if it misses scheduled time for any reason."""
    successful_jobs_history_limit: int | None = None
    """The number of successful finished jobs to retain. Defaults to 3."""
    suspend: bool | None = None
    """This flag tells the controller to suspend subsequent executions, it does not apply to already started executions.
    Defaults to false.
    """
    time_zone: str | None = None
    """The time zone name for the given schedule, see https://en.wikipedia.org/wiki/List_of_tz_database_time_zones."""


class CronJobStatus(ApiModel):
    """CronJobStatus represents the current state of a cron job."""

    active: list[ObjectReference] = []
    """A list of pointers to currently running jobs."""
    last_schedule_time: datetime | None = None
    """Information when was the last time the job was successfully scheduled."""
    last_successful_time: datetime | None = None
    """Information when was the last time the job successfully completed."""


class JobCondition(ApiModel):
    """JobCondition describes current state of a job."""

    last_probe_time: datetime | None = None
    """Last time the condition was checked."""
    last_transition_time: datetime | None = None
    """Last time the condition transit from one status to another."""
    message: str | None = None
    """Human readable message indicating details about last transition."""
    reason: str | None = None
    """(brief) reason for the condition's last transition."""
    status: str
    """Status of the condition, one of True, False, Unknown."""
    type: str
    """Type of job condition, Complete or Failed."""


class JobSchedulingConfiguration(ApiModel):
    """JobSchedulingConfiguration composes the reusable workload-aware scheduling building blocks."""

    disruption_mode: WorkloadPodGroupDisruptionMode | None = None
    """DisruptionMode defines the mode in which the Job's pods can be disrupted."""
    resource_claims: list[WorkloadPodGroupResourceClaim] = []
    """ResourceClaims defines which ResourceClaims may be shared among Pods in the Job."""
    scheduling_constraints: WorkloadPodGroupSchedulingConstraints | None = None
    """SchedulingConstraints defines scheduling constraints (e.g. topology) for the Job's pods."""
    scheduling_policy: WorkloadPodGroupSchedulingPolicy | None = None
    """SchedulingPolicy defines the scheduling policy for this Job."""


class JobSpec(ApiModel):
    """JobSpec describes how the job execution will look like."""

    active_deadline_seconds: int | None = None
    """Specifies the duration in seconds relative to the startTime that the job may be continuously active before the
    system tries to terminate it; value must be positive integer.
    """
    backoff_limit: int | None = None
    """Specifies the number of retries before marking this job failed. Defaults to 6, unless backoffLimitPerIndex (only
    Indexed Job) is specified.
    """
    backoff_limit_per_index: int | None = None
    """Specifies the limit for the number of retries within an index before marking this index as failed."""
    completion_mode: str | None = None
    """completionMode specifies how Pod completions are tracked."""
    completions: int | None = None
    """Specifies the desired number of successfully finished pods the job should be run with."""
    managed_by: str | None = None
    """ManagedBy field indicates the controller that manages a Job."""
    manual_selector: bool | None = None
    """manualSelector controls generation of pod labels and pod selectors."""
    max_failed_indexes: int | None = None
    """Specifies the maximal number of failed indexes before marking the Job as failed, when backoffLimitPerIndex is
    set.
    """
    parallelism: int | None = None
    """Specifies the maximum desired number of pods the job should run at any given time."""
    pod_failure_policy: PodFailurePolicy | None = None
    """Specifies the policy of handling failed pods."""
    pod_replacement_policy: str | None = None
    """podReplacementPolicy specifies when to create replacement Pods."""
    scheduling: JobSchedulingConfiguration | None = None
    """scheduling defines the Workload-aware Scheduling configuration for this Job."""
    selector: LabelSelector | None = None
    """A label query over pods that should match the pod count."""
    success_policy: SuccessPolicy | None = None
    """successPolicy specifies the policy when the Job can be declared as succeeded."""
    suspend: bool | None = None
    """suspend specifies whether the Job controller should create Pods or not. Defaults to false."""
    template: PodTemplateSpec
    """Describes the pod that will be created when executing a job."""
    ttl_seconds_after_finished: int | None = None
    """ttlSecondsAfterFinished limits the lifetime of a Job that has finished execution (either Complete or Failed)."""


class JobStatus(ApiModel):
    """JobStatus represents the current state of a Job."""

    active: int | None = None
    """The number of pending and running pods which are not terminating (without a deletionTimestamp)."""
    completed_indexes: str | None = None
    """completedIndexes holds the completed indexes when .spec.completionMode = "Indexed" in a text format."""
    completion_time: datetime | None = None
    """Represents time when the job was completed."""
    conditions: list[JobCondition] = []
    """The latest available observations of an object's current state."""
    failed: int | None = None
    """The number of pods which reached phase Failed."""
    failed_indexes: str | None = None
    """FailedIndexes holds the failed indexes when spec.backoffLimitPerIndex is set."""
    ready: int | None = None
    """The number of active pods which have a Ready condition and are not terminating (without a deletionTimestamp)."""
    start_time: datetime | None = None
    """Represents time when the job controller started processing a job."""
    succeeded: int | None = None
    """The number of pods which reached phase Succeeded."""
    terminating: int | None = None
    """The number of pods which are terminating (in phase Pending or Running and have a deletionTimestamp)."""
    uncounted_terminated_pods: UncountedTerminatedPods | None = None
    """uncountedTerminatedPods holds the UIDs of Pods that have terminated but the job controller hasn't yet accounted
    for in the status counters.
    """


class JobTemplateSpec(ApiModel):
    """JobTemplateSpec describes the data a Job should have when created from a template"""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    """Standard object's metadata of the jobs created from this template."""
    spec: JobSpec
    """Specification of the desired behavior of the job."""


class PodFailurePolicy(ApiModel):
    """PodFailurePolicy describes how failed pods influence the backoffLimit."""

    rules: list[PodFailurePolicyRule]
    """A list of pod failure policy rules. The rules are evaluated in order. Once a rule matches a Pod failure, the
    remaining of the rules are ignored. At most 20 elements are allowed.
    """


class PodFailurePolicyOnExitCodesRequirement(ApiModel):
    """PodFailurePolicyOnExitCodesRequirement describes the requirement for handling a failed pod based on its container
    exit codes. In particular, it lookups the .state.terminated.exitCode for each app container and init container
    status, represented by the .status.containerStatuses and .status.initContainerStatuses fields in the Pod status,
    respectively. Containers completed with success (exit code 0) are excluded from the requirement check.
    """

    container_name: str | None = None
    """Restricts the check for exit codes to the container with the specified name."""
    operator: str
    """Represents the relationship between the container exit code(s) and the specified values."""
    values: list[int]
    """Specifies the set of values. Each returned container exit code (might be multiple in case of multiple containers)
    is checked against this set of values with respect to the operator. The list of values must be ordered and must not
    contain duplicates.
    """


class PodFailurePolicyOnPodConditionsPattern(ApiModel):
    """PodFailurePolicyOnPodConditionsPattern describes a pattern for matching an actual pod condition type."""

    status: str | None = None
    """Specifies the required Pod condition status. Defaults to True."""
    type: str
    """Specifies the required Pod condition type."""


class PodFailurePolicyRule(ApiModel):
    """PodFailurePolicyRule describes how a pod failure is handled when the requirements are met. One of onExitCodes and
    onPodConditions, but not both, can be used in each rule.
    """

    action: str
    """Specifies the action taken on a pod failure when the requirements are satisfied."""
    on_exit_codes: PodFailurePolicyOnExitCodesRequirement | None = None
    """Represents the requirement on the container exit codes."""
    on_pod_conditions: list[PodFailurePolicyOnPodConditionsPattern] = []
    """Represents the requirement on the pod conditions."""


class SuccessPolicy(ApiModel):
    """SuccessPolicy describes when a Job can be declared as succeeded based on the success of some indexes."""

    rules: list[SuccessPolicyRule]
    """rules represents the list of alternative rules for the declaring the Jobs as successful before `.status.succeeded
    >= .spec.completions`.
    """


class SuccessPolicyRule(ApiModel):
    """SuccessPolicyRule describes rule for declaring a Job as succeeded. Each rule must have at least one of the
    "succeededIndexes" or "succeededCount" specified.
    """

    succeeded_count: int | None = None
    """succeededCount specifies the minimal required size of the actual set of the succeeded indexes for the Job."""
    succeeded_indexes: str | None = None
    """succeededIndexes specifies the set of indexes which need to be contained in the actual set of the succeeded
    indexes for the Job.
    """


class UncountedTerminatedPods(ApiModel):
    """UncountedTerminatedPods holds UIDs of Pods that have terminated but haven't been accounted in Job status
    counters.
    """

    failed: list[str] = []
    """failed holds UIDs of failed Pods."""
    succeeded: list[str] = []
    """succeeded holds UIDs of succeeded Pods."""


class CronJob(Object, ApiModel):
    """CronJob represents the configuration of a single cron job."""

    resource: ClassVar[Resource] = _table.BATCH_V1_CRON_JOB

    spec: CronJobSpec = msgspec.field(default_factory=lambda: CronJobSpec(job_template=JobTemplateSpec(spec=JobSpec(template=PodTemplateSpec(spec=PodSpec(containers=[])))), schedule=""))
    """Specification of the desired behavior of a cron job, including the schedule."""
    status: CronJobStatus = msgspec.field(default_factory=CronJobStatus)
    """Current status of a cron job."""


class Job(JobMixin, Object, ApiModel):
    """Job represents the configuration of a single job."""

    resource: ClassVar[Resource] = _table.BATCH_V1_JOB

    spec: JobSpec = msgspec.field(default_factory=lambda: JobSpec(template=PodTemplateSpec(spec=PodSpec(containers=[]))))
    """Specification of the desired behavior of a job."""
    status: JobStatus = msgspec.field(default_factory=JobStatus)
    """Current status of a job."""


class CronJobList(KindList[CronJob]):
    """CronJobList is a collection of cron jobs."""

    api_version: ClassVar[str] = "batch/v1"
    kind: ClassVar[str] = "CronJobList"


class JobList(KindList[Job]):
    """JobList is a collection of jobs."""

    api_version: ClassVar[str] = "batch/v1"
    kind: ClassVar[str] = "JobList"
