"""The annotations in which ``autoscaling/v1`` autoscalers keep the fields that only ``v2`` has, in the form of v1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from setpoint.apiserver.resources.builtin_schemas import built_in_schemas
from setpoint.apiserver.resources.strategy import JsonObject
from setpoint.meta import Quantity
from setpoint.schema import ErrorType, Schema, prune, validate

_KINDS: Final = ("object", "pods", "resource", "containerResource", "external")
_RULES: Final = ("StabilizationWindowSeconds", "SelectPolicy", "Policies", "Tolerance")
_POLICY: Final = ("Type", "Value", "PeriodSeconds")


def written_annotation(name: str, value: Any) -> str:
    """The text of the annotation for the ``v2`` field ``name``: metrics, behaviour or conditions."""
    match name:
        case "metrics" | "currentMetrics":
            value = [_to_v1(metric, current=name != "metrics") for metric in value]
        case "behavior":
            value = _capitalized(value)
    return msgspec.json.encode(value).decode()


def read_annotation(name: str, text: str) -> Any:
    """The value of the ``v2`` field ``name``; None if ``text`` can't be parsed or has values of a wrong type. Callers
    ignore such an annotation, as upstream does.
    """
    try:
        value = msgspec.json.decode(text)
        match name:
            case "metrics" | "currentMetrics":
                value = [_to_v2(metric, current=name != "metrics") for metric in value]
            case "behavior":
                value = _without_capitals(value) or None
    except (msgspec.DecodeError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    if value is None:
        return None
    schema = _schema(name)
    if any(error.type is ErrorType.TYPE_INVALID for error in validate(schema, value)):
        return None
    prune(schema, value)
    return value


def _schema(name: str) -> Schema:
    section = "spec" if name in ("metrics", "behavior") else "status"
    return built_in_schemas()["io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler"].properties[section].properties[name]


def _with_values(**fields: Any) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}


def _reference(value: Mapping[str, Any]) -> JsonObject:
    return {
        "kind": value.get("kind", ""),
        "name": value.get("name", ""),
        **_with_values(apiVersion=value.get("apiVersion")),
    }


def _to_v1(metric: JsonObject, *, current: bool) -> JsonObject:
    result: JsonObject = {"type": metric.get("type", "")}
    for kind in _KINDS:
        if metric.get(kind) is not None:
            source = metric[kind]
            amounts = source.get("current" if current else "target") or {}
            result[kind] = _SOURCES[kind](source, amounts, "current" if current else "target")
    return result


def _object(source: JsonObject, amounts: JsonObject, word: str) -> JsonObject:
    metric = source.get("metric") or {}
    return {
        "target": _reference(source.get("describedObject") or {}),
        "metricName": metric.get("name", ""),
        f"{word}Value": amounts.get("value", "0"),
        **_with_values(selector=metric.get("selector"), averageValue=amounts.get("averageValue")),
    }


def _pods(source: JsonObject, amounts: JsonObject, word: str) -> JsonObject:
    metric = source.get("metric") or {}
    average = {f"{word}AverageValue": amounts.get("averageValue", "0")}
    return {"metricName": metric.get("name", ""), **average, **_with_values(selector=metric.get("selector"))}


def _resource(source: JsonObject, amounts: JsonObject, word: str) -> JsonObject:
    average = amounts.get("averageValue", "0" if word == "current" else None)
    used = {f"{word}AverageUtilization": amounts.get("averageUtilization"), f"{word}AverageValue": average}
    return {"name": source.get("name", ""), **_with_values(**used)}


def _container(source: JsonObject, amounts: JsonObject, word: str) -> JsonObject:
    return {**_resource(source, amounts, word), "container": source.get("container", "")}


def _external(source: JsonObject, amounts: JsonObject, word: str) -> JsonObject:
    metric = source.get("metric") or {}
    value = amounts.get("value", "0" if word == "current" else None)
    used = {f"{word}Value": value, f"{word}AverageValue": amounts.get("averageValue")}
    return {"metricName": metric.get("name", ""), **_with_values(metricSelector=metric.get("selector"), **used)}


_SOURCES: Final[dict[str, Callable[[JsonObject, JsonObject, str], JsonObject]]] = {
    "object": _object,
    "pods": _pods,
    "resource": _resource,
    "containerResource": _container,
    "external": _external,
}


def _to_v2(metric: JsonObject, *, current: bool) -> JsonObject:
    result: JsonObject = {"type": metric.get("type", "")}
    for kind in _KINDS:
        if metric.get(kind) is not None:
            result[kind] = _source(kind, metric[kind], "current" if current else "target")
    return result


def _amount(text: Any, otherwise: str | None = None) -> Any:
    return otherwise if text is None else str(Quantity(text))


def _measured(text: Any) -> Any:
    """A quantity of a status in canonical form; None for a zero, which ``v1`` uses for a missing quantity."""
    return None if text is None or Quantity(text) == Quantity(0) else str(Quantity(text))


def _source(kind: str, source: JsonObject, word: str) -> JsonObject:
    current = word == "current"
    amount = _measured if current else _amount
    value, average = amount(source.get(f"{word}Value")), amount(source.get(f"{word}AverageValue"))
    if kind in ("resource", "containerResource"):
        used = source.get(f"{word}AverageUtilization")
        sort = {} if current else {"type": "AverageValue" if used is None else "Utilization"}
        result = {
            "name": source.get("name", ""),
            word: {**sort, **_with_values(averageValue=average, averageUtilization=used)},
        }
        return result if kind == "resource" else {**result, "container": source.get("container", "")}
    selector = source.get("metricSelector" if kind == "external" else "selector")
    result = {"metric": {"name": source.get("metricName", ""), **_with_values(selector=selector)}}
    if kind == "object":
        average = amount(source.get("averageValue"))
        result["describedObject"] = _reference(source.get("target") or {})
        if not current and average is None:
            value = value or "0"
        elif value is not None and Quantity(value) == Quantity(0):
            value = None
    elif kind == "pods":
        average = average or (None if current else "0")
    sort = {} if current else {"type": _sort(kind, value, average)}
    return {**result, word: {**sort, **_with_values(value=value, averageValue=average)}}


def _sort(kind: str, value: str | None, average: str | None) -> str:
    """The type of a target, which ``v1`` does not specify."""
    if kind == "external":
        return "AverageValue" if value is None else "Value"
    return "Value" if average is None else "AverageValue"


def _capitalized(behavior: JsonObject) -> JsonObject:
    """A behaviour with capitalized field names, as Go encodes it, because the Go type has no JSON names."""
    result: JsonObject = {}
    for name, direction in (("ScaleUp", "scaleUp"), ("ScaleDown", "scaleDown")):
        rules = behavior.get(direction)
        result[name] = None if rules is None else {field: rules.get(_small(field)) for field in _RULES}
        if rules is not None and rules.get("policies") is not None:
            result[name]["Policies"] = [
                {field: policy.get(_small(field)) for field in _POLICY} for policy in rules["policies"]
            ]
    return result


def _small(name: str) -> str:
    return name[:1].lower() + name[1:]


def _without_capitals(value: Any) -> Any:
    """``value`` without nulls, and with the API's field names in place of the capitalized ones."""
    if isinstance(value, list):
        return [_without_capitals(item) for item in value]
    if isinstance(value, dict):
        return {_small(name): _without_capitals(item) for name, item in value.items() if item is not None}
    return value
