"""Rules for small kinds: priority and runtime classes, nodes, leases, controller revisions, storage version
migrations.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from setpoint.apiserver.strategies.addresses import cidr_errors
from setpoint.apiserver.strategies.go_dump import dump
from setpoint.apiserver.strategies.pod_resources import requirements_errors
from setpoint.apiserver.strategies.pod_scheduling import toleration_errors
from setpoint.apiserver.strategies.rules.quotas import NOT_NEGATIVE, node_amounts
from setpoint.apiserver.strategies.rules.rule_table import (
    IMMUTABLE,
    Place,
    Row,
    at_least,
    frozen,
    immutable,
    labels,
    named,
    needed,
    one_of,
    row,
    settled,
    unless_missing,
)
from setpoint.meta.names import dns1035_label, dns1123_label, dns1123_subdomain, label_value, qualified_name
from setpoint.schema import FieldError
from setpoint.schema.addresses import network_of
from setpoint.schema.errors import duplicate, forbidden, internal_error, invalid, not_supported, required

_HIGHEST: Final = 1_000_000_000
_SYSTEM: Final = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def _priority(place: Place) -> list[FieldError]:
    name, value = place.obj["metadata"].get("name", ""), place.value or 0
    if place.old is not None:
        return []
    if name.startswith("system-"):
        if _SYSTEM.get(name) == value and not place.obj.get("globalDefault"):
            return []
        if name not in _SYSTEM:
            reason = f"{name} is not a known system priority class"
        elif _SYSTEM[name] != value:
            reason = f"value of {name} PriorityClass must be {_SYSTEM[name]}"
        else:
            reason = f"globalDefault of {name} PriorityClass must be false"
        text = f"priority class names with 'system-' prefix are reserved for system use only. error: {reason}"
        return [forbidden("metadata.name", text)]
    text = f"maximum allowed value of a user defined priority is {_HIGHEST}"
    return [forbidden(place.path, text)] if value > _HIGHEST else []


def _data(place: Place) -> list[FieldError]:
    if place.value is None:
        return [required(place.path, "data is mandatory")]
    return [] if isinstance(place.value, dict) else [required(place.path, "data must be a valid JSON object")]


def _revision(place: Place) -> list[FieldError]:
    value = place.value or 0
    return [invalid(place.path, value, NOT_NEGATIVE)] if value < 0 else []


def _migrated(place: Place) -> list[FieldError]:
    resource, path = (place.value or {}), place.path
    name, group = resource.get("resource", ""), resource.get("group", "")
    errors: list[FieldError] = []
    if not name:
        errors.append(required(f"{path}.resource", "resource is required to be set"))
    elif problems := dns1035_label(name):
        errors.append(invalid(f"{path}.resource", name, ",".join(problems)))
    if group and (problems := dns1123_subdomain(group)):
        errors.append(invalid(f"{path}.group", group, ",".join(problems)))
    return errors


def _migration(place: Place) -> list[FieldError]:
    bad_value = {"Resource": (place.value or {}).get("resource")}
    return [invalid(error.field, bad_value, IMMUTABLE) for error in immutable(place)]


def _taints(place: Place) -> list[FieldError]:
    errors: list[FieldError] = []
    previous: set[tuple[str, str]] = set()
    for index, taint in enumerate(place.value or ()):
        # (upstream says metadata for spec)
        path, key, effect = f"metadata.taints[{index}]", taint.get("key", ""), taint.get("effect", "")
        errors += [invalid(f"{path}.key", key, text) for text in qualified_name(key)]
        value = taint.get("value", "")
        errors += [invalid(f"{path}.value", value, text) for text in label_value(value)]
        if not effect:
            errors.append(required(f"{path}.effect"))
        elif effect not in _EFFECTS:
            errors.append(not_supported(f"{path}.effect", effect, _EFFECTS))
        if (key, effect) in previous:
            error = duplicate(path, dump("core.Taint", taint))
            errors.append(replace(error, detail="taints must be unique by key and effect pair"))
        previous.add((key, effect))
    return errors


def _tolerations(place: Place) -> list[FieldError]:
    errors = toleration_errors(place.value, place.path)
    previous: set[tuple[str, ...]] = set()
    for index, toleration in enumerate(place.value):
        key = tuple([toleration.get(name, "") for name in ("key", "operator", "value", "effect")])
        if key in previous:
            errors.append(duplicate(f"{place.path}[{index}]", dump("core.Toleration", toleration)))
        previous.add(key)
    return errors


def _overhead(place: Place) -> list[FieldError]:
    return requirements_errors({"limits": place.value}, [], place.path.removesuffix(".podFixed"))


def _pod_networks(place: Place) -> list[FieldError]:
    """The errors in a node's pod networks: at most two, of different families, which can't change once they are set."""
    errors: list[FieldError] = []
    networks, before = place.value or [], ((place.old or {}).get("spec") or {}).get("podCIDRs") or []
    if place.old is not None:
        same = len(before) == len(networks)
        changed = [1 for pair in zip(before, networks, strict=True) if pair[0] != pair[1]] if same else [1]
        text = 'node updates may not change podCIDR except from "" to valid'
        errors = [forbidden(place.path, text) for _ in changed] if before else []
        if not changed:
            return []
    families: set[int] = set()
    unread = ""
    for index, text in enumerate(networks):
        errors += cidr_errors(text, f"{place.path}[{index}]")
        network = network_of(text)
        if network is not None:
            families.add(network.version)
        unread = unread or (f"[{index}]: <nil> (invalid CIDR address: {text})" if network is None else "")
    if len(networks) < 2:
        return errors
    if unread:
        text = f"invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR{unread}"
        errors.append(internal_error(place.path, text))
    if unread or len(networks) > 2 or len(families) < 2:
        errors.append(invalid(place.path, networks, "may specify no more than one CIDR for each IP family"))
    return errors


def _provider(place: Place) -> list[FieldError]:
    before = ((place.old or {}).get("spec") or {}).get("providerID")
    if not before or before == place.value:
        return []
    return [invalid(place.path, None, f"field cannot be {'modified' if place.value else 'cleared'} once set")]


def _new_data(place: Place) -> list[FieldError]:
    """The errors in the data of a new object; data can't change later."""
    return _data(place) if place.old is None else []


