"""The status of a pod: addresses, conditions and containers that its kubelet reports."""

from __future__ import annotations

import ipaddress
from typing import Final

from setpoint.apiserver.strategies.pod_fields import NOT_AN_IP
from setpoint.apiserver.strategies.strategy import JsonObject
from setpoint.meta.names import dns1123_subdomain, qualified_name
from setpoint.schema import FieldError
from setpoint.schema.errors import duplicate, forbidden, internal_error, invalid

__all__ = ["completed_status", "status_errors"]

Errors = list[FieldError]
_OF_THE_SYSTEM: Final = ("Initialized", "PodScheduled", "Ready")
_ONE_EACH: Final = "may specify no more than one IP for each IP family"


def completed_status(status: JsonObject) -> JsonObject:
    """``status`` with one list of addresses: ``podIP`` is the first of ``podIPs``, and wins where they differ."""
    addresses = [item.get("ip", "") for item in status.get("podIPs") or ()]
    first = status.get("podIP", "")
    if first and addresses[:1] != [first]:
        return status | {"podIPs": [{"ip": first}]}
    return status | {"podIP": addresses[0]} if addresses and not first else status


def status_errors(pod: JsonObject, old: JsonObject) -> Errors:
    """The errors of a write of ``pods/status``."""
    status, before, spec = pod.get("status") or {}, old.get("status") or {}, pod["spec"]
    errors: Errors = []
    nominated = status.get("nominatedNodeName", "")
    if nominated:
        errors += [invalid("status.nominatedNodeName", nominated, text) for text in dns1123_subdomain(nominated)]
    errors += _transitions(spec, status, before)
    errors += _claims(spec, status)
    if "qosClass" in before and status.get("qosClass") != before["qosClass"]:
        errors.append(invalid("status.qosClass", status.get("qosClass", ""), "field is immutable"))
    for index, condition in enumerate(status.get("conditions") or ()):
        kind = condition.get("type", "")
        if kind not in _OF_THE_SYSTEM:
            errors += [invalid(f"status.conditions[{index}].Type", kind, text) for text in qualified_name(kind)]
    errors += _addresses(status.get("podIPs") or [], "status.podIPs")
    hosts = status.get("hostIPs") or []
    if hosts and hosts[0].get("ip", "") != status.get("hostIP", ""):
        errors.append(invalid("status.hostIPs[0].ip", hosts[0].get("ip", ""), "must be equal to `hostIP`"))
    errors += _addresses(hosts, "status.hostIPs")
    observed = status.get("observedGeneration", 0)
    if observed < 0:
        errors.append(invalid("status.observedGeneration", observed, "must be a non-negative integer"))
    return errors


def _addresses(items: list[JsonObject], path: str) -> Errors:
    errors: Errors = []
    families: set[int] = set()
    wrong = -1
    for index, item in enumerate(items):
        try:
            families.add(ipaddress.ip_address(item.get("ip", "")).version)
        except ValueError:
            errors.append(invalid(f"{path}[{index}]", item.get("ip", ""), NOT_AN_IP))
            wrong = index if wrong < 0 else wrong
    if len(items) > 1:
        if wrong >= 0:
            text = f"failed to check for dual stack with error:invalid IP[{wrong}]: {items[wrong].get('ip', '')}"
            errors.append(internal_error(path, text))
        if len(families) < len(items):
            errors.append(invalid(path, [{"IP": item.get("ip", "")} for item in items], _ONE_EACH))
    return errors


def _claims(spec: JsonObject, status: JsonObject) -> Errors:
    errors: Errors = []
    known = {item.get("name", "") for item in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for index, item in enumerate(status.get("resourceClaimStatuses") or ()):
        where, name = f"status.resourceClaimStatuses[{index}]", item.get("name", "")
        if name not in known:
            text = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(invalid(f"{where}.name", name, text))
        if name in seen:
            errors.append(duplicate(f"{where}.name", name))
        seen.add(name)
        claim = item.get("resourceClaimName")
        if claim is not None:
            errors += [invalid(f"{where}.resourceClaimName", claim, text) for text in dns1123_subdomain(claim)]
    return errors


def _transitions(spec: JsonObject, status: JsonObject, before: JsonObject) -> Errors:
    """A container that has ended for good does not run again."""
    errors: Errors = []
    policy = spec.get("restartPolicy", "Always")
    for key, containers in (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")):
        restarts = {
            item["name"]
            for item in spec.get(containers) or ()
            if item.get("restartPolicy") or item.get("restartPolicyRules")
        }
        ended = {
            item.get("name", ""): terminated
            for item in before.get(key) or ()
            if (terminated := (item.get("state") or {}).get("terminated")) is not None
        }
        for index, item in enumerate(status.get(key) or ()):
            was = ended.get(item.get("name", ""))
            if was is None or policy == "Always" or item.get("name", "") in restarts:
                continue
            if policy == "OnFailure" and was.get("exitCode", 0) != 0:
                continue
            if (item.get("state") or {}).get("terminated") is None:
                text = "may not be transitioned to non-terminated state"
                errors.append(forbidden(f"status.{key}[{index}].state", text))
    return errors
