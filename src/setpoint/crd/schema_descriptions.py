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
import linecache
import sys
from dataclasses import is_dataclass
from functools import cache


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
    descriptions: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if not _is_ours(base) and ("__annotations__" in base.__dict__ or "__annotate_func__" in base.__dict__):
            descriptions |= _own(base)
    return descriptions


def _is_ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == __name__.partition(".")[0]


def _own(kind: type) -> dict[str, str]:
    """The string below each field of the class itself, by attribute."""
    try:
        file = inspect.getsourcefile(kind)
    except (OSError, TypeError):
        return {}
    module = sys.modules.get(kind.__module__)
    lines = linecache.getlines(file, vars(module) if module is not None else None) if file else []
    annotated = inspect.get_annotations(kind).keys()
    for fields in _strings("".join(lines)).get(kind.__qualname__, ()):
        # The source may have been edited, or contain another class of this name: then its strings can't be trusted.
        if fields.keys() <= annotated:
            return dict(fields)
    return {}


@cache  # a module may have hundreds of classes
def _strings(source: str) -> dict[str, list[dict[str, str]]]:
    """The strings below the fields of each class in the source, by the class's qualified name. A name may belong to
    several classes, of which the last is the first in the list.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return {}
    classes: dict[str, list[dict[str, str]]] = {}
    todo: list[tuple[ast.AST, str]] = [(tree, "")]
    while todo:
        node, prefix = todo.pop(0)
        for child in ast.iter_child_nodes(node):
            inside = prefix
            if isinstance(child, ast.ClassDef):
                inside = f"{prefix}{child.name}."
                classes.setdefault(f"{prefix}{child.name}", []).insert(0, _strings_below(child))
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                inside = f"{prefix}{child.name}.<locals>."
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                todo.append((child, inside))
    return classes


def _strings_below(node: ast.ClassDef) -> dict[str, str]:
    strings: dict[str, str] = {}
    for field, text in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        ):
            strings[field.target.id] = inspect.cleandoc(text.value.value)
    return strings
