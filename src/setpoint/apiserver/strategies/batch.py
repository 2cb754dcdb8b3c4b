"""Jobs and cron jobs: defaults, the selector that every job is given, and what can't be changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from setpoint.apiserver.strategies.cron import schedule_problem
from setpoint.apiserver.strategies.pod_template import default_template, template_errors
from setpoint.apiserver.strategies.rules.row import Table, at_least, row
from setpoint.apiserver.strategies.strategy import JsonObject, Strategy
from setpoint.schema import FieldError
from setpoint.schema.errors import invalid, not_supported, required

if TYPE_CHECKING:
    from setpoint.apiserver.resources.behaviour import WriteContext

__all__ = ["CronJobs", "Jobs"]

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
    if spec.get("podReplacementPolicy") is None:
        spec["podReplacementPolicy"] = "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed"


def _job_spec_errors(spec: JsonObject, path: str) -> list[FieldError]:
    errors = [
        invalid(f"{path}.{name}", spec[name], "must be greater than or equal to 0")
        for name in ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
        if isinstance(spec.get(name), int) and spec[name] < 0
    ]
    if spec.get("completionMode") not in (None, "NonIndexed", "Indexed"):
        errors.append(not_supported(f"{path}.completionMode", spec["completionMode"], ("Indexed", "NonIndexed")))
    template = spec.get("template")
    errors += template_errors(template, f"{path}.template", restart=("Always", *_RESTARTS))
    policy = ((template or {}).get("spec") or {}).get("restartPolicy")
    if policy in (None, "Always"):
        text = 'valid values: "OnFailure", "Never"'
        errors.append(required(f"{path}.template.spec.restartPolicy", text))
    return errors


class _WithTemplate(Strategy):
    generation = True

    def template(self, spec: JsonObject) -> JsonObject:
        made: Any = spec.get("template")
        if made is None:
            made = spec["template"] = {}
        if isinstance(made, dict) and made.get("spec") is None:
            made["spec"] = {}
        default_template(made)
        return made if isinstance(made, dict) else {}


class Jobs(_WithTemplate):
    """A job's selector is made of its uid, unless it says ``manualSelector``."""

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
            obj["metadata"]["labels"] = dict(labels)

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        obj["status"] = {}

    def admit(self, obj: JsonObject, old: JsonObject | None) -> None:
        spec = obj["spec"]
        if old is not None or spec.get("manualSelector") or spec.get("selector"):
            return
        uid, name = obj["metadata"]["uid"], obj["metadata"]["name"]
        labels = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
        labels |= {_UID: uid, _NAME: name, "controller-uid": uid, "job-name": name}
        # Upstream the labels of a job that has none of its own are its template's, and the same map.
        own = obj["metadata"].get("labels")
        if own is None or own.items() <= labels.items():
            obj["metadata"]["labels"] = dict(labels)
        spec["selector"] = {"matchLabels": {_UID: uid}}

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        spec = obj.get("spec")
        if not isinstance(spec, dict):
            return []
        errors = _job_spec_errors(spec, "spec")
        if old is not None:
            errors += [
                invalid(f"spec.{name}", spec.get(name), "field is immutable")
                for name in ("selector", "completionMode")
                if spec.get(name) != old["spec"].get(name)
            ]
        return errors


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
        job = spec.get("jobTemplate")
        if isinstance(job, dict):
            job.setdefault("metadata", {})
            if isinstance(job.get("spec"), dict):
                self.template(job["spec"])

    def prepare_create(self, call: WriteContext, obj: JsonObject) -> None:
        obj["status"] = {}

    def validate(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        spec = obj.get("spec")
        if not isinstance(spec, dict):
            return []
        errors: list[FieldError] = []
        schedule = spec.get("schedule")
        if not schedule:
            errors.append(required("spec.schedule"))
        elif problem := schedule_problem(schedule):
            errors.append(invalid("spec.schedule", schedule, problem))
        zone = "TZ" in (schedule or "")
        if zone and not (old is not None and "TZ" in ((old.get("spec") or {}).get("schedule") or "")):
            text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            errors.append(invalid("spec.schedule", schedule, text))
        errors += _CRON_JOB.errors(obj, old, spec, "spec")
        policy = spec.get("concurrencyPolicy")
        if policy not in _POLICIES:
            errors.append(not_supported("spec.concurrencyPolicy", policy, _POLICIES))
        job = spec.get("jobTemplate")
        if isinstance(job, dict) and isinstance(job.get("spec"), dict):
            errors += _job_spec_errors(job["spec"], "spec.jobTemplate.spec")
        name = obj["metadata"].get("name", "")
        if len(name) > 52:
            errors.append(invalid("metadata.name", name, "must be no more than 52 characters"))
        return errors
