"""posting.py: the client of collectors that take CloudEvents over HTTP."""

from pathlib import Path
from typing import NamedTuple

import aiohttp

TIMEOUT = 10.0
"""Seconds for which an answer is waited for."""


class Answer(NamedTuple):
    """The answer of a collector: its HTTP status, the seconds that it asks to wait, and a refusal in its own words."""

    code: int
    retry_after: float = 0.0
    words: str = ""


class NotServed(OSError):
    """A URL that this program has no client for: nothing was asked."""


class Collector:
    """The client of collectors, with a bearer token from a file if one is given."""

    def __init__(self, session: aiohttp.ClientSession, token_file: str = "") -> None:
        self._session = session
        self._token_file = token_file

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/cloudevents-batch+json"}
        if token := self.token():
            headers["Authorization"] = f"Bearer {token}"
        return headers

    def token(self) -> str:
        """The token, read each time: projected tokens are replaced every hour. "" without a file."""
        return Path(self._token_file).read_text("utf-8").strip() if self._token_file else ""

    async def post(self, url: str, batch: bytes) -> Answer:
        """Posts a batch. Raises OSError if no answer came, whether the collector got the batch or not."""
        if not url.startswith("http"):
            raise NotServed("this program was run without --streams: it posts to http: and https: only")
        limit = aiohttp.ClientTimeout(TIMEOUT)
        try:
            async with self._session.post(
                url, data=batch, headers=self._headers(), timeout=limit, allow_redirects=False
            ) as answer:
                await answer.read()
                seconds = answer.headers.get("Retry-After", "")
                return Answer(answer.status, float(seconds) if seconds.isdecimal() else 0.0)
        except aiohttp.ClientError as problem:
            raise ConnectionError(str(problem) or type(problem).__name__) from problem
