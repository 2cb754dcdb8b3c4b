"""Validation of names.

Each function returns a list of the errors in a value; the list is empty if the value is valid. The errors have the
wording of the API server. Rules: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
"""

from __future__ import annotations

import re

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS1123_LABEL = re.compile(_LABEL)
_DNS1123_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_DNS1035_LABEL = re.compile("[a-z]([-a-z0-9]*[a-z0-9])?")
_QUALIFIED = re.compile("([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_CONFIG_KEY = re.compile("[-._a-zA-Z0-9]+")
_LABEL_VALUE = re.compile("(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")


def _too_long(limit: int, unit: str = "bytes") -> str:
    return f"must be no more than {limit} {unit}"


def _regex(message: str, pattern: str, *examples: str) -> str:
    example_text = ",  or ".join(f"'{example}'" for example in examples)
    return f"{message} (e.g. {example_text}, regex used for validation is '{pattern}')"


def dns1123_label(value: str) -> list[str]:
    """The errors in a DNS label of RFC 1123, which has at most 63 characters (``a-z``, ``0-9`` and ``-``) and is
    alphanumeric at both ends.
    """
    problems = [_too_long(63, "characters")] if len(value) > 63 else []
    if _DNS1123_LABEL.fullmatch(value):
        return problems
    if _DNS1123_SUBDOMAIN.fullmatch(value):
        problems.append("must not contain dots")
    else:
        problems.append(
            _regex(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
                "and must start and end with an alphanumeric character",
                _LABEL,
                "my-name",
                "123-abc",
            )
        )
    return problems


def dns1123_subdomain(value: str, unit: str = "characters") -> list[str]:
    """The errors in a DNS subdomain of RFC 1123, which consists of labels separated by dots and has at most 253
    characters.
    """
    problems = [_too_long(253, unit)] if len(value) > 253 else []
    if not _DNS1123_SUBDOMAIN.fullmatch(value):
        problems.append(
            _regex(
                "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
                "and must start and end with an alphanumeric character",
                rf"{_LABEL}(\.{_LABEL})*",
                "example.com",
            )
        )
    return problems


def dns1035_label(value: str) -> list[str]:
    """The errors in a DNS label of RFC 1035, which is like one of RFC 1123, but starts with a letter (for services)."""
    problems = [_too_long(63, "characters")] if len(value) > 63 else []
    if not _DNS1035_LABEL.fullmatch(value):
        problems.append(
            _regex(
                "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
                "start with an alphabetic character, and end with an alphanumeric character",
                _DNS1035_LABEL.pattern,
                "my-name",
                "abc-123",
            )
        )
    return problems


def path_segment(value: str) -> list[str]:
    """The errors in a path segment, which must not be ``.`` or ``..``, nor contain ``/`` or ``%``."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return path_segment_prefix(value)


def path_segment_prefix(value: str) -> list[str]:
    """The errors in the beginning of a path segment, which must not contain ``/`` or ``%``."""
    return [f"may not contain '{bad}'" for bad in "/%" if bad in value]


def qualified_name(value: str) -> list[str]:
    """The errors in a label or annotation key, which is ``name`` or ``prefix/name``; the name has at most 63
    characters.
    """
    prefix, slash, name = value.rpartition("/")
    problems = []
    if slash:
        if "/" in prefix:
            return [
                _regex(
                    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', "
                    "and must start and end with an alphanumeric character",
                    _QUALIFIED.pattern,
                    "MyName",
                    "my.name",
                    "123-abc",
                )
                + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ]
        if not prefix:
            problems.append("prefix part must be non-empty")
        else:
            problems += [f"prefix part {problem}" for problem in dns1123_subdomain(prefix, "bytes")]
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > 63:
        problems.append(f"name part {_too_long(63)}")
    if not _QUALIFIED.fullmatch(name):
        problems.append(
            "name part "
            + _regex(
                "must consist of alphanumeric characters, '-', '_' or '.', "
                "and must start and end with an alphanumeric character",
                _QUALIFIED.pattern,
                "MyName",
                "my.name",
                "123-abc",
            )
        )
    return problems


def config_key(value: str) -> list[str]:
    """The errors in a key of a config map or secret, which becomes the name of a file."""
    problems = [_too_long(253, "characters")] if len(value) > 253 else []
    if not _CONFIG_KEY.fullmatch(value):
        problems.append(
            _regex(
                "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
                _CONFIG_KEY.pattern,
                "key.name",
                "KEY_NAME",
                "key-name",
            )
        )
    if value in (".", ".."):
        problems.append(f"must not be '{value}'")
    elif value.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def label_value(value: str) -> list[str]:
    """The errors in a label's value, which is empty, or has at most 63 characters and is alphanumeric at both ends."""
    problems = [_too_long(63)] if len(value) > 63 else []
    if not _LABEL_VALUE.fullmatch(value):
        problems.append(
            _regex(
                "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
                "and must start and end with an alphanumeric character",
                _LABEL_VALUE.pattern,
                "MyValue",
                "my_value",
                "12345",
            )
        )
    return problems
