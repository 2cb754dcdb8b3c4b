"""What can be wrong with a declaration, and with a conversion."""

from __future__ import annotations

__all__ = ["ConversionError", "DefinitionError"]


class DefinitionError(TypeError):
    """A class can't be a CustomResourceDefinition; the message names the class, the field and what to do."""


class ConversionError(ValueError):
    """An object can't be converted, or lost something on the way; the message names the versions and the field."""
