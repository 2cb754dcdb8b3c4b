"""The status of a job: conditions, counts and indexes must be consistent, and a finished job stays finished.

Most rules concern a change: an error that the status already had before the write is not reported again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.job_indexes import index_intervals, indexes_problem
from setpoint.schema import FieldError, json_equal
from setpoint.schema.errors import OMITTED, Shown, duplicate, invalid, required

Errors = list[FieldError]
_CONDITIONS: Final = "status.conditions"
_TERMINAL: Final = ("Failed", "Complete", "FailureTarget")


class _Job:
    """A status together with its job's spec."""

    def __init__(self, obj: JsonObject) -> None:
        self.spec: JsonObject = obj.get("spec") or {}
        self.status: JsonObject = obj.get("status") or {}
        self.true = {
            item.get("type", "") for item in self.status.get("conditions") or () if item.get("status") == "True"
        }
        self.resumed = any(
            item.get("type") == "Suspended" and item.get("status") == "False"
            for item in self.status.get("conditions") or ()
        )

    @property
    def finished(self) -> bool:
        return bool(self.true & {"Complete", "Failed"})

    def count(self, name: str) -> int:
        count: int = self.status.get(name) or 0
        return count


def job_status_errors(obj: JsonObject, old: JsonObject) -> Errors:
    """The errors in a write of ``jobs/status``; ``old`` is the job before the write."""
    new, before = _Job(obj), _Job(old)
    return [*_counts(new), *_uncounted(new), *_state(new, before), *_indexes(new, before), *_transition(new, before)]


def _counts(job: _Job) -> Iterator[FieldError]:
    for name in ("active", "succeeded", "failed", "ready", "terminating"):
        if job.count(name) < 0:
            yield invalid(f"status.{name}", job.status[name], "must be greater than or equal to 0")


