"""Differences that are meant: the name of each is in a line of the table of ``docs/server.md``, with its reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from .mutations import Mutation

__all__ = ["NAMES", "explanation"]

_LINE: Final = r"\s*[-+] "
_LATER: Final = "a status that a controller within upstream's server writes later"
_WRITTEN: Final = r"Operation cannot be fulfilled on (apiservices|flowschemas|prioritylevelconfigurations)\.[^\n]*"
_NO_ACCOUNT: Final = "a service account that does not exist is not a reason to refuse a pod"
_REFERENCE: Final = "an expression warning's `fieldRef` (status of a ValidatingAdmissionPolicy) need not be a JSONPath"
_EXPLAINED: Final[tuple[tuple[str, str, re.Pattern[str]], ...]] = (
    (
        "400 where upstream answers 500: a resourceVersion that is not a number",
        "code",
        re.compile(
            r'500 strconv\.ParseUint: parsing ".*": (invalid syntax|value out of range) \| '
            r'400 strconv\.ParseUint: parsing ".*": \1',
            re.DOTALL,
        ),
    ),
    (
        _NO_ACCOUNT,
        "accepted-where-refused",
        re.compile(r'pods "[^"]*" is forbidden: error looking up service account [^\n]*'),
    ),
    (
        _NO_ACCOUNT,
        "code",
        re.compile(r'403 pods "[^"]*" is forbidden: error looking up service account .* \| 422 .*', re.DOTALL),
    ),
    (
        "a dry run of a Service with a node port over 65,534 and a check of health is accepted",
        "accepted-where-refused",
        re.compile(r'Service "[^"]*" is invalid: spec\.healthCheckNodePort: Invalid value: [^\n]*'),
    ),
    (
        _REFERENCE,
        "accepted-where-refused",
        re.compile(
            r"ValidatingAdmissionPolicy[^\n]*: status\.typeChecking\.expressionWarnings\[\d+\]\.fieldRef: "
            r"Invalid value: [^\n]*: invalid JSONPath: [^\n]*"
        ),
    ),
    (_LATER, "object", re.compile(r"\s*\.status\.conditions: \[\{\"type\": \"(Available|Dangling)\"[^\n]*")),
    (_LATER, "accepted-where-refused", re.compile(_WRITTEN)),
    (_LATER, "code", re.compile(rf"409 {_WRITTEN} \| 422 .*", re.DOTALL)),
    (
        "the words in which CEL's parser refuses an expression",
        "causes",
        re.compile(
            rf"(?:{_LINE}[^\n]*: compilation failed: ERROR: [^\n]*Syntax error[^\n]*"
            r"(?:\n(?: \||ERROR: <input>)[^\n]*)*\s*)+"
        ),
    ),
    (
        "names that each server draws at random",
        "causes",
        re.compile(
            rf"(?:{_LINE}(?:metadata\.name: [^\n]*must not contain dots|[^\n]*\"kube-api-access-<5>\"|"
            r"spec\.ports\[\d+\]\.nodePort: FieldValueDuplicate: Duplicate value: \d+))+"
        ),
    ),
)
"""Name, class of `compare`, and the whole text of the difference."""
_EMPTY: Final = "an empty list or map, which is told apart from a missing one in what upstream shows of an object"
NAMES: Final = frozenset({name for name, _, _ in _EXPLAINED} | {_EMPTY})


def explanation(sort: str, text: str, changes: Sequence[Mutation]) -> str | None:
    """The name of the kind of difference; None if nothing explains it. ``changes``: what the request changes."""
    if sort == "causes" and _same_but_for_empty(text):
        return _EMPTY
    nothing = all(how == "set" and value in ([], {}) for how, _, value in changes)
    if nothing and (sort == "accepted-where-refused" or (sort, text) == ("object", ".metadata.generation: 2 | 1")):
        return _EMPTY
    return next((name for name, of, form in _EXPLAINED if of == sort and form.fullmatch(text)), None)


def _same_but_for_empty(text: str) -> bool:
    sides: dict[str, set[str]] = {"-": set(), "+": set()}
    for line in text.split("\n      "):
        sides.setdefault(line[:1], set()).add(re.sub(r"\[\]|\{\}", "null", line[2:]))
    return sides["-"] == sides["+"]
