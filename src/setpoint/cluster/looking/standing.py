"""Standings: the state of any object, derived from its status and metadata; the rules are close to kstatus's.

https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

State = Literal["failed", "being deleted", "in progress", "current"]
URGENCY: Final[tuple[State, ...]] = ("failed", "being deleted", "in progress", "current")
"""The states in the order in which objects are listed."""

_BROKEN: Final = frozenset({
    "CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName",
    "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
})  # fmt: skip
"""The reasons of waiting containers that do not pass by themselves."""
_FAILING: Final = frozenset({"Failed", "Stalled", "Degraded", "ReplicaFailure", "FailureTarget"})
"""The types of conditions that mean trouble while they are true."""
_NEEDED: Final = (
    "Ready", "Available", "Established", "NamesAccepted", "Bound", "Healthy", "Synced", "PodScheduled",
)  # fmt: skip
"""The types of conditions that mean that something is missing while they are not true."""
_FAILED: Final = frozenset({"Failed", "Error", "Lost"})
_UNDER_WAY: Final = frozenset({"Pending", "Creating", "Progressing", "Provisioning", "Updating"})
_COUNTED: Final = ("readyReplicas", "updatedReplicas", "availableReplicas")


class Standing(NamedTuple):
    """The state of an object, and the reason for it; ``text`` is ``""`` if the object does not give a reason."""

    state: State
    text: str


class Difference(NamedTuple):
    """A field of the spec, and the field of the status that shows how far the spec has been carried out."""

    wanted: str
    is_wanted: Any
    there: str
    is_there: Any

    @property
    def differs(self) -> bool:
        return bool(self.is_wanted != self.is_there)


def standing(obj: Mapping[str, Any]) -> Standing:
    """The state of an object. Never raises, whatever the object contains."""
    metadata, status = _mapping(obj, "metadata"), _mapping(obj, "status")
    if metadata.get("deletionTimestamp"):
        held = [str(each) for each in _list(metadata, "finalizers")]
        why = f"it waits for the finalizers {', '.join(held)}" if held else "it is being stopped"
        return Standing("being deleted", f"since {metadata['deletionTimestamp']}: {why}")
    conditions = list(_conditions(status))
    if trouble := next(_troubles(status, conditions), ""):
        return Standing("failed", trouble)
    if status.get("phase") == "Succeeded" or any(_is(each, "Complete") for each in conditions):
        return Standing("current", "complete")
    if lacking := next(_lacking(obj, status, conditions), ""):
        return Standing("in progress", lacking)
    return Standing("current", _fine(status, conditions))


def differences(obj: Mapping[str, Any]) -> list[Difference]:
    """The pairs of a wanted and an actual value: the generation and the observed generation, the replicas and the ready
    replicas, and scalar fields that have the same name in spec and status.
    """
    metadata, spec, status = (_mapping(obj, name) for name in ("metadata", "spec", "status"))
    found: list[Difference] = []
    if "observedGeneration" in status:
        generation, observed = metadata.get("generation"), status["observedGeneration"]
        found.append(Difference("metadata.generation", generation, "status.observedGeneration", observed))
    for name, value in spec.items():
        if name in status and _scalar(value) and _scalar(status[name]):
            found.append(Difference(f"spec.{name}", value, f"status.{name}", status[name]))
    wanted = spec.get("replicas")
    if isinstance(wanted, int):
        workload = obj.get("apiVersion") == "apps/v1" or obj.get("kind") == "ReplicationController"
        for name in _COUNTED:
            if name in status or (workload and name == "readyReplicas"):
                found.append(Difference("spec.replicas", wanted, f"status.{name}", status.get(name, 0)))
    if "desiredNumberScheduled" in status:
        ready = status.get("numberReady", 0)
        desired = status["desiredNumberScheduled"]
        found.append(Difference("status.desiredNumberScheduled", desired, "status.numberReady", ready))
    return found


def _troubles(status: Mapping[str, Any], conditions: list[Mapping[str, Any]]) -> Iterator[str]:
    """The reasons why the object will not reach its wanted state by itself."""
    for each in _containers(status):
        waiting = _mapping(_mapping(each, "state"), "waiting")
        if waiting.get("reason") in _BROKEN:
            yield _joined(f"container {each.get('name')}", waiting.get("reason"), waiting.get("message"))
    for each in conditions:
        if each.get("status") == "True" and each.get("type") in _FAILING:
            yield _said(each)
        if _is(each, "Progressing", "False"):
            yield _said(each)
    if status.get("phase") in _FAILED:
        yield _joined(str(status["phase"]), status.get("reason"), status.get("message"))


def _lacking(obj: Mapping[str, Any], status: Mapping[str, Any], conditions: list[Mapping[str, Any]]) -> Iterator[str]:
    """The reasons why the object is not yet in its wanted state."""
    # A pod that has no node has no other trouble worth telling.
    for each in conditions:
        if _is(each, "PodScheduled", "False"):
            yield _said(each)
    for each in _containers(status):
        waiting = _mapping(_mapping(each, "state"), "waiting")
        if waiting:
            yield _joined(f"container {each.get('name')}", waiting.get("reason"), waiting.get("message"))
    for pair in differences(obj):
        if pair.differs and pair.wanted == "metadata.generation":
            yield f"its controller has seen generation {pair.is_there}, not {pair.is_wanted} yet"
        elif pair.differs and pair.there.startswith("status.") and isinstance(pair.is_there, int):
            yield f"{pair.wanted} is {pair.is_wanted}, {pair.there} is {pair.is_there}"
    for name in _NEEDED:
        for each in conditions:
            if each.get("type") == name and each.get("status") != "True":
                yield _said(each)
    if status.get("phase") in _UNDER_WAY:
        yield _joined(str(status["phase"]), status.get("reason"), status.get("message"))
    active = status.get("active")
    if obj.get("kind") == "Job" and isinstance(active, int) and active:
        yield f"{active} of its pods run"
    spec = _mapping(obj, "spec")
    balanced = obj.get("kind") == "Service" and spec.get("type") == "LoadBalancer"
    if balanced and not _list(_mapping(status, "loadBalancer"), "ingress"):
        yield "its load balancer has no address yet"


def _fine(status: Mapping[str, Any], conditions: list[Mapping[str, Any]]) -> str:
    if isinstance(status.get("phase"), str):
        return str(status["phase"])
    return next((f"{name}=True" for name in _NEEDED for each in conditions if _is(each, name)), "")


def _containers(status: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for name in ("initContainerStatuses", "containerStatuses"):
        for each in _list(status, name):
            if isinstance(each, dict):
                yield each


def _conditions(status: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (each for each in _list(status, "conditions") if isinstance(each, dict))


def _is(condition: Mapping[str, Any], type_: str, status: str = "True") -> bool:
    return condition.get("type") == type_ and condition.get("status") == status


def _said(condition: Mapping[str, Any]) -> str:
    said = f"{condition.get('type')}={condition.get('status')}"
    return _joined(said, condition.get("reason"), condition.get("message"))


def _joined(head: str, reason: Any, message: Any) -> str:
    return ": ".join([head, *(str(each) for each in (reason, message) if each)])


def _scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _mapping(obj: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = obj.get(name)
    return found if isinstance(found, dict) else {}


def _list(obj: Mapping[str, Any], name: str) -> list[Any]:
    found = obj.get(name)
    return found if isinstance(found, list) else []
