"""The status of a device claim: the allocated devices, their consumers, and the reports of drivers."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.apiserver.strategies.device_parts import declared_driver_errors, name_errors, pool_errors, repeated_errors
from setpoint.apiserver.strategies.devices import (
    configuration_errors,
    reference_errors,
    request_names,
    toleration_errors,
)
from setpoint.apiserver.strategies.node_selectors import node_selector_errors
from setpoint.apiserver.strategies.pod_volumes import driver_name_errors
from setpoint.meta.names import dns1123_label, dns1123_subdomain, qualified_name
from setpoint.meta.text_escaping import quote
from setpoint.schema import FieldError, json_equal, repeats
from setpoint.schema.errors import (
    Shown,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)

Errors = list[FieldError]
Device = tuple[str, str, str, str]
"""A driver, a pool, a device, and the identifier of a share; the identifier is empty if the device is not shared."""
_CONSUMERS: Final = 256
_RESULTS: Final = 32
_CONFIGURATIONS: Final = 64
_REQUESTS: Final = 32
_BINDING: Final = 4
_CONDITIONS: Final = 8
_ADDRESSES: Final = 16
_DATA: Final = 10 * 1024
_UUID: Final = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NOT_A_UUID: Final = "must be a lowercase UUID in 8-4-4-4-12 format"
_CONSUMER_FIELDS: Final = ("apiGroup", "resource", "name", "uid")


def claim_status_errors(obj: JsonObject, old: JsonObject) -> Errors:
    """The errors in a claim's status, except those in conditions of devices; ``old`` is the claim before the write."""
    status, before = obj.get("status") or {}, old.get("status") or {}
    allocation = status.get("allocation")
    errors = _consumers(status.get("reservedFor") or [], "status.reservedFor")
    allocated = _allocated(status)
    devices = status.get("devices") or []
    for index, device in enumerate(devices):
        errors += _device(device, f"status.devices[{index}]", allocated)
    errors += _repeated([_identity(item) for item in devices], devices, "status.devices")
    if status.get("reservedFor"):
        if allocation is None:
            errors.append(forbidden("status.reservedFor", "may not be specified when `allocated` is not set"))
        elif obj["metadata"].get("deletionTimestamp") and _added(
            status["reservedFor"], before.get("reservedFor") or ()
        ):
            text = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
            errors.append(forbidden("status.reservedFor", text))
    if allocation is not None and before.get("allocation") is not None:
        if not json_equal(allocation, before["allocation"]):
            errors.append(invalid("status.allocation", None, "field cannot be modified once set"))
    elif allocation is not None:
        errors += _allocation(allocation, request_names(obj.get("spec") or {}))
    return errors


def _added(consumers: Sequence[JsonObject], before: Sequence[JsonObject] | None) -> bool:
    """Whether ``consumers`` has an entry that is not in ``before``."""
    previous = {frozenset(item.items()) for item in before or ()}
    return any(frozenset(item.items()) not in previous for item in consumers)


def _identity(device: JsonObject) -> Device:
    return (
        device.get("driver", ""),
        device.get("pool", ""),
        device.get("device", ""),
        device.get("shareID") or "",
    )


def _allocated(status: JsonObject) -> set[Device]:
    allocation = status.get("allocation") or {}
    return {_identity(result) for result in (allocation.get("devices") or {}).get("results") or ()}


def without_deallocated(status: JsonObject, before: JsonObject) -> JsonObject:
    """``status`` without the drivers' reports on devices that were allocated before but no longer are."""
    removed = _allocated(before) - _allocated(status)
    devices = [item for item in status.get("devices") or () if _identity(item) not in removed]
    result = {name: value for name, value in status.items() if name != "devices"}
    return {**result, "devices": devices} if devices else result


def changed_drivers(status: JsonObject, before: JsonObject) -> list[str]:
    """The drivers of the devices whose reports were added, changed or removed since ``before``, sorted."""
    new, old = ({_identity(item): item for item in source.get("devices") or ()} for source in (status, before))
    every = new.keys() | old.keys()
    return sorted({device[0] for device in every if not json_equal(new.get(device), old.get(device))})


