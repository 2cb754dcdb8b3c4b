"""Differences that are meant: the name of each is in a line of the table of ``docs/server.md``, with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from .mutations import Mutation

Path = tuple[str | int, ...]
_LINE: Final = r"\s*[-+] "
_DRAWN: Final = "names that each server draws at random"
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
    (
        _REFERENCE,
        "causes",
        re.compile(
            rf"(?:{_LINE}status\.typeChecking\.expressionWarnings\[\d+\]\.fieldRef: [^\n]*: invalid JSONPath: [^\n]*)+"
        ),
    ),
    (_LATER, "object", re.compile(r"\s*\.status\.conditions: \[\{\"type\": \"(Available|Dangling)\"[^\n]*")),
    (_LATER, "accepted-where-refused", re.compile(_WRITTEN)),
    (_LATER, "code", re.compile(rf"409 {_WRITTEN} \| 422 .*", re.DOTALL)),
    (
        "403 where upstream answers 500: the name of a runtime class that can't be in a path",
        "code",
        re.compile(
            r"500 (?:invalid resource name|resource name may not be empty)[^\n]* \| "
            r"403 [^\n]*: pod rejected: RuntimeClass [^\n]* not found"
        ),
    ),
    (
        "the words in which CEL's parser refuses an expression",
        "causes",
        re.compile(
            rf"(?:{_LINE}[^\n]*: compilation failed: ERROR: [^\n]*Syntax error[^\n]*"
            r"(?:\n(?: \||ERROR: <input>)[^\n]*)*\s*)+"
        ),
    ),
    (
        _DRAWN,
        "causes",
        re.compile(
            rf"(?:{_LINE}(?:metadata\.name: [^\n]*must not contain dots|[^\n]*\"kube-api-access-<5>\"|"
            r"spec\.ports\[\d+\]\.nodePort: FieldValueDuplicate: Duplicate value: \d+|"
            r"spec\.clusterIPs: [^\n]*: first value must match `clusterIP`))+"
        ),
    ),
)
"""Name, class of `compare`, and the whole text of the difference."""
_EMPTY: Final = "an empty list or map, which is told apart from a missing one in what upstream shows of an object"
_COUNTED: Final = ".metadata.generation: 2 | 1"
_NOTHING: Final = re.compile(r'\[\]|\{\}|(?<=Invalid value: )""(?=: )')
_SUFFIX: Final = re.compile(
    r"(?<=[^\"])[bcdfghjklmnpqrstvwxz2456789]{5}"
    r"(?=\": (?:a lowercase RFC 1123 |may not contain |must be `spec\.version))"
)
_FORBIDDEN: Final = re.compile(r"- (?P<field>[A-Za-z.0-9\[\]]+): FieldValueForbidden: [^\n]*")
_REFUSAL: Final = re.compile(r'\S+ "[^"]*" is invalid: (?P<field>[A-Za-z.]+): [^\n]*')
NAMES: Final = frozenset({name for name, _, _ in _EXPLAINED} | {_EMPTY})


def explanation(sort: str, text: str, changes: Sequence[Mutation]) -> str | None:
    """The name of the kind of difference; None if nothing explains it. ``changes``: what the request changes."""
    if sort == "causes" and _same_but_for(_NOTHING, text):
        return _EMPTY
    if sort == "causes" and _same_but_for(_SUFFIX, text):
        return _DRAWN
    if sort == "causes" and all(_forbids_empty(line, changes) for line in text.split("\n      ")):
        return _EMPTY
    emptied = [path for how, path, value in changes if how == "set" and _is_empty(value)]
    of_metadata = [path for _, path, _ in changes if path[0] == "metadata"]
    if emptied and len(emptied + of_metadata) == len(changes) and (sort, text) == ("object", _COUNTED):
        return _EMPTY
    if (
        sort == "accepted-where-refused"
        and " is invalid: " in text
        and ((emptied and len(emptied) == len(changes)) or _about_one_of(emptied, text))
    ):
        return _EMPTY
    return next((name for name, of, form in _EXPLAINED if of == sort and form.fullmatch(text)), None)


def _is_empty(value: object) -> bool:
    """Whether a list or map holds nothing, or nothing but empty ones."""
    if isinstance(value, dict):
        return all(_is_empty(item) for item in value.values())
    return isinstance(value, list) and all(_is_empty(item) for item in value)


def _forbids_empty(line: str, changes: Sequence[Mutation]) -> bool:
    """Whether ``line`` says that a field may not be set that holds nothing but an empty list or map."""
    match = _FORBIDDEN.fullmatch(line)
    if match is None:
        return False
    field = re.sub(r"\[\d+\]", "", match["field"]).split(".")
    emptied = (
        [step for step in inner if isinstance(step, str)]
        for how, path, value in changes
        if how == "set"
        for inner in _emptied(tuple(path), value)
        if len(field) >= len([step for step in path if isinstance(step, str)])
    )
    return any(steps[: len(field)] == field for steps in emptied)


def _emptied(path: Path, value: object) -> Iterator[Path]:
    """The paths of the empty lists and maps in ``value``, which stands at ``path``."""
    if _is_empty(value):
        yield path
    if isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _emptied((*path, step), inner)


def _about_one_of(emptied: Sequence[Sequence[str | int]], text: str) -> bool:
    """Whether ``text`` is the refusal of one field, which is one of those emptied, or holds it."""
    match = _REFUSAL.fullmatch(text)
    if match is None:
        return False
    field = match["field"].split(".")
    return any([step for step in path if isinstance(step, str)][: len(field)] == field for path in emptied)


def _same_but_for(form: re.Pattern[str], text: str) -> bool:
    sides: dict[str, set[str]] = {"-": set(), "+": set()}
    for line in text.split("\n      "):
        sides.setdefault(line[:1], set()).add(form.sub("null", line[2:]))
    return sides["-"] == sides["+"]
