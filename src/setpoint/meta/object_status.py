"""Standings: the state of any object, derived from its status and metadata; the rules are similar to kstatus's.

https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from setpoint.meta import condition_messages

State = Literal["failed", "stuck", "being deleted", "in progress", "warned", "paused", "current"]
URGENCY: Final[tuple[State, ...]] = ("failed", "stuck", "being deleted", "in progress", "warned", "paused", "current")
"""The states in the order in which objects are listed. An object is *warned* if its status gives no message and the
last event about it is a warning, and *paused* if its spec suspends or pauses it.
"""

# Tuples, not sets: an object may hold a list or a mapping where a word is looked for, and sets refuse these.
_BROKEN: Final = (
    "CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName",
    "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
)  # fmt: skip
"""The reasons for which a container waits until a user intervenes."""
_PLACE: Final = re.compile(r" container=\S+ pod=\S+$")
"""The end of a kubelet's messages, which repeats the name of the pod."""
_FAILING: Final = ("Failed", "Stalled", "Degraded", "ReplicaFailure", "FailureTarget")
"""The types of conditions that mean trouble while they are true."""
_NEEDED: Final = (
    "Ready", "Available", "Established", "NamesAccepted", "Bound", "Healthy", "Synced", "PodScheduled",
)  # fmt: skip
"""The types of conditions that mean that something is missing while they are not true."""
_FAILED: Final = ("Failed", "Error", "Lost")
_UNDER_WAY: Final = ("Pending", "Creating", "Progressing", "Provisioning", "Updating")
_REMAINING: Final = (
    "NamespaceDeletionDiscoveryFailure", "NamespaceDeletionContentFailure", "NamespaceFinalizersRemaining",
    "NamespaceContentRemaining",
)  # fmt: skip
"""The types of the conditions that say what prevents the deletion of a namespace, the most informative first."""
_UNWANTED: Final = frozenset({"f:metadata", "f:status"})
"""The top-level fields of an object that are not part of its wanted state, by their names in managed fields."""
_COUNTED: Final = ("readyReplicas", "updatedReplicas", "availableReplicas")
_PAUSES: Final = {"suspend": "it is suspended (spec.suspend)", "paused": "it is paused (spec.paused)"}
"""The fields of a spec that stop the work on an object, with their meaning."""


class Standing(NamedTuple):
    """The state of an object, and the reason for it; ``text`` is ``""`` if the object does not give a reason.

    ``since`` is the time (RFC 3339) of the condition or deletion that is the reason, ``""`` if there is no such time.
    ``explained`` says whether the text is a message for people, and not only a number or a phase.
    """

    state: State
    text: str
    since: str = ""
    explained: bool = False


class Difference(NamedTuple):
    """A field of the spec, and the field of the status that shows how far the spec has been carried out."""

    wanted: str
    wanted_value: Any
    actual: str
    actual_value: Any

    @property
    def differs(self) -> bool:
        return bool(self.wanted_value != self.actual_value)


def standing(obj: Mapping[str, Any]) -> Standing:
    """The state of an object. Never raises, whatever the object contains."""
    metadata, status = _mapping(obj, "metadata"), _mapping(obj, "status")
    conditions = list(_conditions(status))
    if metadata.get("deletionTimestamp"):
        return Standing("being deleted", *_held_back(metadata, conditions))
    if trouble := next(_troubles(str(obj.get("kind")), status, conditions), None):
        return Standing("failed", *_dated(trouble, conditions))
    if status.get("phase") == "Succeeded" or any(_is(condition, "Complete") for condition in conditions):
        return Standing("current", "complete")
    spec = _mapping(obj, "spec")
    for name, meaning in _PAUSES.items():
        if spec.get(name) is True:
            return Standing("paused", meaning, explained=True)
    for condition in conditions:
        if _is(condition, "PodScheduled", "False"):  # a pod that has no node has no other trouble worth telling
            return Standing("stuck", *_unscheduled(_condition_reason(condition), spec))
    if lacking := next(_lacking(obj, status, conditions), None):
        return Standing("in progress", *_dated(lacking, conditions))
    if obj.get("kind") == "ResourceQuota" and _group(obj) == "":
        return Standing("current", _used(status))
    return Standing("current", _fine(status, conditions))


