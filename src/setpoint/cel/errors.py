"""The errors of an expression: it does not compile, its evaluation fails, or it costs too much."""

from __future__ import annotations

import msgspec

_WIDE_DOT, _WIDE_MARK = "\uff0e", "\uff3e"
_MOST = 100


class Issue(msgspec.Struct, frozen=True):
    """One error in an expression's text, at an offset."""

    offset: int
    message: str

    def display(self, source: str) -> str:
        """The message with line, column and the line itself, as the reference implementation prints it."""
        before = source[: self.offset]
        line = before.count("\n") + 1
        column = self.offset - (before.rfind("\n") + 1)
        text = source.split("\n")[line - 1].replace("\t", " ")
        marks = "".join("." if char.isascii() else _WIDE_DOT for char in text[:column])
        mark = "^" if column >= len(text) or text[column].isascii() else _WIDE_MARK
        return f"ERROR: <input>:{line}:{column + 1}: {self.message}\n | {text}\n | {marks}{mark}"


class CompileError(ValueError):
    """The text is not a valid expression. ``str(error)`` shows the issues, at most 100, each with its
    line.
    """

    def __init__(self, source: str, issues: list[Issue]) -> None:
        self.source = source
        self.issues = sorted(issues, key=lambda issue: issue.offset)
        lines = [issue.display(source) for issue in self.issues[:_MOST]]
        if len(issues) > _MOST:
            lines.append(f"{len(issues) - _MOST} more errors were truncated")
        super().__init__("\n".join(lines))


class EvaluationError(Exception):
    """The value of an expression is an error, such as ``no such key: x``. ``&&``, ``||``, ``all`` and ``exists`` absorb
    the error if another operand decides the result.
    """


class CostExceeded(Exception):
    """An evaluation exceeded its cost limit and was stopped. No operator absorbs this error."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")
