"""The subset of JSONPath that CustomResourceDefinitions may use for printer columns and selectable fields.

``.spec.replicas``, ``.metadata.annotations.example\\.com/x``, ``['key']``, ``[0]``, ``[-1]``, ``[*]``,
``.status.conditions[?(@.type=="Ready")].status``. There are no scripts, slices, unions or recursive descent.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

_FIELD = re.compile(r"\.((?:\\.|[^.\[\]\\{}()?'\"\s])+)")
_QUOTED = re.compile(r"\[\s*'((?:\\.|[^'\\])*)'\s*\]|\[\s*\"((?:\\.|[^\"\\])*)\"\s*\]")
_LONGEST = 2000
"""The maximum length of a path. Paths are untrusted input, and the pattern for filters backtracks."""
_INDEX = re.compile(r"\[\s*(-?[0-9]{1,9}|\*)\s*\]|(\.\*)")
_FILTER = re.compile(
    r"\[\s*\?\s*\(\s*@((?:[^=!<>()'\"]|\[['\"][^'\"]*['\"]\])*?)\s*(?:(==|!=|<=|>=|<|>)\s*([^()]*?))?\s*\)\s*\]"
)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

Step = Callable[[Any], Iterator[Any]]


class JsonPathError(ValueError):
    """A path can't be parsed; the message shows the path and its invalid part, or says that the path is too long."""


class JsonPath:
    """A compiled path. ``find`` yields all values at the path, ``first`` returns only the first one."""

    __slots__ = ("_steps", "text")

    def __init__(self, text: str) -> None:
        """Compiles ``text``.

        Raises:
            JsonPathError: ``text`` is not a path, is too long, or uses syntax that CRDs may not use.
        """
        if len(text) > _LONGEST:
            raise JsonPathError(f"a path of {len(text)} characters is too long: at most {_LONGEST}")
        self.text = text
        path = text.strip()
        if path.startswith("{") and path.endswith("}"):
            path = path[1:-1].strip()
        path = path.removeprefix("$")
        self._steps = tuple(_parse(path if path.startswith((".", "[")) or not path else f".{path}", text))

    def find(self, document: Any) -> Iterator[Any]:
        """All values at the path; a missing step yields no value."""
        values = iter((document,))
        for step in self._steps:
            values = _through(step, values)
        return values

    def first(self, document: Any) -> Any:
        """The first value at the path; None if no value is found."""
        return next(self.find(document), None)

    def __repr__(self) -> str:
        return f"JsonPath({self.text!r})"


@lru_cache(maxsize=1024)
def compile_path(text: str) -> JsonPath:
    """The `JsonPath` of ``text``, cached.

    Raises:
        JsonPathError: see `JsonPath`.
    """
    return JsonPath(text)


def _through(step: Step, values: Iterator[Any]) -> Iterator[Any]:
    for value in values:
        yield from step(value)


def _parse(path: str, whole: str) -> Iterator[Step]:
    place = 0
    while place < len(path):
        if path == ".":  # the document itself
            return
        if match := _INDEX.match(path, place):
            yield _every if match[2] or match[1] == "*" else _item(int(match[1]))
        elif match := _FIELD.match(path, place):
            yield _field(re.sub(r"\\(.)", r"\1", match[1]))
        elif match := _QUOTED.match(path, place):
            yield _field(re.sub(r"\\(.)", r"\1", match[1] if match[1] is not None else match[2]))
        elif match := _FILTER.match(path, place):
            yield _filter(match[1].strip(), match[2], match[3], whole)
        else:
            raise JsonPathError(f"{whole!r} is not a JSONPath that a column can have: can't read {path[place:]!r}")
        place = match.end()


def _field(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _item(index: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return step


def _every(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()


def _filter(path: str, operation: str | None, wanted: str | None, whole: str) -> Step:
    inner = JsonPath(path)
    operand = None if operation is None else _literal(wanted or "", whole)

    def keeps(item: Any) -> bool:
        for value in inner.find(item):
            if operation is None:
                return True
            try:
                return _COMPARE[operation](value, operand)
            except TypeError:  # a string against a number: neither less nor greater
                return False
        return False

    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield from (item for item in value if keeps(item))

    return step


def _literal(text: str, whole: str) -> Any:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        raise JsonPathError(f"{whole!r}: {text!r} in the filter is neither a quoted string nor a number") from None
