"""YAML that every parser reads as the same JSON values.

Parsers disagree on plain scalars: kubectl follows YAML 1.1 as go-yaml reads it (``y`` and ``off`` are booleans,
``1:30`` and ``0777`` are numbers, ``<<`` merges), and others follow YAML 1.2. So a string is left plain only if every
parser reads it as that string, and is quoted otherwise. Aliases are never used. https://yaml.org/type/ and
https://github.com/kubernetes-sigs/yaml
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import yaml
from msgspec import Raw
from msgspec.json import decode

_WIDTH: Final = 120
# A letter first, or a dot or slash and then a letter; inside no character that may end or split a scalar.
_PLAIN: Final = re.compile(r"[./]?[^\W\d_](?:[\w./()'\"*+=,;!?@&%$^<>-]|:(?=[\w/])| (?=[\w(/'\"]))*")
_WORDS: Final = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", ".nan", ".inf"))
# Lines of a block scalar, which can't quote: printable, no space at the ends, no line breaks that only some parsers
# know.
_BLOCK: Final = re.compile(r"[^\W_](?:[\w./()'\"*+=,;:!?@&%$^<>{}\[\]`|~#-]| (?! *\n| *\Z)|\n+(?=[^\W_]))*")
_Dumper: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def to_yaml(documents: Iterable[dict[str, Any]], *, sort_keys: bool = False) -> str:
    """The documents, given as plain JSON values, as one YAML stream for ``kubectl apply -f -``.

    Values of type `msgspec.Raw`, which hold JSON, are decoded when they are written.

    Raises:
        ValueError: a value is not JSON (``nan``, a date, a key that is not a string, half of a surrogate pair); the
            message shows it.
    """
    try:
        text: str = yaml.emit(_events(documents, sort_keys), Dumper=_Dumper, allow_unicode=True, width=_WIDTH)
    except yaml.YAMLError as problem:
        raise ValueError(f"not a JSON value, so it can't be written as YAML: {problem}") from None
    return text


def _events(documents: Iterable[Any], sort_keys: bool) -> Iterator[Any]:
    """The YAML events of the documents. They are produced one by one, without recursion, so there is no limit on the
    depth.
    """
    yield yaml.StreamStartEvent()
    for document in documents:
        yield yaml.DocumentStartEvent(explicit=False)
        yield from _nodes(document, sort_keys)
        yield yaml.DocumentEndEvent(explicit=False)
    yield yaml.StreamEndEvent()


def _nodes(document: Any, sort_keys: bool) -> Iterator[Any]:
    open_: list[tuple[Iterator[Any], Any]] = [(iter((document,)), None)]
    while open_:
        items, end = open_[-1]
        value = next(items, _END)
        if value is _END:
            open_.pop()
            if end is not None:
                yield end
            continue
        if isinstance(value, Raw):
            value = decode(value)
        if isinstance(value, dict):
            yield yaml.MappingStartEvent(None, None, implicit=True, flow_style=not value)
            open_.append((_members(value, sort_keys), yaml.MappingEndEvent()))
        elif isinstance(value, list | tuple):
            yield yaml.SequenceStartEvent(None, None, implicit=True, flow_style=not value)
            open_.append((iter(value), yaml.SequenceEndEvent()))
        else:
            yield _scalar(value)


_END: Final = object()


def _members(value: dict[Any, Any], sort_keys: bool) -> Iterator[Any]:
    for key in value:
        if not isinstance(key, str):
            raise ValueError(f"the key {key!r} is not a string, as keys in JSON are")
    for key in sorted(value) if sort_keys else value:
        yield key
        yield value[key]


def _scalar(value: Any) -> Any:
    if isinstance(value, str):
        return yaml.ScalarEvent(None, None, (True, True), value, style=_style(value))
    if value is None:
        text = "null"
    elif isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, int):
        text = str(value)
    elif isinstance(value, float) and math.isfinite(value):
        text = _number(value)
    else:
        raise ValueError(f"{value!r} is not a JSON value, so it can't be written as YAML")
    return yaml.ScalarEvent(None, None, (True, False), text)


def _number(value: float) -> str:
    """The text of a number, with a decimal point before an exponent, because YAML 1.1 requires one there."""
    text = repr(value)
    return text.replace("e", ".0e", 1) if "." not in text and "e" in text else text


def _style(value: str) -> str | None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{value!r} holds half of a surrogate pair, which YAML can't represent") from None
    if "\n" in value:
        return "|" if _BLOCK.fullmatch(value.removesuffix("\n")) else '"'
    return None if _PLAIN.fullmatch(value) and value.lower() not in _WORDS else '"'
