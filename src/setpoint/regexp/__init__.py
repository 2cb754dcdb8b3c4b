"""Regular expressions as API servers have them: the language of Go's ``regexp``, in time linear in the text.

Python's own engine reads another language and backtracks: for a string of thirty letters, ``^(a+)+$`` takes hours.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from setpoint.regexp.errors import PatternError

if TYPE_CHECKING:
    from setpoint.regexp.pattern import Pattern

__all__ = ["PatternError", "compile_pattern"]


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Pattern:
    """Compiles ``pattern`` as API servers understand it, to a `setpoint.regexp.pattern.Pattern`. Raises PatternError,
    with Go's message, if the pattern is invalid.
    """
    from setpoint.regexp.pattern import compiled

    return compiled(pattern)
