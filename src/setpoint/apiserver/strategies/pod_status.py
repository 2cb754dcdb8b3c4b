"""The status of a pod: the addresses, conditions and containers that its kubelet reports."""

from __future__ import annotations

from typing import Final

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.addresses import address_errors
from setpoint.meta import Quantity
from setpoint.meta.names import dns1123_label, dns1123_subdomain, qualified_name
from setpoint.schema import FieldError
from setpoint.schema.addresses import address_of
from setpoint.schema.errors import (
    duplicate,
    forbidden,
    internal_error,
    invalid,
    not_supported,
    required,
    too_long,
)

Errors = list[FieldError]
_OF_THE_SYSTEM: Final = ("Initialized", "PodScheduled", "Ready")
_HEALTHS: Final = ("Healthy", "Unhealthy", "Unknown")
_HEALTH_MESSAGE: Final = 1024
_CONTAINER_PLACES: Final = "spec.initContainers.{0} or spec.containers.{0}"
_NO_CLAIM: Final = (
    "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when "
    "container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty"
)
_ONE_EACH: Final = "may specify no more than one IP for each IP family"


def completed_status(status: JsonObject) -> JsonObject:
    """``status`` with ``podIP`` as the first of ``podIPs``. If only one of the two fields is set, the other is
    set from it; if they differ, ``podIP`` takes precedence.
    """
    addresses = [item.get("ip", "") for item in status.get("podIPs") or ()]
    first = status.get("podIP", "")
    if first and addresses[:1] != [first]:
        return status | {"podIPs": [{"ip": first}]}
    return status | {"podIP": addresses[0]} if addresses and not first else status


def status_errors(pod: JsonObject, old: JsonObject) -> Errors:
    """The errors in a write of ``pods/status``."""
    status, before, spec = pod.get("status") or {}, old.get("status") or {}, pod["spec"]
    errors: Errors = []
    nominated = status.get("nominatedNodeName", "")
    if nominated:
        errors += [invalid("status.nominatedNodeName", nominated, text) for text in dns1123_subdomain(nominated)]
    errors += _transitions(spec, status, before)
    errors += _claims(spec, status)
    errors += _extended_claim(spec, status)
    errors += _containers(spec, status)
    if "qosClass" in before and status.get("qosClass") != before["qosClass"]:
        errors.append(invalid("status.qosClass", status.get("qosClass", ""), "field is immutable"))
    for index, condition in enumerate(status.get("conditions") or ()):
        kind = condition.get("type", "")
        if kind not in _OF_THE_SYSTEM:
            errors += [invalid(f"status.conditions[{index}].Type", kind, text) for text in qualified_name(kind)]
        errors += _observed(condition, f"status.conditions[{index}]")
    errors += _addresses(status.get("podIPs") or [], before.get("podIPs") or [], "status.podIPs")
    if status.get("podIPs") and not status.get("podIP"):
        bad_value = [{"IP": item.get("ip", "")} for item in status["podIPs"]]
        text = "podIP and podIPs must either both be set or both be unset"
        errors.append(invalid("status.podIPs", bad_value, text))
    hosts = status.get("hostIPs") or []
    if hosts and hosts[0].get("ip", "") != status.get("hostIP", ""):
        errors.append(invalid("status.hostIPs[0].ip", hosts[0].get("ip", ""), "must be equal to `hostIP`"))
    errors += _addresses(hosts, before.get("hostIPs") or [], "status.hostIPs")
    return errors + _observed(status, "status")


def _observed(holder: JsonObject, path: str) -> Errors:
    observed = holder.get("observedGeneration", 0)
    wrong = invalid(f"{path}.observedGeneration", observed, "must be a non-negative integer")
    return [wrong] if observed < 0 else []


def _addresses(items: list[JsonObject], before: list[JsonObject], path: str) -> Errors:
    errors: Errors = []
    old_addresses = {item.get("ip", "") for item in before}
    families: set[int] = set()
    wrong = -1
    for index, item in enumerate(items):
        errors += address_errors(item.get("ip", ""), f"{path}[{index}]", old_addresses)
        address = address_of(item.get("ip", ""))
        if address is None:
            wrong = index if wrong < 0 else wrong
        else:
            families.add(address.version)
    if len(items) > 1:
        if wrong >= 0:
            text = f"failed to check for dual stack with error:invalid IP[{wrong}]: {items[wrong].get('ip', '')}"
            errors.append(internal_error(path, text))
        if len(families) < len(items):
            errors.append(invalid(path, [{"IP": item.get("ip", "")} for item in items], _ONE_EACH))
    return errors


def _claims(spec: JsonObject, status: JsonObject) -> Errors:
    errors: Errors = []
    claim_names = {item.get("name", "") for item in spec.get("resourceClaims") or ()}
    previous: set[str] = set()
    for index, item in enumerate(status.get("resourceClaimStatuses") or ()):
        field_path, name = f"status.resourceClaimStatuses[{index}]", item.get("name", "")
        if name not in claim_names:
            text = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(invalid(f"{field_path}.name", name, text))
        if name in previous:
            errors.append(duplicate(f"{field_path}.name", name))
        previous.add(name)
        claim = item.get("resourceClaimName")
        if claim is not None:
            errors += [invalid(f"{field_path}.resourceClaimName", claim, text) for text in dns1123_subdomain(claim)]
    return errors


