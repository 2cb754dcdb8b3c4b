"""The contents of table cells: durations, labels, selectors, images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from setpoint.apiserver.objects.label_selector import selector_of
from setpoint.meta import DecodeError, SelectorError, parse_time

Wire = Mapping[str, Any]
"""An object, or a part of one, as plain JSON values."""

_DAY = 24
_YEAR = 24 * 365


def human_duration(duration: timedelta) -> str:
    """A duration in at most two units, as kubectl prints ages: ``59s``, ``5m30s``, ``3h``, ``2d4h``.

    A negative duration of less than two seconds is shown as ``0s``, because clocks differ; a longer one
    as ``<invalid>``.
    """
    seconds = int(duration.total_seconds())  # towards zero, as Go does
    if seconds < -1:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    if seconds < 120:
        return f"{seconds}s"
    minutes, hours = seconds // 60, seconds // 3600
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 2 * _DAY:
        return f"{hours}h"
    if hours < 8 * _DAY:
        return _two(hours // _DAY, "d", hours % _DAY, "h")
    if hours < 2 * _YEAR:
        return f"{hours // _DAY}d"
    if hours < 8 * _YEAR:
        return _two(hours // _YEAR, "y", hours // _DAY % 365, "d")
    return f"{hours // _YEAR}y"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"


def since(moment: str | None, now: datetime) -> str:
    """The time since ``moment`` (RFC 3339), as ``kubectl`` shows it; ``<unknown>`` if ``moment`` is
    None or empty.
    """
    if not moment:
        return "<unknown>"
    return human_duration(now - parse_time(moment))


def age(obj: Wire, now: datetime) -> str:
    return since(get(obj, "metadata", "creationTimestamp"), now)


def get(value: Any, *path: str, default: Any = None) -> Any:
    """The value at the end of ``path`` in nested mappings; ``default`` if a step is absent or null."""
    for step in path:
        if not isinstance(value, dict):  # plain JSON; asking for a Mapping costs five times as much
            return default
        value = value.get(step)
    return default if value is None else value


def text(value: Any, *path: str, default: str = "") -> str:
    """Like `get`, but returns the value as a string; the empty string counts as absent."""
    item = get(value, *path)
    return default if item is None or item == "" else str(item)


def number(value: Any, *path: str) -> int:
    return int(get(value, *path, default=0))


def name(obj: Wire) -> str:
    return text(obj, "metadata", "name")


def flag(value: bool | None) -> str:
    """``True`` or ``False``; ``<unset>`` for None."""
    return "<unset>" if value is None else str(value)


def format_labels(labels: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or "<none>"


def format_selector(selector: Wire | None, *, none: str = "<none>", invalid: str = "<error>") -> str:
    """A label selector in kubectl's form, ``app=web,tier in (a,b)``; the text ``none`` if the selector is empty,
    and the text ``invalid`` if it is not valid.
    """
    if not selector:
        return none
    try:
        return str(selector_of(selector)) or none
    except (SelectorError, DecodeError):
        return invalid


def containers(pod_spec: Wire | None) -> tuple[str, str]:
    """The names and the images of a pod spec's containers, each joined by commas."""
    items = get(pod_spec, "containers", default=[])
    return ",".join(text(item, "name") for item in items), ",".join(text(item, "image") for item in items)


def condition(obj: Wire, type_: str) -> Wire | None:
    """The condition of type ``type_`` in an object's status; None if there is no such condition."""
    return next((item for item in get(obj, "status", "conditions", default=[]) if item.get("type") == type_), None)


def has_condition(obj: Wire, type_: str) -> bool:
    value = condition(obj, type_)
    return value is not None and value.get("status") == "True"


def first(items: Iterable[str], count: int = 3, *, empty: str = "<unset>", separator: str = ",") -> str:
    """The first ``count`` items, and the number of those left out: ``a,b,c + 2 more...``; the text ``empty`` if there
    are no items.
    """
    listed = list(items)
    if not listed:
        return empty
    text = separator.join(listed[:count])
    return f"{text} + {len(listed) - count} more..." if len(listed) > count else text


def host_port(host: str, port: object) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def load_balancer(obj: Wire) -> str:
    """The IP addresses or hostnames in a load balancer's status, sorted, without duplicates and joined by commas."""
    ingress = get(obj, "status", "loadBalancer", "ingress", default=[])
    return ",".join(sorted({item.get("ip") or item.get("hostname") for item in ingress} - {None, ""}))


Cells = Callable[[Wire, datetime], list[Any]]
"""A function that returns the cells of one object's row at a given time, in the order of its printer's columns."""