def _repeated(keys: Sequence[object], items: Sequence[JsonObject], path: str) -> Errors:
    return [duplicate(f"{path}[{index}]", Shown(_compact_json(items[index]))) for index in repeats(keys)]


_compact_json: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def _consumers(consumers: Sequence[JsonObject], path: str) -> Errors:
    if len(consumers) > _CONSUMERS:
        return [too_many(path, len(consumers), _CONSUMERS)]
    errors = [
        required(f"{path}[{index}].{name}")
        for index, consumer in enumerate(consumers)
        for name in ("resource", "name", "uid")
        if not consumer.get(name)
    ]
    named = [
        {name: item.get(name, "") for name in _CONSUMER_FIELDS if name != "apiGroup" or item.get(name)}
        for item in consumers
    ]
    return errors + _repeated([item["uid"] for item in named], named, path)


# -- allocations ------------------------------------------------------------------------------------------------------


def _allocation(allocation: JsonObject, request_names: Mapping[str, set[str]]) -> Errors:
    devices, path = allocation.get("devices") or {}, "status.allocation"
    results, configs = devices.get("results") or [], devices.get("config") or []
    errors: Errors = []
    if len(results) > _RESULTS:
        errors.append(too_many(f"{path}.devices.results", len(results), _RESULTS))
    else:
        for index, result in enumerate(results):
            errors += _result(result, f"{path}.devices.results[{index}]", request_names)
    if len(configs) > _CONFIGURATIONS:
        errors.append(too_many(f"{path}.devices.config", len(configs), _CONFIGURATIONS))
    else:
        for index, config in enumerate(configs):
            errors += _configuration(config, f"{path}.devices.config[{index}]", request_names)
    selector = allocation.get("nodeSelector")
    return errors if selector is None else errors + node_selector_errors(selector, f"{path}.nodeSelector")


def _result(result: JsonObject, path: str, request_names: Mapping[str, set[str]]) -> Errors:
    errors = reference_errors(result.get("request", ""), request_names, f"{path}.request")
    errors += declared_driver_errors(result.get("driver", ""), f"{path}.driver")
    errors += _declared_pool(result.get("pool", ""), f"{path}.pool")
    errors += name_errors(result.get("device", ""), dns1123_label, f"{path}.device")
    errors += _binding(result, path)
    for index, toleration in enumerate(result.get("tolerations") or ()):
        errors += toleration_errors(toleration, f"{path}.tolerations[{index}]")
    return errors + _share(result, path)


def _declared_pool(name: str, path: str) -> Errors:
    if not name:
        return [required(path)]
    errors = [too_long(path, 253)] if len(name) > 253 else []
    for index, part in enumerate(name.split("/")):
        if not part:
            errors.append(invalid(path, name, f"segment {index}: must not be empty"))
        errors += [invalid(path, part, f"segment {index}: {text}") for text in dns1123_subdomain(part, "bytes") if part]
    return errors


def _share(holder: JsonObject, path: str) -> Errors:
    share = holder.get("shareID")
    if share is None or _UUID.fullmatch(share):
        return []
    return [invalid(f"{path}.shareID", share, _NOT_A_UUID)]


def _several(items: Sequence[str], most: int, path: str, check: Callable[[str, str], Errors]) -> Errors:
    """The errors in a list of names: too many names, invalid names, and repeated names."""
    if len(items) > most:
        errors = [too_many(path, len(items), most)]
    else:
        errors = [error for index, item in enumerate(items) for error in check(item, f"{path}[{index}]")]
    return errors + repeated_errors(items, path)


def _binding(result: JsonObject, path: str) -> Errors:
    wanted, failing = result.get("bindingConditions") or [], result.get("bindingFailureConditions") or []
    errors: Errors = []
    for name, conditions in (("bindingConditions", wanted), ("bindingFailureConditions", failing)):
        errors += _several(
            conditions, _BINDING, f"{path}.{name}", lambda item, place: name_errors(item, qualified_name, place)
        )
    field_path = f"{path}.bindingFailureConditions"
    text, wanted_names = "bindingFailureConditions must not overlap with bindingConditions", set(wanted)
    errors += [
        invalid(f"{field_path}[{index}]", item, text) for index, item in enumerate(failing) if item in wanted_names
    ]
    if failing and not wanted:
        text = "bindingConditions are required to use bindingFailureConditions"
        errors.append(invalid(f"{path}.bindingConditions", result.get("bindingConditions"), text))
    if wanted and not failing:
        text = "bindingFailureConditions are required to use bindingConditions"
        errors.append(invalid(field_path, result.get("bindingFailureConditions"), text))
    return errors