def _extended_claim(spec: JsonObject, status: JsonObject) -> Errors:
    """The errors in ``extendedResourceClaimStatus``, which describes the claim made for extended resources that devices
    provide.
    """
    claim, path = status.get("extendedResourceClaimStatus"), "status.extendedResourceClaimStatus"
    if claim is None:
        return []
    mappings, errors = claim.get("requestMappings") or [], list[FieldError]()
    if not mappings:
        errors.append(required(f"{path}.requestMappings", "at least one request mapping is required"))
    containers = {item["name"]: item for key in ("initContainers", "containers") for item in spec.get(key) or ()}
    keys: set[tuple[str, ...]] = set()
    for index, mapping in enumerate(mappings):
        field_path = f"{path}.requestMappings[{index}]"
        named = {name: mapping.get(name, "") for name in ("containerName", "resourceName", "requestName")}
        container = containers.get(named["containerName"])
        if container is None:
            text = f"must match the name of an entry in {_CONTAINER_PLACES.format('name')}"
            errors.append(invalid(f"{field_path}.containerName", named["containerName"], text))
        elif named["resourceName"] not in _wanted(container):
            places = _CONTAINER_PLACES.format("resources.requests")
            text = f"must match the extended resource name of an entry in {places}"
            errors.append(invalid(f"{field_path}.resourceName", named["resourceName"], text))
        problems = dns1123_label(named["requestName"])
        errors += [invalid(f"{path}.requestName", named["requestName"], text) for text in problems]
        key = tuple(named.values())
        if key in keys:
            errors += [duplicate(f"{field_path}.{name}", value) for name, value in named.items()]
        keys.add(key)
    name = claim.get("resourceClaimName", "")
    if not name:
        return [*errors, required(f"{path}.resourceClaimName")]
    return errors + [invalid(f"{path}.resourceClaimName", name, text) for text in dns1123_subdomain(name)]


def _wanted(container: JsonObject) -> JsonObject:
    requests: JsonObject = (container.get("resources") or {}).get("requests") or {}
    return requests


def _containers(spec: JsonObject, status: JsonObject) -> Errors:
    """The errors in the reported users of containers and in the health of their devices."""
    errors: Errors = []
    system = (spec.get("os") or {}).get("name", "linux")
    for kind in ("container", "initContainer", "ephemeralContainer"):
        by_name = {item["name"]: item for item in spec.get(f"{kind}s") or ()}
        for index, item in enumerate(status.get(f"{kind}Statuses") or ()):
            path = f"status.{kind}Statuses[{index}]"
            errors += _user((item.get("user") or {}).get("linux"), f"{path}.user.linux", system)
            devices, path = item.get("allocatedResourcesStatus") or [], f"{path}.allocatedResourcesStatus"
            if kind == "ephemeralContainer" and devices:
                errors.append(forbidden(path, "must not be specified in container status"))
                continue
            for number, device in enumerate(devices):
                errors += _device(device, by_name.get(item.get("name", "")), status, f"{path}[{number}]")
    return errors


def _user(user: JsonObject | None, path: str, system: str) -> Errors:
    if user is None:
        return []
    if system == "windows":
        return [forbidden(path, "cannot be set for a windows pod")]
    numbers = [("uid", user.get("uid", 0), 2**32 - 1), ("gid", user.get("gid", 0), 2**31 - 1)]
    for index, group in enumerate(user.get("supplementalGroups") or ()):
        numbers.append((f"supplementalGroups[{index}]", group, 2**31 - 1))
    return [
        invalid(f"{path}.{name}", number, f"must be between 0 and {most}, inclusive")
        for name, number, most in numbers
        if not 0 <= number <= most
    ]


def _device(device: JsonObject, container: JsonObject | None, status: JsonObject, path: str) -> Errors:
    name, errors = device.get("name", ""), list[FieldError]()
    if container is not None:  # a status may know containers that the spec does not
        if name.startswith("claim:"):
            is_declared, text = name in _claim_names(container, status), _NO_CLAIM
        else:
            is_declared, text = name in _wanted(container), "must match one of the container's resource requests"
        if not is_declared:
            errors.append(invalid(f"{path}.name", name, text))
    previous: set[str] = set()
    for index, part in enumerate(device.get("resources") or ()):
        field_path, health, message = f"{path}.resources[{index}]", part.get("health", ""), part.get("message")
        if health not in _HEALTHS:
            errors.append(not_supported(f"{field_path}.health", health, _HEALTHS))
        if message == "":
            errors.append(required(f"{field_path}.message", "must be non-empty if specified"))
        elif message is not None and len(message.encode()) > _HEALTH_MESSAGE:
            errors.append(too_long(f"{field_path}.message", _HEALTH_MESSAGE))
        if part.get("resourceID", "") in previous:
            errors.append(duplicate(f"{field_path}.resourceID", part.get("resourceID", "")))
        previous.add(part.get("resourceID", ""))
    return errors


def _claim_names(container: JsonObject, status: JsonObject) -> set[str]:
    """The names of resources under which the health of a container's claimed devices is reported."""
    claims = (container.get("resources") or {}).get("claims") or ()
    names = {"/".join(filter(None, (f"claim:{item['name']}", item.get("request")))) for item in claims}
    extended = status.get("extendedResourceClaimStatus") or {}
    for mapping in extended.get("requestMappings") or ():
        amount = _wanted(container).get(mapping.get("resourceName", ""))
        if mapping.get("containerName") == container["name"] and amount is not None and Quantity(amount) != Quantity(0):
            names.add(f"claim:{extended.get('resourceClaimName', '')}/{mapping.get('requestName', '')}")
    return names


def _transitions(spec: JsonObject, status: JsonObject, before: JsonObject) -> Errors:
    """An error for each container that has terminated, must not restart, and is now reported as not terminated."""
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
