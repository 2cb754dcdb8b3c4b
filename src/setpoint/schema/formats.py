"""String formats that API servers check (``format`` in a CustomResourceDefinition); unknown formats are not checked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import date
from typing import Final

from setpoint.meta.duration import parse_nanoseconds

from .addresses import address_of, network_of
from .email import is_email
from .urls import split_url

_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")
_DURATION: Final = re.compile(r"(?<![0-9])([0-9]++)[\t\n\f\r ]*+([A-Za-zµ]++)")
_UNITS: Final = re.compile(r"ns|us|µs|ms|s|m|h|hr|d|w|wk|(?:nano|micro|milli|sec|min|hour|day|week).*")
_MAC: Final = re.compile(
    r"(?:[0-9a-f]{2}(?::[0-9a-f]{2}){5}(?:(?::[0-9a-f]{2}){2}|(?::[0-9a-f]{2}){14})?"
    r"|[0-9a-f]{2}(?:-[0-9a-f]{2}){5}(?:(?:-[0-9a-f]{2}){2}|(?:-[0-9a-f]{2}){14})?"
    r"|[0-9a-f]{4}(?:\.[0-9a-f]{4}){2,3}|[0-9a-f]{4}(?:\.[0-9a-f]{4}){9})",
    re.I,
)
_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_CREDIT_CARD: Final = re.compile(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)
_NOT_DIGITS: Final = re.compile(r"[^0-9]+")
_SPACES_AND_DASHES: Final = re.compile(r"[\t\n\f\r -]+")
_BYTE_OF_COLOR: Final = r"\s*(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_LONGEST_HOSTNAME, _LONGEST_LABEL = 255, 63


def _pattern(expression: str) -> Callable[[str], bool]:
    compiled = re.compile(expression, re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = (int(part) for part in match.groups())
    try:
        date(2000 + year % 400, month, day)  # Python has no year 0; leap years repeat
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    day, t, time = text.lower().partition("t")
    match = _TIME.fullmatch(time.partition("t")[0])
    if not t or match is None or not _is_date(day):
        return False
    hour, minute, second = (int(part) for part in match.groups())
    return hour < 24 and minute < 60 and second < 60


def _is_duration(text: str) -> bool:
    """Whether ``text`` is a duration of Go, or has some number with a unit somewhere, as in ``1 day and 2 hours``."""
    try:
        parse_nanoseconds(text)
    except ValueError:
        parts = _DURATION.findall(text)
        return all(len(number.lstrip("0")) < 20 and int(number) < 1 << 63 for number, _ in parts) and any(
            _UNITS.fullmatch(unit.lower()) for _, unit in parts
        )
    return True


def _is_ipv4(text: str) -> bool:
    return "." in text and address_of(text) is not None


def _is_ipv6(text: str) -> bool:
    zeros = re.search(r"[:.]0[0-9]+(?:\.|\Z)", text) if "." in text else None
    return ":" in text and not zeros and address_of(text) is not None


def _is_uri(text: str) -> bool:
    try:
        split_url(text)
    except ValueError:
        return False
    return True


def _is_hostname(text: str) -> bool:
    """Whether ``text`` is a single label, or labels that end with one of at least two letters, as upstream's pattern
    has it.
    """
    labels = text.split(".")
    if len(text.encode()) > _LONGEST_HOSTNAME or any(len(label.encode()) > _LONGEST_LABEL for label in labels):
        return False
    if len(labels) == 1:
        rest = text[2:] if text[1:2] == "-" else text[1:]
        return _is_name(text[:1]) and (not rest or _is_name(rest))
    *labels, last = labels
    return (
        len(last) > 1
        and all((char.isascii() and char.isalpha()) or unicodedata.category(char)[0] == "L" for char in last)
        and all(_is_name(label.replace("-", "a")) and label[0] != "-" != label[-1] for label in labels)
    )


def _is_name(text: str) -> bool:
    return bool(text) and all(
        (char.isascii() and char.isalnum()) or unicodedata.category(char)[0] in "LS" for char in text
    )


def _is_isbn10(text: str) -> bool:
    digits = _SPACES_AND_DASHES.sub("", text)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return False
    return sum(place * (10 if digit == "X" else int(digit)) for place, digit in enumerate(digits, 1)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = _SPACES_AND_DASHES.sub("", text)
    if not re.fullmatch(r"[0-9]{13}", digits):
        return False
    return sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(digits)) % 10 == 0


def _is_credit_card(text: str) -> bool:
    digits = _NOT_DIGITS.sub("", text)
    if not _CREDIT_CARD.fullmatch(digits):
        return False
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


_FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "bsonobjectid": _pattern(r"[0-9a-fA-F]{24}"),
    "byte": _pattern(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "cidr": lambda text: network_of(text) is not None,
    "creditcard": _is_credit_card,
    "date": _is_date,
    "date-time": _is_date_time,
    "datetime": _is_date_time,
    "duration": _is_duration,
    "email": is_email,
    "hexcolor": _pattern(r"#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "k8s-long-name": lambda text: len(text) <= 253 and _SUBDOMAIN.fullmatch(text) is not None,
    "k8s-short-name": lambda text: _LABEL.fullmatch(text) is not None,
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "password": lambda _: True,
    "rgbcolor": _pattern(rf"rgb\({_BYTE_OF_COLOR},{_BYTE_OF_COLOR},{_BYTE_OF_COLOR}\)"),
    "ssn": _pattern(r"\d{3}[- ]\d{2}[- ]\d{4}"),
    "uri": _is_uri,
    "uuid": _pattern(r"(?i:[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12})"),
    "uuid3": _pattern(r"(?i:[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12})"),
    "uuid4": _pattern(r"(?i:[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12})"),
    "uuid5": _pattern(r"(?i:[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12})"),
}


def matches_format(name: str, text: str) -> bool:
    """Whether ``text`` has the format ``name``; True for formats that servers don't check."""
    check = _check_of(name)
    return check is None or check(text)


def is_checked(name: str) -> bool:
    """Whether servers know the format ``name`` of strings. They ignore other names."""
    return _check_of(name) is not None


def _check_of(name: str) -> Callable[[str], bool] | None:
    """The check of a format; dashes in its name don't matter."""
    return _FORMATS.get(name) or _FORMATS.get(name.replace("-", ""))
