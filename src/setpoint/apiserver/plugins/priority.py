"""Priority: sets the priority of a pod from its class."""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.requests.admission import AdmissionAttributes

__all__ = ["prioritize", "validate_priority_class"]

_SYSTEM: Final = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}
_DEFAULT: Final = b'"globalDefault":true'
_CLASSES: Final = "priorityclasses.scheduling.k8s.io"
_PREEMPTS: Final = "PreemptLowerPriority"


def prioritize(attributes: AdmissionAttributes) -> None:
    """Sets the priority and the preemption policy of a new pod from its class, or from the default class if the pod
    names none. If an update leaves out either field, the field's old value is kept.

    Raises ApiStatusError (403): the class does not exist, or the pod contradicts it.
    """
    if attributes.subresource:
        return
    spec = attributes.spec
    if attributes.old is not None:
        for field in ("priority", "preemptionPolicy"):
            if spec.get(field) is None and (attributes.old.get("spec") or {}).get(field) is not None:
                spec[field] = attributes.old["spec"][field]
        return
    name, priority, policy = _established(attributes, spec.get("priorityClassName") or "")
    if name:
        spec["priorityClassName"] = name
    given = spec.get("priority")
    if given is not None and given != priority:
        raise attributes.forbidden(
            f"the integer value of priority ({given}) must not be provided in pod spec; priority admission controller "
            f"computed {priority} from the given PriorityClass name"
        )
    given = spec.get("preemptionPolicy")
    if given is not None and given != policy:
        raise attributes.forbidden(
            f"the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission "
            f"controller computed {policy} from the given PriorityClass name"
        )
    spec["priority"], spec["preemptionPolicy"] = priority, policy


def _established(attributes: AdmissionAttributes, name: str) -> tuple[str, int, str]:
    """The class, priority and preemption policy of a pod that names the class ``name``. If ``name`` is empty, those of
    the default class; without a default class, an empty name, 0 and ``PreemptLowerPriority``.

    Raises ApiStatusError (403): the class does not exist.
    """
    if not name:
        defaults = [each for each in attributes.stored(_CLASSES, having=_DEFAULT) if each.get("globalDefault")]
        if not defaults:
            return "", 0, _PREEMPTS
        found = min(defaults, key=lambda each: each.get("value") or 0)
        name = found["metadata"]["name"]
    else:
        known = attributes.one(_CLASSES, name)
        if known is None:
            if name in _SYSTEM:
                return name, _SYSTEM[name], _PREEMPTS
            raise attributes.forbidden(f"no PriorityClass with name {name} was found")
        found = known
    return name, found.get("value") or 0, found.get("preemptionPolicy") or _PREEMPTS


def validate_priority_class(attributes: AdmissionAttributes) -> None:
    """Refuses a class that would be a second default. Raises ApiStatusError (403)."""
    if attributes.subresource or not attributes.new.get("globalDefault"):
        return
    own = attributes.new["metadata"].get("name")
    for each in attributes.stored(_CLASSES, having=_DEFAULT):
        name = each["metadata"]["name"]
        if each.get("globalDefault") and name != own:
            raise attributes.forbidden(
                f"PriorityClass {name} is already marked as default. Only one default can exist"
            )  # fmt: skip