def _configuration(config: JsonObject, path: str, request_names: Mapping[str, set[str]]) -> Errors:
    source, requests = config.get("source", ""), config.get("requests") or []
    errors: Errors = []
    if not source:
        errors.append(required(f"{path}.source"))
    elif source not in ("FromClaim", "FromClass"):
        errors.append(not_supported(f"{path}.source", source, ("FromClaim", "FromClass")))
    errors += _several(
        requests, _REQUESTS, f"{path}.requests", lambda name, place: reference_errors(name, request_names, place)
    )
    return errors + configuration_errors(config, path)


# -- devices in the status --------------------------------------------------------------------------------------------


def _device(device: JsonObject, path: str, allocated: set[Device]) -> Errors:
    errors = driver_name_errors(device.get("driver", ""), f"{path}.driver")
    errors += pool_errors(device.get("pool", ""), f"{path}.pool")
    errors += name_errors(device.get("device", ""), dns1123_label, f"{path}.device")
    errors += _share(device, path)
    if _identity(device) not in allocated:
        named = dict(zip(("Driver", "Pool", "Device", "ShareID"), _identity(device), strict=True))
        bad_value = Shown(_compact_json(named))
        errors.append(invalid(path, bad_value, "must be an allocated device in the claim"))
    conditions = device.get("conditions") or []
    if len(conditions) > _CONDITIONS:
        errors.append(too_many(f"{path}.conditions", len(conditions), _CONDITIONS))
    errors += _data(device.get("data"), f"{path}.data")
    return errors + _network(device.get("networkData") or {}, f"{path}.networkData")


def _data(data: Any, path: str) -> Errors:
    if data is None:
        return []
    if len(msgspec.json.encode(data)) > _DATA:
        return [too_long(path, _DATA)]
    return [] if isinstance(data, dict) else [invalid(path, "<value omitted>", "must be a valid JSON object")]


def _network(data: JsonObject, path: str) -> Errors:
    errors = [
        too_long(f"{path}.{name}", most)
        for name, most in (("interfaceName", 256), ("hardwareAddress", 128))
        if len((data.get(name) or "").encode()) > most
    ]
    addresses = data.get("ips") or []
    if len(addresses) > _ADDRESSES:
        return [*errors, too_many(f"{path}.ips", len(addresses), _ADDRESSES)]
    for index, address in enumerate(addresses):
        errors += _interface_address(address, f"{path}.ips[{index}]")
    return errors + repeated_errors(addresses, f"{path}.ips")


def _interface_address(text: str, path: str) -> Errors:
    """The errors in an IP address with a prefix length, which must have the form in which Go prints it."""
    address, slash, length = text.partition("/")
    if address.replace(".", "").isdecimal():
        # Go accepts leading zeros but does not print them.
        address = ".".join(part.lstrip("0") or "0" for part in address.split("."))
    try:
        parsed = ipaddress.ip_interface(f"{address}{slash}{length}")
    except ValueError:
        parsed = None
    if parsed is None or "%" in text or not length.isdecimal():
        return [invalid(path, text, "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)")]
    canonical = f"{parsed.ip}/{parsed.network.prefixlen}"
    if isinstance(parsed, ipaddress.IPv6Interface) and parsed.ip.ipv4_mapped is not None:
        most = ipaddress.IPV4LENGTH
        bits = parsed.network.prefixlen
        canonical = f"{parsed.ip.ipv4_mapped}/{bits - (ipaddress.IPV6LENGTH - most) if bits > most else bits}"
    return [] if text == canonical else [invalid(path, text, f"must be in canonical form ({quote(canonical)})")]
