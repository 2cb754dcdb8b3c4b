"""Reply: the answer to a request."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Reply"]


class Reply(NamedTuple):
    """An HTTP answer. An answered review has status 200, whether allowed or refused."""

    status: int
    headers: dict[str, str]
    body: bytes
