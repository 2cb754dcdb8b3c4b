"""The error of patterns."""

from __future__ import annotations


class PatternError(ValueError):
    """An API server would not accept the pattern, or matching it with a text takes too much work."""