def _preemption(place: Place) -> list[FieldError]:
    """The errors in the preemption policy of a new object; the policy can't change later."""
    if place.old is not None:
        return []
    if not place.value:
        return [required(place.path)]
    return one_of("PreemptLowerPriority", "Never")(place)


RULES: Final[dict[str, tuple[Row, ...]]] = {
    "priorityclasses.scheduling.k8s.io": (
        row("value", _priority, frozen("may not be changed in an update.")),
        row("preemptionPolicy", _preemption, immutable),
    ),
    "runtimeclasses.node.k8s.io": (
        row("handler", needed(), named(dns1123_label), settled),
        row("scheduling.nodeSelector", labels),
        row("scheduling.tolerations", unless_missing(_tolerations)),
        row("overhead.podFixed", unless_missing(_overhead)),
    ),
    "controllerrevisions.apps": (row("data", _new_data, immutable), row("revision", _revision)),
    "storageversionmigrations.storagemigration.k8s.io": (row("spec.resource", _migrated), row("spec", _migration)),
    "nodes": (
        row("spec.taints", _taints),
        row("spec.podCIDRs", _pod_networks),
        row("spec.providerID", _provider),
        row("spec.externalID", frozen("may not be updated")),
        row("status.capacity", node_amounts),
        row("status.allocatable", node_amounts),
    ),
    "leases.coordination.k8s.io": (
        row("spec.leaseDurationSeconds", at_least(1, "must be greater than 0")),
        row("spec.leaseTransitions", at_least(0)),
    ),
}
