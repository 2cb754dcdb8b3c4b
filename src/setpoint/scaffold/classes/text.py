"""Python source for values, descriptions and class statements."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Final

_WIDTH: Final = 120
_TEXT_WIDTH: Final = 116


def literal(value: Any) -> str:
    """A JSON value as Python source, with double quotes."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\x7f")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(literal, value)) + "]"
    return repr(value)


def call(function: str, keywords: Mapping[str, str]) -> str:
    """A call with these keywords, whose values are source."""
    return f"{function}({', '.join(f'{name}={value}' for name, value in keywords.items())})"


def annotated(annotation: str, keywords: Mapping[str, str]) -> str:
    """The annotation with a `setpoint.Field` that has these keywords, or alone if there are none."""
    return f"Annotated[{annotation}, {call('sp.Field', keywords)}]" if keywords else annotation


def field_lines(attribute: str, annotation: str, keywords: Mapping[str, str], absent: str, default: str) -> list[str]:
    """The lines of a field, without indentation. ``absent`` (`` | None``) follows the annotation; ``default`` is
    source, or ``""`` if there is none.
    """
    end = f"{absent} = {default}" if default else absent
    line = f"{attribute}: {annotated(annotation, keywords)}{end}"
    if len(line) + 4 <= _WIDTH or not keywords:
        return [line]
    field = call("sp.Field", keywords)
    lines = [f"{attribute}: Annotated[", f"    {annotation},"]
    if len(field) + 9 <= _WIDTH:
        lines.append(f"    {field},")
    else:
        lines += ["    sp.Field(", *(f"        {name}={value}," for name, value in keywords.items()), "    ),"]
    return [*lines, f"]{end}"]


def class_head(name: str, base: str, keywords: Mapping[str, str | Sequence[str]]) -> list[str]:
    """The lines of ``class name(base, ...):``. A keyword whose value is a sequence is a list with an item a line."""
    flat = {key: value if isinstance(value, str) else f"[{', '.join(value)}]" for key, value in keywords.items()}
    line = f"class {name}({', '.join([base, *(f'{key}={value}' for key, value in flat.items())])}):"
    if len(line) <= _WIDTH:
        return [line]
    lines = [f"class {name}(", f"    {base},"]
    for key, value in keywords.items():
        if isinstance(value, str) or len(flat[key]) + len(key) + 6 <= _WIDTH:
            lines.append(f"    {key}={flat[key]},")
        else:
            lines += [f"    {key}=[", *(f"        {item}," for item in value), "    ],"]
    return [*lines, "):"]


def docstring(text: str) -> list[str]:
    """The lines of a class's docstring, or of the string below a field; none if the text is empty."""
    indent = "    "
    paragraphs = [line.rstrip() for line in textwrap.dedent(text.expandtabs(4)).strip().splitlines()]
    lines: list[str] = []
    for paragraph in paragraphs:
        inner = indent + " " * (len(paragraph) - len(paragraph.lstrip()))
        lines += textwrap.wrap(
            paragraph.strip(), _TEXT_WIDTH, initial_indent=inner, subsequent_indent=inner, break_long_words=False,
            break_on_hyphens=False,
        ) or [""]  # fmt: skip
    if not lines:
        return []
    escaped = [line.replace("\\", "\\\\").replace('"""', '\\"\\"\\"') for line in map(_printable, lines)]
    body = escaped[0].strip() if len(escaped) == 1 else ""
    if body and not body.endswith('"'):
        return [f'{indent}"""{body}"""']
    return [f'{indent}"""{escaped[0].strip()}', *escaped[1:], f'{indent}"""']


def _printable(line: str) -> str:
    """The line without control characters, which source can't contain."""
    return "".join(char if char.isprintable() or char == " " else " " for char in line)
