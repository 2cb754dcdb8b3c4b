"""Reply: what is answered to a request."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Reply"]


class Reply(NamedTuple):
    """An HTTP answer. A review that was answered has status 200, whatever the verdict."""

    status: int
    headers: dict[str, str]
    body: bytes
