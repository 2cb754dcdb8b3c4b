"""The errors of a whole custom resource: those of its schema, then those of the schema's rules."""

from __future__ import annotations

from typing import Any, Final

from setpoint.cel.rules.validate import RuleValidator
from setpoint.schema import UNSET, ErrorType, FieldError, Schema, validate
from setpoint.schema.errors import invalid

_BLOCKING: Final = frozenset(
    {ErrorType.NOT_SUPPORTED, ErrorType.REQUIRED, ErrorType.TOO_LONG, ErrorType.TOO_MANY, ErrorType.TYPE_INVALID}
)
_UNCHECKED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)


def object_errors(
    schema: Schema, rules: RuleValidator, obj: dict[str, Any], old: dict[str, Any] | None = None
) -> tuple[list[FieldError], list[str]]:
    """The errors in ``obj``, as an API server reports them, and the texts of warnings. With the stored object ``old``,
    errors in values that the update does not change are left out, as ratcheting (KEP-4008) has it.
    """
    errors = validate(schema, obj, old=UNSET if old is None else old)
    if rules.empty:
        return errors, []
    if any(error.type in _BLOCKING for error in errors):
        return [*errors, invalid("", None, _UNCHECKED)], []
    broken, warnings = rules.validate(obj, old, update=old is not None)
    return errors + broken, warnings
