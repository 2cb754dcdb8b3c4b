"""Paging: the check that a list in pages comes to an end."""

from __future__ import annotations

from setpoint.client.transport import TransportError

MAX_EMPTY_PAGES = 10
"""The number of pages in a row that may be without a new object. Servers may filter all objects of a page away, but
API servers fill each page as far as they can.
"""


class Paging:
    """The pages of one list so far. ``list_name`` names the list in messages."""

    def __init__(self, list_name: object) -> None:
        self._list_name = list_name
        self._tokens: set[str] = set()
        self._empty_pages = 0

    def check(self, token: str, *, is_new: bool) -> None:
        """Notes a page that ends with this continue ``token``; ``is_new`` says whether it had a new object.

        Raises:
            TransportError: the server has sent the token before, or ten pages in a row without a new object; so the
                list would never end.
        """
        self._empty_pages = 0 if is_new else self._empty_pages + 1
        if token in self._tokens or self._empty_pages >= MAX_EMPTY_PAGES:
            raise TransportError(f"list {self._list_name}: the server continues its pages without end", sent=True)
        self._tokens.add(token)
