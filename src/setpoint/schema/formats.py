"""String formats that API servers check (``format`` in a CustomResourceDefinition); unknown formats are not checked."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Final
from urllib.parse import urlsplit

__all__ = ["FORMATS", "matches_format"]

_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")
_DURATION: Final = re.compile(r"[-+]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_DURATION_WORDS: Final = re.compile(
    r"(?:[0-9]+ *(?:ns|nanos?|us|µs|micros?|milli|ms|s|secs?|seconds?|m|mins?|minutes?|h|hr|hours?"
    r"|d|days?|w|wks?|weeks?))+",
    re.I,
)
_EMAIL: Final = re.compile(r"(?:[^<>]* )?<?[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*>?")
_HOSTNAME: Final = re.compile(
    r"[a-zA-Z0-9\u00a1-\uffff](?:(?:\.|-{0,61})[a-zA-Z0-9\u00a1-\uffff])*\.?"  # upstream's pattern, unambiguous
)
_MAC: Final = re.compile(
    r"(?:[0-9a-f]{2}(?::[0-9a-f]{2}){5}(?:(?::[0-9a-f]{2}){2})?|[0-9a-f]{2}(?:-[0-9a-f]{2}){5}(?:(?:-[0-9a-f]{2}){2})?"
    r"|[0-9a-f]{4}(?:\.[0-9a-f]{4}){2,3})",
    re.I,
)
_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")


def _pattern(expression: str) -> Callable[[str], bool]:
    compiled = re.compile(expression, re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


def _is_date(text: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    day, t, time = text.lower().partition("t")
    match = _TIME.fullmatch(time)
    if not t or match is None or not _is_date(day):
        return False
    hour, minute, second = (int(part) for part in match.groups())
    return hour < 24 and minute < 60 and second < 60


def _is_duration(text: str) -> bool:
    return _DURATION.fullmatch(text) is not None or _DURATION_WORDS.fullmatch(text) is not None


def _is_ip(version: int) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            return ipaddress.ip_address(text).version == version
        except ValueError:
            return False

    return check


def _is_cidr(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return text.partition("/")[2].isdecimal()


def _is_uri(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme) or text.startswith("/")


def _is_byte(text: str) -> bool:
    """Whether ``text`` is base64. The empty string is rejected, as in upstream's pattern."""
    if not text:
        return False
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _is_hostname(text: str) -> bool:
    return len(text) <= 255 and _HOSTNAME.fullmatch(text) is not None


FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "bsonobjectid": _pattern(r"[0-9a-fA-F]{24}"),
    "byte": _is_byte,
    "cidr": _is_cidr,
    "creditcard": _pattern(
        r"(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}"
        r"|(?:2131|1800|35\d{3})\d{11})"
    ),
    "date": _is_date,
    "date-time": _is_date_time,
    "datetime": _is_date_time,
    "duration": _is_duration,
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "hexcolor": _pattern(r"#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": _is_hostname,
    "ipv4": _is_ip(4),
    "ipv6": _is_ip(6),
    "isbn": _pattern(r"(?:[0-9]{9}[0-9X]|[0-9]{13})"),
    "isbn10": _pattern(r"[0-9]{9}[0-9X]"),
    "isbn13": _pattern(r"[0-9]{13}"),
    "k8s-long-name": lambda text: len(text) <= 253 and _SUBDOMAIN.fullmatch(text) is not None,
    "k8s-short-name": lambda text: _LABEL.fullmatch(text) is not None,
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "rgbcolor": _pattern(r"rgb\(\s*(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\s*,\s*(?:25[0-5]|2[0-4]\d|1?\d?\d)){2}\s*\)"),
    "ssn": _pattern(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "uri": _is_uri,
    "uuid": _pattern(r"(?i:[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12})"),
    "uuid3": _pattern(r"(?i:[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12})"),
    "uuid4": _pattern(r"(?i:[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12})"),
    "uuid5": _pattern(r"(?i:[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12})"),
}
"""The checks, by format name. ``password`` and names that are not listed accept any string."""


def matches_format(name: str, text: str) -> bool:
    """Whether ``text`` has the format ``name``; True for formats that servers don't check."""
    check = FORMATS.get(name)
    return check is None or check(text)