def ready(obj: Mapping[str, Any]) -> str:
    """The number of an object's replicas or pods that are ready, such as ``1 of 3 ready``, or a Job's completions;
    ``""`` if the object has no such number.
    """
    spec, status = _mapping(obj, "spec"), _mapping(obj, "status")
    if obj.get("kind") == "Job" and _group(obj) == "batch":
        wanted = spec.get("completions")
        done = status.get("succeeded", 0)
        failed = status.get("failed", 0)
        counted = f"{done} of {wanted} complete" if isinstance(wanted, int) else f"{done} complete"
        return f"{counted}, {failed} failed" if failed else counted
    if "desiredNumberScheduled" in status:
        return f"{status.get('numberReady', 0)} of {status['desiredNumberScheduled']} ready"
    wanted = spec.get("replicas")
    if isinstance(wanted, int) and ("readyReplicas" in status or _is_workload(obj)):
        return f"{status.get('readyReplicas', 0)} of {wanted} ready"
    return ""


def progress(obj: Mapping[str, Any]) -> str:
    """The time (RFC 3339) of the object's last recorded step: its creation, the request to delete it, the last write of
    its wanted state, or the last change of a condition from one status to another. ``""`` if no such time is
    recorded.
    """
    metadata = _mapping(obj, "metadata")
    times = [metadata.get("creationTimestamp"), metadata.get("deletionTimestamp")]
    times += [condition.get("lastTransitionTime") for condition in _conditions(_mapping(obj, "status"))]
    for entry in _list(metadata, "managedFields"):
        if isinstance(entry, dict) and not entry.get("subresource") and _mapping(entry, "fieldsV1").keys() - _UNWANTED:
            times.append(entry.get("time"))
    return max((time for time in times if isinstance(time, str)), default="")


def differences(obj: Mapping[str, Any]) -> list[Difference]:
    """The pairs of a wanted and an actual value: the generation and the observed generation, the replicas and the ready
    replicas, and scalar fields that have the same name in spec and status.
    """
    metadata, spec, status = (_mapping(obj, name) for name in ("metadata", "spec", "status"))
    pairs: list[Difference] = []
    if "observedGeneration" in status:
        generation, observed = metadata.get("generation"), status["observedGeneration"]
        pairs.append(Difference("metadata.generation", generation, "status.observedGeneration", observed))
    for name, value in spec.items():
        if name in status and _scalar(value) and _scalar(status[name]):
            pairs.append(Difference(f"spec.{name}", value, f"status.{name}", status[name]))
    wanted = spec.get("replicas")
    if isinstance(wanted, int):
        for name in _COUNTED:
            if name in status or (name == "readyReplicas" and _is_workload(obj)):
                pairs.append(Difference("spec.replicas", wanted, f"status.{name}", status.get(name, 0)))
    if "desiredNumberScheduled" in status:
        ready = status.get("numberReady", 0)
        desired = status["desiredNumberScheduled"]
        pairs.append(Difference("status.desiredNumberScheduled", desired, "status.numberReady", ready))
    return pairs


class _Why(NamedTuple):
    """A reason; see `Standing`."""

    text: str
    since: str = ""
    explained: bool = False


def _dated(why: _Why, conditions: list[Mapping[str, Any]]) -> _Why:
    """The reason with a time. If ``why`` has none, the time is that of a condition which says that something is
    missing.
    """
    if why.since:
        return why
    missing = (condition for name in _NEEDED for condition in conditions if _is(condition, name, "False"))
    return why._replace(since=next((str(condition.get("lastTransitionTime") or "") for condition in missing), ""))


