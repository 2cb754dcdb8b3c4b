"""Descriptions from docstrings: the docstring of a class, and the string below each field.

```python
class MykindSpec(Model):
    \"""The desired state.\"""

    replicas: int = 1
    \"""How many pods to run.\"""
```

``kubectl explain`` shows the string below a field, unless `Field` has a ``description``. Python does not keep such
strings, so they are read from the source; without source (a REPL, a frozen program) only the descriptions are missing.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Hashable
from dataclasses import is_dataclass
from functools import cache
from typing import cast

__all__ = ["class_description", "field_descriptions"]


def class_description(kind: type) -> str:
    """The docstring that the class itself has; ``""`` if it has none, or only an inherited one or the signature that
    ``@dataclass`` sets.

    The docstrings of this framework's own classes are left out: they are written for programmers, and descriptions in a
    definition are for users of the API.
    """
    text = kind.__dict__.get("__doc__")
    if not isinstance(text, str) or _is_ours(kind) or (is_dataclass(kind) and text.startswith(f"{kind.__name__}(")):
        return ""
    return inspect.cleandoc(text)


def field_descriptions(kind: type) -> dict[str, str]:
    """The string below each field of the class and its bases, by attribute."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if not _is_ours(base) and ("__annotations__" in base.__dict__ or "__annotate_func__" in base.__dict__):
            found |= _own(cast("Hashable", base))
    return found


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == __name__.partition(".")[0]


@cache
def _own(kind: Hashable) -> dict[str, str]:
    assert isinstance(kind, type)
    try:
        (parsed,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return {}
    if not isinstance(parsed, ast.ClassDef):
        return {}
    found: dict[str, str] = {}
    for field, text in zip(parsed.body, parsed.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        ):
            found[field.target.id] = inspect.cleandoc(text.value.value)
    # The source may have been edited, or contain another class of this name: then its strings can't be trusted.
    return found if found.keys() <= inspect.get_annotations(kind).keys() else {}