def _uncounted(job: _Job) -> Iterator[FieldError]:
    previous: set[str] = set()
    for name in ("succeeded", "failed"):
        for index, uid in enumerate((job.status.get("uncountedTerminatedPods") or {}).get(name) or ()):
            path = f"status.uncountedTerminatedPods.{name}[{index}]"
            if not uid:
                yield invalid(path, uid, "must not be empty")
            elif uid in previous:
                yield duplicate(path, uid)
            previous.add(uid)


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _state(new: _Job, old: _Job) -> Iterator[FieldError]:
    """The inconsistencies between conditions, times and counts."""

    def turned(*kinds: str) -> bool:
        return any((kind in new.true) != (kind in old.true) for kind in kinds)

    def changed(*names: str) -> bool:
        return any(not json_equal(new.status.get(name), old.status.get(name)) for name in names)

    status, finished = new.status, new.finished
    ended = finished != old.finished
    start, end = status.get("startTime"), status.get("completionTime")
    complete, failed, met, target = (
        kind in new.true for kind in ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget")
    )
    if complete and failed and turned("Complete", "Failed"):
        yield invalid(_CONDITIONS, OMITTED, "cannot set Complete=True and Failed=true conditions")
    if complete and target and turned("Complete", "FailureTarget"):
        yield invalid(_CONDITIONS, OMITTED, "cannot set Complete=True and FailureTarget=true conditions")
    if turned("Complete") or changed("completionTime"):
        if end is not None and not complete:
            text = "cannot set completionTime when there is no Complete=True condition"
            yield invalid("status.completionTime", end, text)
        if end is None and complete:
            yield required("status.completionTime", "completionTime is required for Complete jobs")
    first, last = _time(start), _time(end)
    if first is not None and last is not None and last < first and changed("startTime", "completionTime"):
        yield invalid("status.completionTime", end, "must be equal to or after `startTime`")
    if failed and not target and (turned("Failed") or changed("failedIndexes")):
        text = "cannot set Failed=True condition without the FailureTarget=true condition"
        yield invalid(_CONDITIONS, OMITTED, text)
    if complete and not met and turned("Complete", "SuccessCriteriaMet"):
        text = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        yield invalid(_CONDITIONS, OMITTED, text)
    if finished and new.count("active") > 0 and (ended or changed("active")):
        yield invalid("status.active", status["active"], "active>0 is invalid for finished job")
    unneeded = bool(new.spec.get("suspend")) and new.spec.get("completions") == 0
    if finished and start is None and (ended or changed("startTime")) and not unneeded:
        yield required("status.startTime", "startTime is required for finished job")
    uncounted = status.get("uncountedTerminatedPods") or {}
    if finished and any(uncounted.values()) and (ended or changed("uncountedTerminatedPods")):
        named = {"Succeeded": uncounted.get("succeeded"), "Failed": uncounted.get("failed")}
        bad_value = Shown(json.dumps(named, separators=(",", ":")))
        yield invalid("status.uncountedTerminatedPods", bad_value, "must be empty for finished job")
    if finished and new.count("terminating") > 0 and (ended or changed("terminating")):
        yield invalid("status.terminating", status["terminating"], "terminating>0 is invalid for finished job")
    if status.get("ready") is not None and new.count("ready") > new.count("active") and changed("ready", "active"):
        yield invalid("status.ready", status["ready"], "cannot set more ready pods than active")
    if met and failed:
        yield invalid(_CONDITIONS, OMITTED, "cannot set SuccessCriteriaMet=True and Failed=true conditions")
    if met and target:
        yield invalid(_CONDITIONS, OMITTED, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
    if new.spec.get("successPolicy") is not None and complete and not met:
        text = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        yield invalid(_CONDITIONS, OMITTED, text)


def _indexes(new: _Job, old: _Job) -> Iterator[FieldError]:
    completions, per_index = new.spec.get("completions"), new.spec.get("backoffLimitPerIndex")
    completed, failed = new.status.get("completedIndexes") or "", new.status.get("failedIndexes")
    more_done = completed != (old.status.get("completedIndexes") or "")
    more_failed = failed != old.status.get("failedIndexes")
    if more_done:
        if completions is not None and (problem := indexes_problem(completed, completions)):
            yield invalid("status.completedIndexes", completed, f"error parsing completedIndexes: {problem}")
        if completed and new.spec.get("completionMode") != "Indexed":
            text = "cannot set non-empty completedIndexes when non-indexed completion mode"
            yield invalid("status.completedIndexes", completed, text)
    if more_failed and failed is not None:
        if per_index is None:
            text = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
            yield invalid("status.failedIndexes", failed, text)
        elif completions is not None and (problem := indexes_problem(failed, completions)):
            yield invalid("status.failedIndexes", failed, f"error parsing failedIndexes: {problem}")
    if (more_done or more_failed) and failed is not None and completions is not None:
        both = _overlap(completed, failed, completions)
        if both is not None:
            text = f"failedIndexes and completedIndexes overlap at index: {both}"
            yield invalid("status.failedIndexes", failed, text)


def _overlap(completed: str, failed: str, completions: int) -> int | None:
    """An index that is in both lists; None if there is none. The intervals must be sorted; invalid ones are skipped."""
    ones, others = index_intervals(completed, completions), index_intervals(failed, completions)
    interval, other_interval = next(ones, None), next(others, None)
    while interval is not None and other_interval is not None:
        (first, end), (start, last) = interval, other_interval
        if first <= last and start <= end:
            return max(first, start)
        if first <= start:
            interval = next(ones, None)
        else:
            other_interval = next(others, None)
    return None


def _transition(new: _Job, old: _Job) -> Iterator[FieldError]:
    """The errors in a change that takes back information on which other controllers may rely."""
    for kind in _TERMINAL:
        if kind in old.true - new.true:
            yield invalid(_CONDITIONS, OMITTED, f"cannot disable the terminal {kind}=True condition")
    if new.count("failed") < old.count("failed"):
        yield invalid("status.failed", new.count("failed"), "cannot decrease the failed counter")
    spec = new.spec
    elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    if not elastic and new.count("succeeded") < old.count("succeeded"):
        yield invalid("status.succeeded", new.count("succeeded"), "cannot decrease the succeeded counter")
    times: tuple[Any, Any] = (old.status.get("completionTime"), new.status.get("completionTime"))
    if None not in times and _time(times[0]) != _time(times[1]):
        yield invalid("status.completionTime", times[1], "field is immutable")
    times = (old.status.get("startTime"), new.status.get("startTime"))
    resuming = "Suspended" in old.true and new.resumed
    if times[0] is not None and not resuming and not spec.get("suspend") and _time(times[0]) != _time(times[1]):
        yield invalid("status.startTime", times[1], "field is immutable for unsuspended job once set")
    if "SuccessCriteriaMet" in old.true - new.true:
        yield invalid(_CONDITIONS, OMITTED, "cannot disable the SuccessCriteriaMet=True condition")
    if "Complete" in old.true and "SuccessCriteriaMet" in new.true - old.true:
        text = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        yield invalid(_CONDITIONS, OMITTED, text)
