"""Reply: an HTTP response to a request."""

from __future__ import annotations

from typing import NamedTuple


class Reply(NamedTuple):
    """An HTTP response. The status for a review is 200, whether the request is allowed or refused."""

    status: int
    headers: dict[str, str]
    body: bytes
