"""Priority: sets the priority of a pod from its class."""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.requests.admission import AdmissionAttributes

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
    number = spec.get("priority")
    if number is not None and number != priority:
        raise attributes.forbidden(
            f"the integer value of priority ({number}) must not be provided in pod spec; priority admission controller "
            f"computed {priority} from the given PriorityClass name"
        )
    preemption = spec.get("preemptionPolicy")
    if preemption is not None and preemption != policy:
        raise attributes.forbidden(
            f"the string value of PreemptionPolicy ({preemption}) must not be provided in pod spec; priority admission "
            f"controller computed {policy} from the given PriorityClass name"
        )
    spec["priority"], spec["preemptionPolicy"] = priority, policy


def _established(attributes: AdmissionAttributes, name: str) -> tuple[str, int, str]:
    """The class, priority and preemption policy of a pod that names the class ``name``. If ``name`` is empty, those of
    the default class; without a default class, an empty name, 0 and ``PreemptLowerPriority``.

    Raises ApiStatusError (403): the class does not exist.
    """
    if not name:
        defaults = [
            priority_class
            for priority_class in attributes.stored(_CLASSES, having=_DEFAULT)
            if priority_class.get("globalDefault")
        ]
        if not defaults:
            return "", 0, _PREEMPTS
        chosen = min(defaults, key=lambda priority_class: priority_class.get("value") or 0)
        name = chosen["metadata"]["name"]
    else:
        default = attributes.get(_CLASSES, name)
        if default is None:
            if name in _SYSTEM:
                return name, _SYSTEM[name], _PREEMPTS
            raise attributes.forbidden(f"no PriorityClass with name {name} was found")
        chosen = default
    return name, chosen.get("value") or 0, chosen.get("preemptionPolicy") or _PREEMPTS


def validate_priority_class(attributes: AdmissionAttributes) -> None:
    """Refuses a class that would be a second default. Raises ApiStatusError (403)."""
    if attributes.subresource or not attributes.new.get("globalDefault"):
        return
    own = attributes.new["metadata"].get("name")
    for priority_class in attributes.stored(_CLASSES, having=_DEFAULT):
        name = priority_class["metadata"]["name"]
        if priority_class.get("globalDefault") and name != own:
            raise attributes.forbidden(
                f"PriorityClass {name} is already marked as default. Only one default can exist"
            )  # fmt: skip
