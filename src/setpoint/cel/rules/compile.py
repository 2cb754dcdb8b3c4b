"""The rules of one schema node, compiled."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import msgspec

from setpoint.cel.checker import Checked
from setpoint.cel.cost_estimate import Path, estimate_cost
from setpoint.cel.declarations import Environment
from setpoint.cel.errors import CompileError, EvaluationError
from setpoint.cel.expression import compile_expression
from setpoint.cel.library import SERVER
from setpoint.cel.program import Program
from setpoint.cel.rules.field_path import field_path
from setpoint.cel.schema_types import Declared, Definition, SchemaFields
from setpoint.cel.span import Span
from setpoint.cel.types import BOOL, STRING, optional_of

_RULES: Final = "x-kubernetes-validations"


class CompiledRule(msgspec.Struct):
    """A rule and the programs compiled from it. ``program`` is None if the rule is empty or could not be compiled;
    ``error`` gives the reason if it could not be compiled.
    """

    document: Mapping[str, Any]
    program: Program | None = None
    error: str = ""
    cost: int = 0
    """The estimated maximum cost for one value."""
    uses_old: bool = False
    message_program: Program | None = None
    message_error: str = ""
    message_cost: int = 0
    field_path: str = ""
    """The path of the field that errors name, relative to the rule's own field; empty if they name the rule's own
    field.
    """

    @property
    def optional_old(self) -> bool:
        """Whether ``oldSelf`` is an optional; if so, the rule also applies to new values."""
        return bool(self.document.get("optionalOldSelf"))

    @property
    def text(self) -> str:
        """The text that identifies the rule in errors: its message or, if it has none, its expression."""
        message: str = self.document.get("message") or ""
        return (message or str(self.document.get("rule") or "")).strip()


def compile_rules(definition: Definition, declared: Declared) -> list[CompiledRule]:
    """The rules directly at ``definition``, whose values have the type ``declared``. A rule that can't be compiled has
    its ``error`` set.
    """
    fields = SchemaFields(declared)
    plain = SERVER.extend({"self": declared.type, "oldSelf": declared.type}, fields)
    optional = SERVER.extend({"self": declared.type, "oldSelf": optional_of(declared.type)}, fields)
    sizes = partial(_size, declared)
    rules: list[CompiledRule] = []
    for document in definition.get(_RULES) or ():
        rule = CompiledRule(document)
        _compile(rule, optional if rule.optional_old else plain, sizes, definition)
        rules.append(rule)
    return rules


def _size(declared: Declared, path: Path) -> Span | None:
    return declared.size(path[1:])


def _compile(rule: CompiledRule, environment: Environment, sizes: Any, definition: Definition) -> None:
    text = rule.document.get("rule") or ""
    if not text.strip():
        return
    try:
        checked = compile_expression(text, environment)
    except CompileError as problem:
        rule.error = f"compilation failed: {problem}"
        return
    if checked.type != BOOL:
        rule.error = "cel expression must evaluate to a bool"
        return
    rule.uses_old = "oldSelf" in checked.used
    try:
        rule.program = Program(checked)
    except EvaluationError as problem:
        rule.error = f"program instantiation failed: {problem}"
        return
    rule.cost = estimate_cost(checked, sizes).most
    message = rule.document.get("messageExpression") or ""
    if message:
        _compile_message(rule, message, environment, sizes)
    path = rule.document.get("fieldPath") or ""
    rule.field_path = (field_path(path, definition) or "") if path else ""


def _compile_message(rule: CompiledRule, text: str, environment: Environment, sizes: Any) -> None:
    try:
        checked: Checked = compile_expression(text, environment)
    except CompileError as problem:
        rule.message_error = f"messageExpression compilation failed: {problem}"
        return
    if checked.type != STRING:
        rule.message_error = "messageExpression must evaluate to a string"
        return
    try:
        rule.message_program = Program(checked)
    except EvaluationError as problem:
        rule.message_error = f"messageExpression instantiation failed: {problem}"
        return
    rule.message_cost = estimate_cost(checked, sizes).most
