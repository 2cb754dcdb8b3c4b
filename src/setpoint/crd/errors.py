"""The errors of declarations and conversions."""

from __future__ import annotations


class DefinitionError(TypeError):
    """A class has no valid CustomResourceDefinition; the message names the class, the field and the remedy."""


class ConversionError(ValueError):
    """An object can't be converted, or lost data in a conversion; the message names the versions and the field."""
