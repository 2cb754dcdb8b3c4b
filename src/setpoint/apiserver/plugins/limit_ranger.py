"""LimitRanger: gives containers the defaults of their namespace's LimitRanges, and enforces the limits set
there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from setpoint.apiserver.objects.pod_resources import Amounts, amounts_of, pod_amounts
from setpoint.apiserver.requests.admission import AdmissionAttributes
from setpoint.meta import Quantity

JsonObject = dict[str, Any]

_ANNOTATION: Final = "kubernetes.io/limit-ranger"
_RANGES: Final = "limitranges"


def default_limits(attributes: AdmissionAttributes) -> None:
    """Sets missing requests and limits in the containers of a new pod, from the LimitRanges of its namespace."""
    if attributes.old is not None or attributes.subresource:
        return
    for limit_range in attributes.stored(_RANGES, attributes.namespace):
        _default(attributes, limit_range)


def _default(attributes: AdmissionAttributes, limit_range: JsonObject) -> None:
    defaults: dict[str, dict[str, str]] = {"limits": {}, "requests": {}}
    for limit in _limits(limit_range, "Container"):
        defaults["requests"] |= limit.get("defaultRequest") or {}
        defaults["limits"] |= limit.get("default") or {}
    texts: list[str] = []
    for field, word in (("containers", "container"), ("initContainers", "init container")):
        for container in attributes.spec.get(field) or ():
            texts += _merge(container, defaults, word)
    if texts:
        metadata = attributes.new["metadata"]
        text = f"LimitRanger plugin set: {'; '.join(texts)}"
        metadata["annotations"] = {**(metadata.get("annotations") or {}), _ANNOTATION: text}


def _merge(container: JsonObject, defaults: dict[str, dict[str, str]], word: str) -> Iterator[str]:
    """Fills in the missing values and yields a description of each."""
    for side in ("requests", "limits"):
        amounts = (container.get("resources") or {}).get(side) or {}
        missing = {name: value for name, value in defaults[side].items() if name not in amounts}
        if missing:
            container["resources"] = {**(container.get("resources") or {}), side: {**amounts, **missing}}
            yield f"{', '.join(sorted(missing))} {side.removesuffix('s')} for {word} {container.get('name', '')}"


def check_limits(attributes: AdmissionAttributes) -> None:
    """Refuses pods and claims that violate a LimitRange of their namespace. Raises ApiStatusError (403)."""
    pod = attributes.resource.resource == "pods"
    if pod and attributes.subresource != ("" if attributes.old is None else "resize"):
        return
    if not pod and attributes.subresource:
        return
    if attributes.old is not None and attributes.old["metadata"].get("deletionTimestamp"):
        return
    for limit_range in attributes.stored(_RANGES, attributes.namespace):
        errors = list(
            dict.fromkeys(
                _pod_errors(attributes.spec, limit_range) if pod else _claim_errors(attributes.spec, limit_range)
            )
        )
        if errors:
            raise attributes.forbidden(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")


def _pod_errors(spec: JsonObject, limit_range: JsonObject) -> Iterator[str]:
    for limit in (limit_range.get("spec") or {}).get("limits") or ():
        if limit.get("type") == "Container":
            for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
                yield from _errors(limit, amounts_of(container, "requests"), amounts_of(container, "limits"))
        elif limit.get("type") == "Pod":
            requests, limits = (pod_amounts(spec, side, overhead=False) for side in ("requests", "limits"))
            yield from _errors(limit, requests, limits)


def _claim_errors(spec: JsonObject, limit_range: JsonObject) -> Iterator[str]:
    requests = amounts_of(spec, "requests")
    for limit in _limits(limit_range, "PersistentVolumeClaim"):
        for name, least in _amounts(limit, "min"):
            yield from _too_little(limit, name, least, requests, {})
        for name, most in _amounts(limit, "max"):
            request = requests.get(name)
            if request is None:
                yield f"{_head('maximum', limit, name, most)}.  No request is specified"
            elif request > most:
                yield f"{_head('maximum', limit, name, most)}, but request is {request}"


def _errors(limit: JsonObject, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for name, least in _amounts(limit, "min"):
        yield from _too_little(limit, name, least, requests, limits)
    for name, most in _amounts(limit, "max"):
        if name not in limits:
            yield f"{_head('maximum', limit, name, most)}.  No limit is specified"
        elif limits[name] > most:
            yield f"{_head('maximum', limit, name, most)}, but limit is {limits[name]}"
        elif name in requests and requests[name] > most:
            yield f"{_head('maximum', limit, name, most)}, but request is {requests[name]}"
    for name, ratio in _amounts(limit, "maxLimitRequestRatio"):
        head = f"{name} max limit to request ratio per {limit['type']} is {ratio}"
        if not requests.get(name, _ZERO).value:
            yield f"{head}, but no request is specified or request is 0"
        elif not limits.get(name, _ZERO).value:
            yield f"{head}, but no limit is specified or limit is 0"
        elif limits[name].value / requests[name].value > ratio.value:
            yield f"{head}, but provided ratio is {limits[name].value / requests[name].value:.6f}"


_ZERO: Final = Quantity(0)


def _too_little(limit: JsonObject, name: str, least: Quantity, requests: Amounts, limits: Amounts) -> Iterator[str]:
    if name not in requests:
        yield f"{_head('minimum', limit, name, least)}.  No request is specified"
    elif requests[name] < least:
        yield f"{_head('minimum', limit, name, least)}, but request is {requests[name]}"
    elif name in limits and limits[name] < least:
        yield f"{_head('minimum', limit, name, least)}, but limit is {limits[name]}"


def _head(word: str, limit: JsonObject, name: str, amount: Quantity) -> str:
    return f"{word} {name} usage per {limit['type']} is {amount}"


def _limits(limit_range: JsonObject, type: str) -> list[JsonObject]:
    limits = (limit_range.get("spec") or {}).get("limits") or ()
    return [limit for limit in limits if limit.get("type") == type]


def _amounts(limit: JsonObject, field: str) -> list[tuple[str, Quantity]]:
    return [(name, Quantity(value)) for name, value in sorted((limit.get(field) or {}).items())]
