"""YAML that every reader takes for the same JSON values.

Readers disagree on what a plain scalar is: kubectl follows YAML 1.1 as go-yaml reads it (``y`` and ``off`` are
booleans, ``1:30`` and ``0777`` are numbers, ``<<`` merges), others follow YAML 1.2. So a text is plain only where no
reader could take it for anything else, and quoted everywhere else; values are never aliased.
https://yaml.org/type/ and https://github.com/kubernetes-sigs/yaml
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, Final

import yaml

__all__ = ["to_yaml"]

_WIDTH: Final = 120
# A letter first, or a dot or slash and then a letter; inside nothing that may end or split a scalar.
_PLAIN: Final = re.compile(r"[./]?[^\W\d_](?:[\w./()'\"*+=,;!?@&%$^<>-]|:(?=[\w/])| (?=[\w(/'\"]))*")
_WORDS: Final = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", ".nan", ".inf"))
# Lines of a block, which has no way to quote: printable, no space at their ends, no breaks that only some readers know.
_BLOCK: Final = re.compile(r"[^\W_](?:[\w./()'\"*+=,;:!?@&%$^<>{}\[\]`|~#-]| (?! *\n| *\Z)|\n+(?=[^\W_]))*")
_base: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def to_yaml(documents: Iterable[dict[str, Any]], *, sort_keys: bool = False) -> str:
    """The documents, plain JSON values, as one YAML stream that ``kubectl apply -f -`` takes.

    Raises:
        ValueError: a value is none of JSON (``nan``, a date, a key that is not text, half a character); it is shown.
    """
    try:
        text: str = yaml.dump_all(documents, Dumper=_Dumper, sort_keys=sort_keys, allow_unicode=True, width=_WIDTH)
    except yaml.YAMLError as problem:
        raise ValueError(f"not a JSON value, so it can't be written as YAML: {problem}") from None
    return text


class _Dumper(_base):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: Any, value: str) -> Any:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{value!r} holds half of a surrogate pair, which no YAML can hold") from None
    style = None
    if "\n" in value:
        style = "|" if _BLOCK.fullmatch(value.removesuffix("\n")) else '"'
    elif not _PLAIN.fullmatch(value) or value.lower() in _WORDS:
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _mapping(dumper: Any, value: dict[Any, Any]) -> Any:
    for key in value:
        if not isinstance(key, str):
            raise ValueError(f"the key {key!r} is not a text, as JSON's keys are")
    return dumper.represent_mapping("tag:yaml.org,2002:map", value)


def _float(dumper: Any, value: float) -> Any:
    if not math.isfinite(value):
        raise ValueError(f"{value!r} is not a JSON value, so it can't be written as YAML")
    return _base.represent_float(dumper, value)


def _refused(dumper: Any, value: Any) -> Any:
    raise ValueError(f"{value!r} is not a JSON value, so it can't be written as YAML")


_Dumper.yaml_representers = {
    type(None): _base.represent_none,
    bool: _base.represent_bool,
    int: _base.represent_int,
    float: _float,
    str: _text,
    list: _base.represent_list,
    tuple: _base.represent_list,
    dict: _mapping,
    None: _refused,
}
_Dumper.yaml_multi_representers = {}
