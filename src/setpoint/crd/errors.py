"""What can be wrong with a declaration."""

from __future__ import annotations

__all__ = ["DefinitionError"]


class DefinitionError(TypeError):
    """A class can't be a CustomResourceDefinition; the message names the class, the field and what to do."""
