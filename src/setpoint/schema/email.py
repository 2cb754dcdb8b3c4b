"""Email addresses as Go's ``mail.ParseAddress`` reads them (RFC 5322): with or without a name, comments, or a group of
one address.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Final

_ATOM: Final = r"[^\x00-\x20\x7f()<>\[\]:;@\\,\".]"
_QUOTED: Final = r'(?:[^\x00-\x08\x0a-\x1f\x7f"\\]|\\[^\x00-\x08\x0a-\x1f\x7f])'
_SPACE: Final = r"[ \t]*+"
_COMMENTS: Final = rf"{_SPACE}(?:\((?:[^()\\]|\\.)*+\){_SPACE})*+"
_DOTTED: Final = rf"{_ATOM}++(?:\.{_ATOM}++)*+(?!\.)"
_WORD: Final = rf'(?:(?:{_ATOM}|\.)++|"{_QUOTED}*+")'
_NAME: Final = rf"{_WORD}(?:{_COMMENTS}{_WORD})*+{_COMMENTS}"


def _address(group: str) -> str:
    """The pattern of an address without a name; ``group`` is the name of the group for an IP address in brackets."""
    domain = rf"(?:{_DOTTED}|\[(?P<{group}>[^\x00-\x20\x7f\[\]\\]*+)\])"
    return rf'{_SPACE}(?:{_DOTTED}|"{_QUOTED}++")@{_SPACE}{domain}'


_EMAIL: Final = (
    rf"{_SPACE}(?:{_address('plain')}|(?:{_NAME})?<{_address('named')}>"
    rf"|{_NAME}:{_SPACE}(?:{_address('grouped')}|(?:{_NAME})?<{_address('group')}>){_COMMENTS};){_COMMENTS}"
)
"""Compiled by the first address, since that takes longer than the import of most modules."""


def is_email(text: str) -> bool:
    match = re.fullmatch(_EMAIL, text)
    if match is None:
        return False
    literal = next((part for part in match.groups() if part is not None), None)
    try:
        return literal is None or bool(ip_address("" if "%" in literal else literal))
    except ValueError:
        return False
