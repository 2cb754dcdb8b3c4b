"""Verdict: the result of checking an object, for its fields and as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from setpoint.meta.names import qualified_name

from .errors import FieldError, duplicate, forbidden, invalid, not_found, not_supported, required, to_aggregate_message


class Denial:
    """A refusal of the whole request, with the code, reason and message of a ``Status``."""

    __slots__ = ("code", "message", "reason")

    def __init__(self, message: str, code: int = 403, reason: str = "Forbidden") -> None:
        self.message = message
        self.code = code
        self.reason = reason


class Verdict:
    """Collects errors and warnings. The object is accepted unless an error is added or `deny` is called.

    Every ``field`` is a path of wire names, such as ``spec.containers[0].image``.
    """

    __slots__ = ("audit_annotations", "denial", "errors", "warnings")

    def __init__(self) -> None:
        self.errors: list[FieldError] = []
        self.warnings: list[str] = []
        self.audit_annotations: dict[str, str] = {}
        self.denial: Denial | None = None

    def invalid(self, field: str, value: Any, detail: str) -> None:
        """Adds an error: the field's value breaks the rule that ``detail`` states, such as ``must be at most 10``."""
        self.errors.append(invalid(field, value, detail))

    def required(self, field: str, detail: str = "") -> None:
        """Adds an error: the field must be given."""
        self.errors.append(required(field, detail))

    def forbidden(self, field: str, detail: str) -> None:
        """Adds an error: the field must not be set or changed here."""
        self.errors.append(forbidden(field, detail))

    def duplicate(self, field: str, value: Any) -> None:
        """Adds an error: the value must be unique, but is a duplicate."""
        self.errors.append(duplicate(field, value))

    def not_found(self, field: str, value: Any) -> None:
        """Adds an error: the value names something that does not exist."""
        self.errors.append(not_found(field, value))

    def not_supported(self, field: str, value: Any, supported: Sequence[str]) -> None:
        """Adds an error: the value is not in ``supported``."""
        self.errors.append(not_supported(field, value, supported))

    def deny(self, message: str, *, code: int = 403, reason: str = "Forbidden") -> None:
        """Refuses the object as a whole. Only the first refusal counts; ``code`` is an HTTP status.

        Raises:
            ValueError: ``code`` is below 400.
        """
        if code < 400:
            raise ValueError(f"a refusal's code must be 400 or more, not {code}")
        if self.denial is None:
            self.denial = Denial(message, code, reason)

    def warn(self, text: str) -> None:
        """Adds a warning for the client. API servers may cut it to 256 characters, so it should start with the most
        important words. Line breaks and other control characters become spaces: API servers drop warnings with them.
        """
        printable = "".join(character if character.isprintable() else " " for character in text)
        if line := " ".join(printable.split()):
            self.warnings.append(line)

    def audit(self, key: str, value: str) -> None:
        """Adds an annotation to the request's audit event; the server puts the webhook's name before ``key``.

        Raises:
            ValueError: ``key`` has a prefix or is not a valid name; servers would ignore the annotation silently.
        """
        problems = ["it must have no prefix"] if "/" in key else qualified_name(key)
        if problems:
            raise ValueError(f"audit annotation {key!r}: {problems[0]}")
        self.audit_annotations[key] = value

    @property
    def refused(self) -> bool:
        return self.denial is not None or bool(self.errors)

    @property
    def message(self) -> str:
        """The reasons for the refusal in one string; ``""`` if the object is not refused."""
        return self.denial.message if self.denial is not None else to_aggregate_message(self.errors)
