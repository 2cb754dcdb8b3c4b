"""Jobs and cron jobs: defaults, the generated selector of a job, and immutable fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from setpoint.apiserver.resources.strategy import JsonObject, Strategy
from setpoint.apiserver.strategies.cron import schedule_problem, zone_problems
from setpoint.apiserver.strategies.job_status import job_status_errors
from setpoint.apiserver.strategies.jobs import job_change_errors, job_errors, job_spec_errors
from setpoint.apiserver.strategies.pod_template import default_template
from setpoint.apiserver.strategies.rules.rule_table import Table, at_least, row
from setpoint.schema import FieldError
from setpoint.schema.errors import invalid, not_supported, required

if TYPE_CHECKING:
    from setpoint.apiserver.resources.write_context import WriteContext

_MAX_INT: Final = 2**31 - 1
_UID: Final = "batch.kubernetes.io/controller-uid"
_NAME: Final = "batch.kubernetes.io/job-name"
_RESTARTS: Final = ("OnFailure", "Never")
_POLICIES: Final = ("Allow", "Forbid", "Replace")
_WARNING: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


def _default_job_spec(spec: JsonObject) -> None:
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    if spec.get("parallelism") is None:
        spec["parallelism"] = 1
    if spec.get("backoffLimit") is None:
        spec["backoffLimit"] = 6 if spec.get("backoffLimitPerIndex") is None else _MAX_INT
    for name, value in (("completionMode", "NonIndexed"), ("suspend", False), ("manualSelector", False)):
        if spec.get(name) is None:
            spec[name] = value
    failures = spec.get("podFailurePolicy")
    if spec.get("podReplacementPolicy") is None:
        spec["podReplacementPolicy"] = "TerminatingOrFailed" if failures is None else "Failed"
    _default_failures(failures)


def _default_failures(policy: JsonObject | None) -> None:
    for rule in (policy or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern.setdefault("status", "True")


class _WithTemplate(Strategy):
    generation = True
    says_required = True

    def template(self, spec: JsonObject) -> JsonObject:
        template: Any = spec.get("template")
        if template is None:
            template = spec["template"] = {}
        if isinstance(template, dict) and template.get("spec") is None:
            template["spec"] = {}
        default_template(template)
        return template if isinstance(template, dict) else {}


class Jobs(_WithTemplate):
    """Jobs. The selector of a job is derived from its uid, unless the job sets ``manualSelector``."""

    propagation = "Orphan"
    propagation_warning = _WARNING

    def default(self, obj: JsonObject) -> None:
        spec = obj.get("spec")
        if not isinstance(spec, dict):
            return
        template = self.template(spec)
        _default_job_spec(spec)
        labels = (template.get("metadata") or {}).get("labels")
        if labels and not obj["metadata"].get("labels"):
            obj["metadata"]["labels"] = labels  # the same map, as upstream

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        obj["status"] = {}
        spec = obj["spec"]
        if spec.get("manualSelector"):
            return
        uid, name = obj["metadata"]["uid"], obj["metadata"].get("name", "")
        labels = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
        for key, value in (("job-name", name), (_NAME, name), ("controller-uid", uid), (_UID, uid)):
            labels.setdefault(key, value)
        if obj["metadata"].get("labels") is labels:
            obj["metadata"]["labels"] = dict(labels)
        selector = spec.setdefault("selector", {})
        selector["matchLabels"] = {_UID: uid, **(selector.get("matchLabels") or {})}

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        spec = obj.get("spec")
        if not isinstance(spec, dict):
            return []
        return job_errors(obj, new=old is None) + (job_change_errors(obj, old) if old is not None else [])

    def validate_subresource(self, subresource: str, obj: JsonObject, old: JsonObject) -> list[FieldError]:
        return job_status_errors(obj, old)

    def prepare(self, call: WriteContext, obj: JsonObject) -> None:
        labels = ((obj["spec"].get("template") or {}).get("metadata") or {}).get("labels")
        if labels and not obj["metadata"].get("labels"):
            obj["metadata"]["labels"] = dict(labels)


_CRON_JOB: Final = Table(
    (
        row("startingDeadlineSeconds", at_least(0)),
        row("successfulJobsHistoryLimit", at_least(0)),
        row("failedJobsHistoryLimit", at_least(0)),
    )
)


class CronJobs(_WithTemplate):
    def default(self, obj: JsonObject) -> None:
        spec = obj.get("spec")
        if not isinstance(spec, dict):
            return
        for name, value in (
            ("concurrencyPolicy", "Allow"),
            ("suspend", False),
            ("successfulJobsHistoryLimit", 3),
            ("failedJobsHistoryLimit", 1),
        ):
            if spec.get(name) is None:
                spec[name] = value
        job = spec.setdefault("jobTemplate", {})
        if isinstance(job, dict):
            job.setdefault("metadata", {})
            if isinstance(job.setdefault("spec", {}), dict):
                self.template(job["spec"])
                _default_failures(job["spec"].get("podFailurePolicy"))

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        obj["status"] = {}

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        spec = obj.get("spec")
        if not isinstance(spec, dict):
            return []
        errors: list[FieldError] = []
        schedule = spec.get("schedule")
        if schedule and (problem := schedule_problem(schedule)):
            errors.append(invalid("spec.schedule", schedule, problem))
        zone = "TZ" in (schedule or "")
        if zone and not (old is not None and "TZ" in ((old.get("spec") or {}).get("schedule") or "")):
            text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            errors.append(invalid("spec.schedule", schedule, text))
        timezone = spec.get("timeZone")
        if timezone is not None and (old is None or (old.get("spec") or {}).get("timeZone") != timezone):
            errors += [invalid("spec.timeZone", timezone, text) for text in zone_problems(timezone)]
        policy = spec.get("concurrencyPolicy")
        if policy not in _POLICIES:
            errors.append(not_supported("spec.concurrencyPolicy", policy, _POLICIES))
        job = spec.get("jobTemplate")
        if isinstance(job, dict) and isinstance(job.get("spec"), dict):
            errors += job_spec_errors(job["spec"], "spec.jobTemplate.spec")
            if job["spec"].get("selector") is not None:
                text = "`selector` will be auto-generated"
                errors.append(invalid("spec.jobTemplate.spec.selector", job["spec"]["selector"], text))
            if job["spec"].get("manualSelector"):
                errors.append(not_supported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false")))
        errors += _CRON_JOB.errors(obj, old, spec, "spec")
        if not schedule:
            errors.append(required("spec.schedule"))
        name = obj["metadata"].get("name", "")
        if len(name) > 52 and old is None:
            errors.append(invalid("metadata.name", name, "must be no more than 52 characters"))
        return errors