def _held_back(metadata: Mapping[str, Any], conditions: list[Mapping[str, Any]]) -> _Why:
    """The reason why an object that is being deleted still exists."""
    since = str(metadata["deletionTimestamp"])
    if finalizers := [str(finalizer) for finalizer in _list(metadata, "finalizers")]:
        some = "finalizer" if len(finalizers) == 1 else "finalizers"
        return _Why(f"waits for the {some} {', '.join(finalizers)}", since)
    for name in _REMAINING:  # a namespace tells of its content
        for condition in conditions:
            if _is(condition, name) and condition.get("message"):
                return _Why(str(condition["message"]), since, explained=True)
    return _Why("is being stopped", since)


def _troubles(kind: str, status: Mapping[str, Any], conditions: list[Mapping[str, Any]]) -> Iterator[_Why]:
    """The reasons why the object will not reach its wanted state without intervention."""
    for container in _containers(status):
        waiting = _mapping(_mapping(container, "state"), "waiting")
        if waiting.get("reason") in _BROKEN:
            yield _waits(container, waiting)._replace(explained=True)
    for container in conditions:
        if container.get("status") == "True" and container.get("type") in _FAILING:
            yield _condition_reason(container, kind)
        is_late = kind == "Deployment" or container.get("reason") == "ProgressDeadlineExceeded"
        if is_late and _is(container, "Progressing", "False"):  # for other kinds it usually means that all is done
            yield _condition_reason(container)
    if status.get("phase") in _FAILED:
        yield _phase(status)


def _lacking(obj: Mapping[str, Any], status: Mapping[str, Any], conditions: list[Mapping[str, Any]]) -> Iterator[_Why]:
    """The reasons why the object is not yet in its wanted state."""
    for container in _containers(status):
        if waiting := _mapping(_mapping(container, "state"), "waiting"):
            yield _waits(container, waiting)
    for pair in differences(obj):
        if pair.differs and pair.wanted == "metadata.generation":
            generations = f"generation {pair.wanted_value}; it has seen {pair.actual_value}"
            yield _Why(f"its controller has not processed the last change of its spec yet ({generations})")
        elif pair.differs and pair.actual in ("status.readyReplicas", "status.numberReady"):
            yield _Why(ready(obj))
        elif pair.differs and pair.actual.startswith("status.") and isinstance(pair.actual_value, int):
            name = pair.actual.removeprefix("status.")
            counted = name in _COUNTED
            text = (
                f"{pair.actual_value} of {pair.wanted_value} {name.removesuffix('Replicas')}"
                if counted
                else (f"{name}: {pair.wanted_value} wanted, {pair.actual_value} present")
            )
            yield _Why(text)
    for container in conditions:
        if _is_unreconciled(container):
            yield _condition_reason(container)
    for name in _NEEDED:
        for container in conditions:
            if container.get("type") == name and container.get("status") != "True":
                yield _condition_reason(container)
    if status.get("phase") in _UNDER_WAY:
        yield _phase(status)
    spec = _mapping(obj, "spec")
    if obj.get("kind") == "Job":
        yield from _of_job(obj, spec, status)
    balanced = obj.get("kind") == "Service" and spec.get("type") == "LoadBalancer"
    if balanced and not _list(_mapping(status, "loadBalancer"), "ingress"):
        yield _Why("its load balancer has no address yet")


def _of_job(obj: Mapping[str, Any], spec: Mapping[str, Any], status: Mapping[str, Any]) -> Iterator[_Why]:
    """The progress of a Job that is not complete, such as ``1 of 3 complete, 1 running``. Jobs that wait before they
    make the next pod are included.
    """
    active, wanted, done = status.get("active"), spec.get("completions"), status.get("succeeded", 0)
    if isinstance(active, int) and active:
        yield _Why(f"{ready(obj)}, {active} running" if _group(obj) == "batch" else f"pods running: {active}")
        return
    is_short = isinstance(wanted, int) and isinstance(done, int) and done < wanted
    if _group(obj) == "batch" and not spec.get("suspend") and (is_short or status.get("failed")):
        yield _Why(f"{ready(obj)}, none running")


