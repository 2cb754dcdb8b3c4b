"""Validation of objects by the rules of their schema, with the same errors as an API server reports."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from setpoint.cel.errors import CostExceeded, EvaluationError
from setpoint.cel.names import escaped
from setpoint.cel.program import Program
from setpoint.cel.rules.compile import CompiledRule, compile_rules
from setpoint.cel.rules.correlation import Correlated, by_keys, item_key
from setpoint.cel.schema_types import Declared, Definition, declare, with_object_meta
from setpoint.cel.schema_values import value_of
from setpoint.cel.state import Lazy
from setpoint.cel.values import NONE, Optional, Value
from setpoint.schema import ErrorType, FieldError
from setpoint.schema.errors import LONGEST_PATH, OMITTED, Errors, duplicate, forbidden, invalid, required, shortened

CALL_LIMIT: Final = 1_000_000
"""The cost limit of one evaluation."""
REQUEST_LIMIT: Final = 10_000_000
"""The cost limit for all evaluations of a request together."""
MESSAGE_LIMIT: Final = 5 * 1024

_RULES: Final = "x-kubernetes-validations"
_SPENT: Final = "validation failed due to running out of cost budget, no further validation rules will be run"
_log = logging.getLogger(__name__)


class RuleValidator:
    """The compiled rules of a whole schema.

    With ``root``, the schema describes a whole object, and rules see its kind and name.
    """

    __slots__ = ("_definition", "_node")

    def __init__(self, definition: Definition, *, root: bool = True) -> None:
        self._definition = definition
        self._node = _node(definition, declare(definition, "self", root=root), root=root)

    @property
    def empty(self) -> bool:
        return self._node is None

    def validate(
        self,
        value: Any,
        old: Any = None,
        *,
        path: str = "",
        update: bool = False,
        limit: int = REQUEST_LIMIT,
    ) -> tuple[list[FieldError], list[str]]:
        """The errors in ``value``, and warnings: the errors in parts that an update did not change.

        ``old`` is the previous value, for rules that use ``oldSelf``. With ``update``, errors in unchanged parts are
        only warnings, unless the broken rule uses ``oldSelf``. Evaluation stops with an error when it has cost more
        than ``limit``.
        """
        run = _Run(limit)
        if self._node is not None:
            current = Correlated(value, old, self._definition) if update else None
            run.node(self._node, path, value, old, _Ratchet(current, None))
        return run.errors, run.warnings


class _Node(msgspec.Struct):
    definition: Definition
    rules: list[CompiledRule]
    root: bool
    properties: dict[str, _Node] = msgspec.field(default_factory=dict)
    additional: _Node | None = None
    items: _Node | None = None

    @property
    def visible(self) -> Definition:
        return with_object_meta(self.definition) if self.root else self.definition


def _node(definition: Definition, declared: Declared | None, *, root: bool) -> _Node | None:
    node = _Node(definition, [], root)
    if declared is not None and definition.get(_RULES):
        node.rules = compile_rules(definition, declared)
    item = declared.item if declared is not None else None
    node.items = _child(definition.get("items"), item)
    node.additional = _child(definition.get("additionalProperties"), item)
    for name, own in (definition.get("properties") or {}).items():
        field_name = escaped(name)
        if field_name is None:
            child_declared = declare(own, "self", root=bool(own.get("x-kubernetes-embedded-resource")))
        else:
            child_declared = declared.fields.get(field_name) if declared is not None else None
        if child_declared is None:
            continue
        child = _child(own, child_declared)
        if child is not None:
            node.properties[name] = child
    return node if node.rules or node.items or node.additional or node.properties else None


def _child(definition: Any, declared: Declared | None) -> _Node | None:
    if not isinstance(definition, Mapping):
        return None
    return _node(definition, declared, root=bool(definition.get("x-kubernetes-embedded-resource")))


class _Ratchet(msgspec.Struct, frozen=True):
    """The comparison with the old value at the current path or, if there is no old value, at the nearest enclosing path
    that has one.
    """

    current: Correlated | None
    parent: Correlated | None

    @property
    def unchanged(self) -> bool:
        node = self.current or self.parent
        return node is not None and node.unchanged

    def key(self, name: str) -> _Ratchet:
        if self.current is None:
            return self
        if self.parent is None and name in ("apiVersion", "kind"):
            return _Ratchet(None, None)
        return _Ratchet(self.current.key(name), self.current)

    def index(self, position: int) -> _Ratchet:
        return self if self.current is None else _Ratchet(self.current.index(position), self.current)


class _Stop(Exception):
    """The cost budget is used up."""


class _Run:
    def __init__(self, budget: int) -> None:
        self.errors = Errors()
        self.warnings: list[str] = []
        self._budget = budget

    def node(self, node: _Node, path: str, value: Any, old: Any, ratchet: _Ratchet) -> None:
        try:
            self._walk(node, path, value, old, ratchet)
        except _Stop:
            _log.debug("rules: the cost budget is used up")

    def _walk(self, node: _Node, path: str, value: Any, old: Any, ratchet: _Ratchet) -> None:
        if value is None:
            return
        if len(path) > LONGEST_PATH:
            path = shortened(path)
        if node.rules:
            self._rules(node, path, value, old, ratchet)
        if isinstance(value, dict):
            before = old if isinstance(old, dict) else {}
            for name, item in value.items():
                child = node.properties.get(name)
                if child is not None:
                    child_path = f"{path}.{name}" if path else name
                    self._walk(child, child_path, item, before.get(name), ratchet.key(name))
                elif node.additional is not None:
                    self._walk(node.additional, f"{path}[{name}]", item, before.get(name), ratchet.key(name))
        elif isinstance(value, list) and node.items is not None:
            by_key = by_keys(node.definition, old)
            for position, item in enumerate(value):
                old_item = by_key.get(item_key(node.definition, item)) if by_key else None
                self._walk(node.items, f"{path}[{position}]", item, old_item, ratchet.index(position))

    def _rules(self, node: _Node, path: str, value: Any, old: Any, ratchet: _Ratchet) -> None:
        kind = node.definition.get("type") or ""
        if self._budget <= 0:
            self._end(invalid(path, kind, _SPENT))
        definition = node.visible
        plain: dict[str, Value] = {"self": Lazy(lambda _: value_of(value, definition))}
        optional = dict(plain, oldSelf=NONE)
        if old is not None:
            plain["oldSelf"] = Lazy(lambda _: value_of(old, definition))
            optional["oldSelf"] = Lazy(lambda _: Optional(value_of(old, definition)))
        for rule in node.rules:
            if rule.error:
                self.errors.append(invalid(path, kind, f"rule compile error: {rule.error}"))
            elif rule.program is not None and (not rule.uses_old or old is not None or rule.optional_old):
                variables = optional if rule.optional_old else plain
                if self._holds(rule, rule.program, variables, path, kind):
                    continue
                shown_value = OMITTED if kind in ("object", "array") else value
                self._broken(rule, plain, path, kind, shown_value, ratchet)

    def _holds(
        self, rule: CompiledRule, program: Program, variables: Mapping[str, Value], path: str, kind: str
    ) -> bool:
        """Whether the rule holds. Also True if its evaluation fails, because this method then adds the error itself."""
        result = program.evaluate(variables, CALL_LIMIT)
        if result.cost > self._budget:
            self._end(invalid(path, kind, _SPENT))
        self._budget -= result.cost
        if isinstance(result.error, CostExceeded):
            text = (
                f"'{result.error}': no further validation rules will be run due to call cost exceeds limit for rule: "
            )
            self._end(invalid(path, kind, f"{text}{rule.text}"))
        if result.error is not None:
            text = str(result.error)
            if text.startswith("no such overload"):
                text = f"'{text}': call arguments did not match a supported operator, function or macro signature for"
            else:
                text = f"{text} evaluating"
            self.errors.append(invalid(path, kind, f"{text} rule: {rule.text}"))
            return True
        return result.value is True

    def _broken(
        self,
        rule: CompiledRule,
        variables: Mapping[str, Value],
        path: str,
        kind: str,
        shown_value: Any,
        ratchet: _Ratchet,
    ) -> None:
        field_path = f"{path}.{rule.field_path}" if path and rule.field_path else path or rule.field_path
        detail = ""
        try:
            detail = self._message(rule, variables)
        except _TooExpensive as problem:
            self._report(invalid(field_path, kind, str(problem)), rule, ratchet)
            raise _Stop from None
        if not detail:
            message: str = rule.document.get("message") or ""
            detail = message.strip() if message else f"failed rule: {rule.text}"
        self._report(_error(rule.document.get("reason"), field_path, shown_value, detail), rule, ratchet)

    def _report(self, error: FieldError, rule: CompiledRule, ratchet: _Ratchet) -> None:
        if not rule.uses_old and ratchet.unchanged:
            self.warnings.append(str(error))
        else:
            self.errors.append(error)

    def _message(self, rule: CompiledRule, variables: Mapping[str, Value]) -> str:
        """The value of messageExpression; empty if it is not a usable message."""
        if rule.message_program is None:
            return ""
        result = rule.message_program.evaluate(variables, CALL_LIMIT)
        if result.cost > self._budget:
            raise _TooExpensive(
                "messageExpression evaluation failed due to running out of cost budget, no further validation rules "
                "will be run"
            )
        if isinstance(result.error, CostExceeded):
            text = "no further validation rules will be run due to call cost exceeds limit for messageExpression: "
            raise _TooExpensive(f'{text}"{rule.document["messageExpression"]}"')
        self._budget -= result.cost
        if result.error is not None or not isinstance(result.value, str):
            _log.info("messageExpression evaluation failed: %s", result.error)
            return ""
        text = result.value.strip()
        if len(text.encode()) > MESSAGE_LIMIT or "\n" in text:
            _log.info("messageExpression gives no message: it is too long or has line breaks")
            return ""
        return text

    def _end(self, error: FieldError) -> None:
        self.errors.append(error)
        raise _Stop


class _TooExpensive(EvaluationError):
    """The evaluation of a message costs more than the remaining budget, or more than a single evaluation may cost."""


def _error(reason: str | None, path: str, value: Any, detail: str) -> FieldError:
    match reason:
        case "FieldValueForbidden":
            return forbidden(path, detail)
        case "FieldValueRequired":
            return required(path, detail)
        case "FieldValueDuplicate":
            return duplicate(path, value)
        case _:
            return FieldError(ErrorType.INVALID, path, detail, value)
