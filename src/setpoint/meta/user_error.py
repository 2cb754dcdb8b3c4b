"""The base class of failures that a user can mend."""

from __future__ import annotations


class UserError(Exception):
    """A value, file or address that a user gave can't be used. The message is one sentence for a terminal: it names
    what can't be used, and says what to do.
    """