def _phase(status: Mapping[str, Any]) -> _Why:
    """The phase with its reason. If a pod does not give a reason, the reason is how one of its containers ended."""
    texts = [str(text) for text in (status.get("reason"), status.get("message")) if text]
    for container in () if texts else _containers(status):
        if ended := _ended(_mapping(container, "state")):
            texts.append(f"container {container.get('name')} {ended}")
            break
    return _Why(": ".join([str(status["phase"]), *texts]), explained=bool(texts))


def _ended(state: Mapping[str, Any]) -> str:
    """The end of a container, ``""`` if it has not ended or has succeeded."""
    end = _mapping(state, "terminated")
    if not end.get("exitCode"):
        return ""
    details = ", ".join(str(text) for text in (end.get("reason"), end.get("message")) if text)
    return f"ended with exit code {end['exitCode']}" + (f" ({details})" if details else "")


def _fine(status: Mapping[str, Any], conditions: list[Mapping[str, Any]]) -> str:
    if isinstance(status.get("phase"), str):
        return str(status["phase"])
    return next((f"{name}=True" for name in _NEEDED for condition in conditions if _is(condition, name)), "")


def _used(status: Mapping[str, Any]) -> str:
    """The amounts that a quota allows, each with the amount that is used."""
    used = _mapping(status, "used")
    return ", ".join(f"{used.get(name, 0)} of {most} {name} used" for name, most in _mapping(status, "hard").items())


def _containers(status: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for name in ("initContainerStatuses", "containerStatuses"):
        for container in _list(status, name):
            if isinstance(container, dict):
                yield container


def _conditions(status: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (condition for condition in _list(status, "conditions") if isinstance(condition, dict))


def _is(condition: Mapping[str, Any], type_: str, status: str = "True") -> bool:
    return condition.get("type") == type_ and condition.get("status") == status


def _is_unreconciled(condition: Mapping[str, Any]) -> bool:
    """Whether the condition is that of a reconcile that has failed, or has not ended: kstatus's, or setpoint's own."""
    own = str(condition.get("type")).rpartition("/")[2] == "Reconciled" and condition.get("status") == "False"
    return own or _is(condition, "Reconciling")


def _condition_reason(condition: Mapping[str, Any], kind: str = "") -> _Why:
    text = condition_messages.condition(condition, kind)
    return _Why(text, str(condition.get("lastTransitionTime") or ""), explained=bool(condition.get("message")))


def _waits(container: Mapping[str, Any], waiting: Mapping[str, Any]) -> _Why:
    reason, message = (str(waiting.get(name) or "") for name in ("reason", "message"))
    last = _ended(_mapping(container, "lastState"))
    text = condition_messages.container(container.get("name"), reason, _PLACE.sub("", message), last)
    return _Why(text, explained=bool(message))


def _unscheduled(why: _Why, spec: Mapping[str, Any]) -> _Why:
    """The scheduler's message, followed by the labels or amounts that the pod asks for and nodes lack, if there are
    any.
    """
    text, asks = why.text, []
    if "labels" in text:
        asks += [f"{name}={value}" for name, value in _mapping(spec, "nodeSelector").items()]
    if "too little" in text:
        for container in _list(spec, "containers"):
            wanted = _mapping(_mapping(container, "resources"), "requests") if isinstance(container, dict) else {}
            asks += [f"{amount} {name}" for name, amount in wanted.items() if f"too little {name} " in text]
    if asks:
        text = f"{text.rstrip('.')}. The pod asks for a node with {', '.join(asks)}."
    return why._replace(text=text, explained=True)


def _group(obj: Mapping[str, Any]) -> str:
    return str(obj.get("apiVersion", "")).rpartition("/")[0]


def _is_workload(obj: Mapping[str, Any]) -> bool:
    """Whether the object is of a built-in kind that omits ``status.readyReplicas`` while no replica is ready."""
    if obj.get("kind") == "ReplicationController":
        return obj.get("apiVersion") == "v1"
    return _group(obj) == "apps"


def _scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _mapping(obj: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = obj.get(name)
    return value if isinstance(value, dict) else {}


def _list(obj: Mapping[str, Any], name: str) -> list[Any]:
    value = obj.get(name)
    return value if isinstance(value, list) else []
