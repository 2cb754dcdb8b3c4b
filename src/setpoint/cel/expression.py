"""Compilation of an expression's text to a checked tree whose cost can be estimated."""

from __future__ import annotations

from setpoint.cel.checker import Checked, check
from setpoint.cel.declarations import Environment
from setpoint.cel.errors import CompileError, EvaluationError, Issue
from setpoint.cel.library.formatting import clauses, problem_with
from setpoint.cel.library.times import parse_duration, parse_timestamp
from setpoint.cel.nodes import Call, ListLiteral, Literal, walk
from setpoint.cel.parser import parse
from setpoint.regexp import PatternError, compile_pattern


def compile_expression(source: str, environment: Environment) -> Checked:
    """The checked expression. Raises CompileError for a syntax error, an unknown name, a type mismatch, a malformed
    constant (a duration, a time, a pattern, a format) or an expression that is nested too deeply.
    """
    try:
        checked = check(source, parse(source), environment)
        issues = _constant_issues(checked)
    except RecursionError:
        raise CompileError(source, [Issue(0, "the expression is nested too deeply")]) from None
    if issues:
        raise CompileError(source, issues)
    return checked


def _constant_issues(checked: Checked) -> list[Issue]:
    issues: list[Issue] = []
    for node in walk(checked.root):
        if not isinstance(node, Call) or not node.arguments:
            continue
        argument = node.arguments[0]
        if node.function == "format" and isinstance(node.target, Literal) and isinstance(argument, ListLiteral):
            issues += _format_issues(checked, node, node.target, argument)
        elif (
            node.function in ("duration", "timestamp", "matches")
            and isinstance(argument, Literal)
            and isinstance(argument.value, str)
            and not _is_valid(node.function, argument.value)
        ):
            issues.append(Issue(argument.offset, f"invalid {node.function} argument"))
    return issues


def _is_valid(function: str, text: str) -> bool:
    try:
        if function == "matches":
            compile_pattern(text)
            return True
        return (parse_duration(text) if function == "duration" else parse_timestamp(text)) is not None
    except (PatternError, EvaluationError):
        return False


def _format_issues(checked: Checked, node: Call, form: Literal, arguments: ListLiteral) -> list[Issue]:
    try:
        parts = [letter for _, letter, _ in clauses(form.value) if letter]
    except EvaluationError as problem:
        return [Issue(node.offset, str(problem))]
    items = arguments.items
    for index, letter in enumerate(parts):
        if index >= len(items):
            return [Issue(node.offset, f"index {index} out of range")]
        if clause_problem := problem_with(letter, checked.types[items[index].id]):
            return [Issue(items[index].offset, f"error during formatting: {clause_problem}")]
    if len(items) > len(parts):
        text = f"too many arguments supplied to string.format (expected {len(parts)}, got {len(items)})"
        return [Issue(node.offset, text)]
    return []
