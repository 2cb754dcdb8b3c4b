"""Answers that did not come from a server. Fault helpers and the simulation return them in place of a server's
answers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec

from setpoint.client.transport import Response


class Answer(Response):
    """A complete HTTP answer."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    async def read(self, limit: int = 1 << 30) -> bytes:
        return self.body

    async def chunks(self) -> AsyncIterator[bytes]:
        if self.body:
            yield self.body


def refusal(code: int, reason: str, message: str, retry_after: str = "") -> Answer:
    """The answer with which a server refuses a request: a Status. ``retry_after`` is a number of seconds for the header
    ``Retry-After``, which is left out by default.
    """
    body: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    headers = {"content-type": "application/json"}
    if retry_after:
        headers["retry-after"] = retry_after
        body["details"] = {"retryAfterSeconds": int(retry_after)}
    return Answer(code, headers, msgspec.json.encode(body))
