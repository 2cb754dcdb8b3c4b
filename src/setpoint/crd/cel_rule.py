"""CEL rules: conditions on a value beyond its schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

Reason = Literal["", "FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"]


class ValidationRule(Struct, frozen=True, kw_only=True):
    """A CEL rule (``x-kubernetes-validations``): the expression ``rule`` must be true; in it, ``self`` is the value.

    A rule that names ``oldSelf`` is checked only on updates of an existing value. With ``optional_old_self`` it is
    checked for new values, too, and ``oldSelf`` is an optional in that case. ``field_path`` is the field below the
    rule's own field that the error names, such as ``.replicas``. ``message_expression`` is a CEL expression for the
    message; ``message`` is used if the expression fails.

    https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
    """

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: Reason = ""
    field_path: str = ""
    optional_old_self: bool | None = None


def immutable(message: str = "is immutable") -> ValidationRule:
    """A rule for a field that can't change once it is set.

    A field that is optional and has no default can still be removed and set again, because the rule of an absent field
    is not checked.
    """
    return ValidationRule(rule="self == oldSelf", message=message)


def exactly_one_of(*fields: str) -> ValidationRule:
    """A rule for a class: exactly one of these fields (wire names) is set. It stands in for a union of types, which a
    schema can't express.
    """
    return ValidationRule(rule=f"{_count(fields)} == 1", message=f"exactly one of {_list(fields)} must be set")


def at_most_one_of(*fields: str) -> ValidationRule:
    """A rule for a class: no two of these fields (wire names) are set."""
    return ValidationRule(rule=f"{_count(fields)} <= 1", message=f"at most one of {_list(fields)} may be set")


def at_least_one_of(*fields: str) -> ValidationRule:
    """A rule for a class: at least one of these fields (wire names) is set."""
    return ValidationRule(rule=f"{_count(fields)} >= 1", message=f"at least one of {_list(fields)} must be set")


def rules_of(rules: Sequence[ValidationRule | str]) -> tuple[ValidationRule, ...]:
    """The rules; each plain string in ``rules`` becomes a rule without a message. Raises TypeError if ``rules`` itself
    is a string.
    """
    if isinstance(rules, str):
        raise TypeError(f"rules= must be a sequence of rules, not the string {rules!r}")
    return tuple(rule if isinstance(rule, ValidationRule) else ValidationRule(rule=rule) for rule in rules)


def document_of(rule: ValidationRule) -> dict[str, Any]:
    document: dict[str, Any] = {"rule": rule.rule}
    for value, name in (
        (rule.message, "message"),
        (rule.message_expression, "messageExpression"),
        (rule.reason, "reason"),
        (rule.field_path, "fieldPath"),
        (rule.optional_old_self, "optionalOldSelf"),
    ):
        if value or value is False:
            document[name] = value
    return document


def _count(fields: Sequence[str]) -> str:
    from setpoint.cel.names import escaped  # imports all of CEL

    # A name that is not valid in CEL is escaped: __in__, my__dash__name.
    names = ", ".join(f"has(self.{escaped(name) or name})" for name in fields)
    return f"[{names}].filter(set, set).size()"


def _list(fields: Sequence[str]) -> str:
    return ", ".join(fields)
